import {
  SERVICES,
  type ServiceName,
  CONNECTIONS_STREAM,
  isRefusal,
  namespaceStream,
  ExternalFailure,
  type ClusterLease,
  type ClusterSpec,
  type ClusterUid,
  type Fact,
  type NodeName,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { NO_OWN_RELEASES, type Declared } from '@fairlead/domain';
import type { AppendResult, Cause, StreamPosition } from '@fairlead/event-sourcing';
import { OnTask, type TaskLeases } from '@fairlead/event-sourcing/jetstream';
import { MemoryStore } from '@fairlead/event-sourcing/memory.store';
import { CALM, Killed, Simulation, type Life, type Parts, type Program } from '@fairlead/event-sourcing/simulation';
import { writerOf } from '@fairlead/event-sourcing/spec';
import { seededRandom } from '@fairlead/testing';
import { SOFTWARE } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.fixtures.js';
import { BootstrapWorld, RECONCILERS } from '../../apps/bootstrap-svc/test/simulation.js';
import { CleanupEffects } from '../../apps/gateway/src/clusters/cleanup.effects.js';
import { LifetimeEffects } from '../../apps/gateway/src/clusters/lifetime.effects.js';
import { clusters, type ClusterCommand } from '../../apps/gateway/src/clusters/clusters.decider.js';
import { readSettings as readGatewaySettings } from '../../apps/gateway/src/config.js';
import { gatewayService } from '../../apps/gateway/src/service.js';
import { manifestsProjection } from '../../apps/gateway/src/lifecycle/manifests.projection.js';
import { BootstrapDataEffects } from '../../apps/gateway/src/joins/bootstrap.effects.js';
import { UnmetEffects } from '../../apps/gateway/src/manifest/unmet.effects.js';
import type { ManifestRow } from '../../apps/gateway/src/manifest/unmet.queries.js';
import { readSettings as readInfraSettings } from '../../apps/infra-svc/src/config.js';
import { infraService } from '../../apps/infra-svc/src/service.js';
import { FakeCloud, FakeProvider } from '../../apps/infra-svc/test/fake.provider.js';
import { clusterSpec, registered } from '../../apps/infra-svc/test/fixtures.js';
import type { MemoryLog } from '../../apps/infra-svc/test/memory.log.js';
import { MemorySecrets, infraParts } from '../../apps/infra-svc/test/memory.service.js';
import type { AgentChannel } from '../../apps/upgrade-svc/src/agents/agents.ports.js';
import type { StatedFact } from '../../apps/upgrade-svc/src/agents/fact.rules.js';
import { FactsLog } from '../../apps/upgrade-svc/src/agents/facts.log.effects.js';
import { readSettings } from '../../apps/upgrade-svc/src/config.js';
import { upgradeService } from '../../apps/upgrade-svc/src/service.js';
import { DesiredEffects } from '../../apps/upgrade-svc/src/desired/desired.effects.js';
import { nodeKey, nodesProjection } from '../../apps/upgrade-svc/src/nodes/nodes.projection.js';

export { SERVICES };
export type Service = ServiceName;

/** Which service is killed, at which event of the cluster's log, and whether before or after the event is appended. */
export interface Kill {
  readonly service: Service;
  readonly boundary: number;
  readonly when: 'before' | 'after';
}

/** A step of the creation that always fails: an operation of the provider, or a step on hosts. */
export interface Failing {
  readonly service: 'infra-svc' | 'bootstrap-svc';
  readonly step: string;
}

const ATTEMPTS_MAX = 20;
const NAMESPACE = 'default';
const CLUSTER = 'demo';
const WISH: StreamId = { namespace: NAMESPACE, cluster: CLUSTER, context: 'request' };
const CLIENT: Cause = { actor: 'user/client', correlationId: 'client', causationId: 'client' };
const NOW = new Date('2026-01-02T00:00:00.000Z');
const FACT = 'RecordAgentFact';
export const BROKEN = 'it is broken';

const uidOf = (attempt: number): ClusterUid =>
  `${String(attempt).padStart(8, '0')}-1111-4111-8111-111111111111` as ClusterUid;

/** The log, which notifies before and after each append. */
class Log extends MemoryStore {
  watch: (when: Kill['when'], upTo: number) => void = () => undefined;
  isDead: (writer: string) => boolean = () => false;

  override async append(
    stream: StreamId,
    expected: StreamPosition,
    facts: readonly Fact[],
    cause: Cause,
  ): Promise<AppendResult> {
    const [first] = facts;
    const upTo = this.events.length + facts.length;
    const service = first === undefined ? '' : serviceOf(stream, first.type);
    this.watch('before', upTo);
    if (this.isDead(service)) throw new Killed();
    const appended = await super.append(stream, expected, facts, cause);
    if (appended.kind === 'appended') this.observe(cause);
    this.watch('after', upTo);
    if (this.isDead(service)) throw new Killed();
    return appended;
  }

  /** A fact that was observed elsewhere keeps its id. */
  private observe({ observed }: Cause): void {
    const last = this.events.at(-1);
    if (observed === undefined || last === undefined) return;
    this.events[this.events.length - 1] = { ...last, meta: { ...last.meta, id: observed.id, source: observed.source } };
  }
}

/** upgrade-svc records agents' facts. */
const serviceOf = (stream: StreamId, type: StoredEvent['type']): string => {
  const source = writerOf(stream, type).source.slice(1);
  return source.startsWith('node-agent') ? 'upgrade-svc' : source;
};

/** No etcd snapshots are taken. */
class NoSnapshots {
  @OnTask('ForgetSnapshots')
  async forget(): Promise<void> {}
}

/**
 * The four services over one log, one cloud and one set of hosts, with their own deciders, processes, projections and
 * effects; agents, providers, hosts and Kubernetes are simulated. A seed decides the order; one of the services is
 * killed at one event.
 */
export class CrashWorld extends Simulation {
  readonly log = new Log();
  readonly cloud = new FakeCloud();
  readonly programs: Readonly<Record<Service, Program>>;
  readonly bootstrap = new BootstrapWorld(this.log.events, this);
  /** Number of kills. */
  kills = 0;
  private readonly infraSecrets = new MemorySecrets();
  private readonly gatewaySecrets = new MemorySecrets();
  private readonly stated = new Set<string>();
  private asking = false;
  private attempts = 0;
  private readonly answered = new Set<StoredEvent['type']>();
  private begun = 0;
  private readonly created: NodeName[] = [];
  private indexed = 0;
  /** The service killed in this step: its further actions have no effect. */
  private dying: Service | undefined;

  constructor(
    seed: number,
    private readonly killing: Kill | undefined = undefined,
    private readonly failing: Failing | undefined = undefined,
    private readonly lease: ClusterLease | undefined = undefined,
  ) {
    super(seededRandom(seed), CALM);
    if (failing?.service === 'bootstrap-svc') this.bootstrap.world.failing.set(failing.step, BROKEN);
    const { log } = this;
    const common = { log, attemptsMax: ATTEMPTS_MAX, now: () => NOW };
    const gateway = gatewayService(readGatewaySettings({}));
    const infra = infraService(readInfraSettings({}));
    const upgrade = upgradeService(readSettings({}));
    const bootstrap = { name: 'bootstrap-svc', projections: [], reconcilers: RECONCILERS };
    this.programs = {
      gateway: this.start({ ...common, ...gateway, start: (life, program) => this.gatewayParts(life, program) }),
      'infra-svc': this.start({
        ...common,
        ...infra,
        start: (life, _program, leases) => this.infraParts(life, leases),
      }),
      'bootstrap-svc': this.start({ ...common, ...bootstrap, start: (life) => this.bootstrapParts(life) }),
      'upgrade-svc': this.start({ ...common, ...upgrade, start: (life, program) => this.upgradeParts(life, program) }),
    };
  }

  /** Number of events at which a service can be killed: all except the initial ones. */
  get length(): number {
    return this.log.events.length - this.begun;
  }

  /** The cluster's own events, in order. */
  get events(): readonly StoredEvent[] {
    return this.log.events.filter(({ meta }) => meta.namespace === NAMESPACE && meta.cluster === CLUSTER);
  }

  count(type: StoredEvent['type']): number {
    return this.events.filter((event) => event.type === type).length;
  }

  /**
   * A cluster is requested, becomes Ready, and is deleted; or it fails, and is cleaned up; until nothing is left to do.
   */
  override async run(): Promise<void> {
    await this.state(namespaceStream(NAMESPACE), {
      type: 'NamespaceCreated',
      data: { name: NAMESPACE as never, description: '' },
    });
    await this.state(CONNECTIONS_STREAM, registered());
    this.begun = this.log.events.length;
    this.log.watch = (when, upTo) => this.reached(when, upTo - this.begun);
    this.log.isDead = (service) => this.dying === service;
    await super.run();
  }

  /** The event with that number is being appended, or was. The program is killed at that point. */
  private reached(when: Kill['when'], upTo: number): void {
    const { killing } = this;
    this.dying = undefined;
    if (killing === undefined || this.kills > 0 || when !== killing.when || upTo < killing.boundary) return;
    this.kills += 1;
    this.dying = killing.service;
    this.programs[killing.service].kill();
  }

  protected override beforeStep(): void {
    this.dying = undefined;
  }

  protected override actors(): (() => void)[] {
    return [...this.agents(), ...this.client()];
  }

  protected override isBusy(): boolean {
    return this.asking || super.isBusy();
  }

  /**
   * The client's next action: it repeats a request until it is answered, first for a cluster, then for its deletion.
   */
  private client(): (() => void)[] {
    if (this.asking) return [];
    if (!this.isAnswered('ClusterRequested')) return [() => this.ask('ClusterRequested', this.request())];
    if (!this.bootstrap.world.said('ClusterReady') || this.isAnswered('ClusterDeletionRequested')) return [];
    return [() => this.ask('ClusterDeletionRequested', this.end())];
  }

  /** A cluster with an end is deleted when it is due, any other one on request. */
  private end(): ClusterCommand {
    const data = { namespace: NAMESPACE, cluster: CLUSTER };
    const [requested] = this.events.filter((event) => event.type === 'ClusterRequested');
    return this.lease === undefined || requested === undefined
      ? { type: 'DeleteCluster', data }
      : { type: 'EndLifetime', data: { ...data, uid: requested.data.uid, now: this.lease.endsAt } };
  }

  private isAnswered(type: StoredEvent['type']): boolean {
    return this.answered.has(type);
  }

  private request(): ClusterCommand {
    this.attempts += 1;
    const step = this.failing?.step;
    const kubernetes: Partial<ClusterSpec['kubernetes']> = {
      networkCni: 'flannel',
      ...(step === 'etcd-member' ? { etcd: 'external' } : {}),
      ...(step === 'apply StorageClass' ? { storageclass: { nfs: { server: 'nfs.example', path: '/export' } } } : {}),
    };
    const spec: ClusterSpec = {
      ...clusterSpec({ kubernetes }),
      ...(this.failing === undefined ? {} : { onFailure: 'cleanup' }),
      ...(this.lease === undefined ? {} : { lease: this.lease }),
    };
    const uid = uidOf(this.attempts); // Drawn per request, as in the gateway.
    const data = { namespace: NAMESPACE, cluster: CLUSTER, uid, spec, requestHash: 'hash', connectionFaults: [] };
    return { type: 'RequestCluster', data: { ...data, actor: CLIENT.actor } };
  }

  private ask(type: StoredEvent['type'], command: ClusterCommand): void {
    const { life } = this.programs.gateway;
    this.asking = true;
    this.decisions(life, this.log)(clusters, WISH, command, CLIENT)
      .then((outcome) => {
        const isGone = isRefusal(outcome) && outcome.code === 'cluster.unknown';
        if (isRefusal(outcome) && !isGone) throw new Error(outcome.message);
        this.answered.add(type);
      })
      .catch((error: unknown) => {
        if (!(error instanceof Killed)) this.fail(error);
      })
      .finally(() => {
        this.asking = false;
      });
  }

  /** Facts that agents would now state. Their stream keeps them until they are recorded. */
  private agents(): (() => void)[] {
    const { world } = this.bootstrap;
    return this.machines().flatMap((name) => {
      const { agentStarted, joinedAs } = world.host(name);
      return [
        ...(agentStarted && world.said('DesiredVersionsSet', name) ? this.once('NodeInitialized', name) : []),
        ...(joinedAs !== null && world.network ? this.once('NodeReady', name) : []),
      ];
    });
  }

  /** The created machines. Called by every step, so only new events of the log are read. */
  private machines(): readonly NodeName[] {
    for (; this.indexed < this.log.events.length; this.indexed += 1) {
      const event = this.log.events[this.indexed];
      if (event?.type === 'VmsCreated') this.created.push(...event.data.machines.map(({ name }) => name));
    }
    return this.created;
  }

  private once(type: 'NodeInitialized' | 'NodeReady', node: NodeName): (() => void)[] {
    const id = `${type}-${node}`;
    if (this.stated.has(id)) return [];
    return [
      () => {
        this.stated.add(id);
        this.programs['upgrade-svc'].publish(this.stateFact(id, type, node));
      },
    ];
  }

  private stateFact(
    id: string,
    type: 'NodeInitialized' | 'NodeReady',
    node: NodeName,
  ): Parameters<Program['publish']>[0] {
    const [created] = this.events.filter((event) => event.type === 'VmsCreated');
    if (created?.type !== 'VmsCreated') throw new Error('agents run on machines');
    const { uid } = created.data;
    const machine = { os: 'Debian 12', kernel: '6.1', bootId: 'b', changed: [] };
    const fact = { type, data: { uid, node, revision: 1, software: SOFTWARE, ...machine } } as unknown as Fact;
    const address = { namespace: NAMESPACE, cluster: CLUSTER, node };
    const stated: StatedFact = {
      kind: 'stated',
      address: address as StatedFact['address'],
      id,
      time: NOW.toISOString(),
      desired: null,
      uid,
      fact,
    };
    return { id, type: FACT, namespace: NAMESPACE, cluster: CLUSTER, cause: CLIENT, data: { stated } };
  }

  private gatewayParts(life: Life, program: Program): Parts {
    const handle = this.decisions(life, this.log);
    const all = async (): Promise<readonly ManifestRow[]> => {
      const key = `${NAMESPACE}/${CLUSTER}`;
      const doc = (await program.database.read(manifestsProjection.table, [key])).get(key) as Declared | undefined;
      return doc?.unmet === undefined ? [] : [{ key, doc }];
    };
    return {
      handle,
      controllers: [
        new CleanupEffects(handle),
        new LifetimeEffects(handle, { now: () => NOW }),
        new UnmetEffects(handle, { all }),
        new BootstrapDataEffects(handle, this.gatewaySecrets, { bootstrapData: () => Promise.resolve([]) }),
      ],
    };
  }

  private bootstrapParts(life: Life): Parts {
    return this.bootstrap.partsOf(this.decisions(life, this.log), this.passage(life));
  }

  /** What the provider refuses during creation succeeds during deletion. */
  private refuses(operation: string): boolean {
    const isCreation = this.count('ClusterDeletionRequested') === 0;
    return isCreation && this.failing?.service === 'infra-svc' && this.failing.step === operation;
  }

  private infraParts(life: Life, leases: TaskLeases): Parts {
    const wait = (): Promise<void> => life.turn();
    const before = async (operation: string): Promise<void> => {
      await wait();
      if (this.refuses(operation)) throw new ExternalFailure({ operation, target: 'lab', message: BROKEN });
    };
    const provider = new FakeProvider(this.cloud, { before, after: wait });
    return infraParts(
      {
        log: this.log as unknown as MemoryLog,
        secrets: this.infraSecrets,
        kinds: new Map([['lab', { name: 'lab', open: () => provider }]]),
        handle: this.decisions(life, this.log),
      },
      leases,
    );
  }

  private upgradeParts(life: Life, program: Program): Parts {
    const handle = this.decisions(life, this.log);
    const channel = { last: async () => undefined, send: () => undefined } as unknown as AgentChannel;
    // Created on demand: its cache allocates all of its entries at once, and few lives record facts.
    let facts: FactsLog | undefined;
    return {
      handle,
      controllers: [new DesiredEffects(handle, { latest: () => Promise.resolve(NO_OWN_RELEASES) }), new NoSnapshots()],
      deliver: async ({ data }) => {
        const { stated } = data as unknown as { readonly stated: StatedFact };
        const { namespace, cluster, node } = stated.address;
        const key = nodeKey(namespace, cluster, node);
        const known = await program.database.read(nodesProjection.table, [key]);
        // Its row may not be written yet: an agent without an answer states it again.
        if (!known.has(key)) return { kind: 'requeue', delayMs: 1, reason: 'no cluster has this node yet' };
        facts ??= new FactsLog(channel, handle, { now: () => NOW });
        return facts.record(stated);
      },
    };
  }

  private async state(stream: StreamId, fact: Fact): Promise<void> {
    const cause: Cause = { actor: 'user/admin', correlationId: 'admin', causationId: 'admin' };
    await this.log.append(stream, { seq: 0, streamVersion: 0, hash: '' }, [fact], cause);
  }
}

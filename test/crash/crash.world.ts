import {
  SERVICES,
  type ServiceName,
  CONNECTIONS_STREAM,
  isRefusal,
  namespaceStream,
  WorldFailure,
  type ClusterLease,
  type ClusterSpec,
  type ClusterUid,
  type Fact,
  type NodeName,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { NO_OWN_RELEASES } from '@fairlead/domain';
import { reconcilerProcess, type AppendResult, type Cause, type StreamPosition } from '@fairlead/event-sourcing';
import { makeHandle, TaskRunner, type Consumers, type Handle, type Job } from '@fairlead/event-sourcing/jetstream';
import { FoldCache } from '@fairlead/event-sourcing/jetstream';
import { MemoryLeases } from '@fairlead/event-sourcing/memory.leases';
import { MemoryStore } from '@fairlead/event-sourcing/memory.store';
import { writerOf } from '@fairlead/event-sourcing/spec';
import type { ServiceDefinition } from '@fairlead/service-kit';
import { SOFTWARE } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.fixtures.js';
import { bootstrapReconciler } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.reconciler.js';
import { CALM, Simulation, type Replica } from '../../apps/bootstrap-svc/test/simulation.js';
import { CleanupEffects } from '../../apps/gateway/src/clusters/cleanup.effects.js';
import { LifetimeEffects } from '../../apps/gateway/src/clusters/lifetime.effects.js';
import { clusters, type ClusterCommand } from '../../apps/gateway/src/clusters/clusters.decider.js';
import { readSettings as readGatewaySettings } from '../../apps/gateway/src/config.js';
import { gatewayService } from '../../apps/gateway/src/service.js';
import { readSettings as readInfraSettings } from '../../apps/infra-svc/src/config.js';
import { infraService } from '../../apps/infra-svc/src/service.js';
import { FakeCloud, FakeProvider } from '../../apps/infra-svc/test/fake.provider.js';
import { clusterSpec, registered } from '../../apps/infra-svc/test/fixtures.js';
import type { MemoryLog } from '../../apps/infra-svc/test/memory.log.js';
import { MemorySecrets, startReplica } from '../../apps/infra-svc/test/memory.service.js';
import type { AgentChannel } from '../../apps/upgrade-svc/src/agents/agents.ports.js';
import type { StatedFact } from '../../apps/upgrade-svc/src/agents/fact.rules.js';
import { FactsLog } from '../../apps/upgrade-svc/src/agents/facts.log.effects.js';
import { readSettings } from '../../apps/upgrade-svc/src/config.js';
import { upgradeService } from '../../apps/upgrade-svc/src/service.js';
import { DesiredEffects } from '../../apps/upgrade-svc/src/desired/desired.effects.js';
import { nodeKey, nodesProjection } from '../../apps/upgrade-svc/src/nodes/nodes.projection.js';
import { Killed, Turns, type Life } from './lives.js';
import { Program, type Parts } from './program.js';

export { SERVICES };
export type Service = ServiceName;

/** Who is killed, at which event of the cluster's log, and whether the event is in the log by then. */
export interface Kill {
  readonly service: Service;
  readonly boundary: number;
  readonly when: 'before' | 'after';
}

/** A step of the creation that never succeeds: an operation of the provider, or a step on hosts. */
export interface Failing {
  readonly service: 'infra-svc' | 'bootstrap-svc';
  readonly step: string;
}

const STEPS_MAX = 200_000;
/** So often nothing waits and something runs all the same: it is in Node's hands and comes back. */
const SETTLES_MAX = 1_000;
/** The cache sets room aside for all its entries, and a simulation starts many programs. */
const FOLDS_MAX = 20;
const NAMESPACE = 'default';
const CLUSTER = 'demo';
const WISH: StreamId = { namespace: NAMESPACE, cluster: CLUSTER, context: 'request' };
const CLIENT: Cause = { actor: 'user/client', correlationId: 'client', causationId: 'client' };
const NOW = new Date('2026-01-02T00:00:00.000Z');
const FACT = 'RecordAgentFact';
export const BROKEN = 'it is broken';

const uidOf = (attempt: number): ClusterUid =>
  `${String(attempt).padStart(8, '0')}-1111-4111-8111-111111111111` as ClusterUid;

/** The log, which reports when it is about to grow and when it has grown. */
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

/** What agents state is recorded by upgrade-svc. */
const serviceOf = (stream: StreamId, type: StoredEvent['type']): string => {
  const source = writerOf(stream, type).source.slice(1);
  return source.startsWith('node-agent') ? 'upgrade-svc' : source;
};

const inTurn =
  (life: Life, handle: Handle): Handle =>
  async (decider, stream, command, cause) => {
    await life.turn();
    const outcome = await handle(decider, stream, command, cause);
    await life.turn();
    return outcome;
  };

const decisions = (life: Life, log: Log): Handle => inTurn(life, makeHandle(log, new FoldCache(FOLDS_MAX)));

/** bootstrap-svc's own simulation lends its hosts, its Kubernetes and its effects; when it is whose turn is decided here. */
class BootstrapParts extends Simulation {
  private readonly lives = new Map<Replica, Life>();

  partsOf(life: Life): Parts {
    this.leases.expire('replica'); // What the life before held ends after a while.
    const replica = this.startReplica();
    this.lives.set(replica, life);
    return {
      deliver: (job, context) => replica.deliver(job, context),
      failed: (job, failure) => replica.tasks.recordFailure(job, failure),
      hear: () => void replica.tasks.look('default/demo'),
    };
  }

  protected override turn(replica: Replica): Promise<void> {
    const life = this.lives.get(replica);
    return life === undefined ? Promise.reject(new Killed()) : life.turn();
  }
}

/**
 * The four services over one log, one cloud and one set of hosts, by their own deciders, processes, projections and effects;
 * agents, providers, hosts and Kubernetes are played. A seed decides the order; one of the services is killed at one event.
 */
export class CrashWorld {
  readonly log = new Log();
  readonly cloud = new FakeCloud();
  readonly programs: Readonly<Record<Service, Program>>;
  readonly bootstrap: BootstrapParts;
  /** How often the kill took place. */
  kills = 0;
  private readonly turns = new Turns();
  private readonly infraSecrets = new MemorySecrets();
  private readonly infraLeases = new MemoryLeases();
  private readonly upgradeLeases = new MemoryLeases();
  private readonly gatewayLeases = new MemoryLeases();
  private readonly stated = new Set<string>();
  private asking = false;
  private attempts = 0;
  private readonly answered = new Set<StoredEvent['type']>();
  private brokenBy: Error | undefined;
  private begun = 0;
  private readonly created: NodeName[] = [];
  private indexed = 0;
  /** What was killed in this step: whatever it still does in it has no effect. */
  private dying: Service | undefined;

  constructor(
    seed: number,
    private readonly killing: Kill | undefined = undefined,
    private readonly failing: Failing | undefined = undefined,
    private readonly lease: ClusterLease | undefined = undefined,
  ) {
    this.bootstrap = new BootstrapParts(seed, CALM, this.log);
    if (failing?.service === 'bootstrap-svc') this.bootstrap.world.failing.set(failing.step, BROKEN);
    const gateway = consumersOf(gatewayService(readGatewaySettings({})));
    const infra = consumersOf(infraService(readInfraSettings({})));
    const upgrade = consumersOf(upgradeService(readSettings({})));
    this.programs = {
      gateway: this.program('gateway', gateway, (life) => this.gatewayParts(life)),
      'infra-svc': this.program('infra-svc', infra, (life) => this.infraParts(life)),
      'bootstrap-svc': this.program('bootstrap-svc', bootstrapConsumers, (life) => this.bootstrap.partsOf(life)),
      'upgrade-svc': this.program('upgrade-svc', upgrade, (life, program) => this.upgradeParts(life, program)),
    };
  }

  /** How many events there are at which someone can be killed: all but those with which the world begins. */
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

  /** A cluster is asked for, becomes Ready, and is deleted; or it fails, and is cleaned up; until nothing is left to do. */
  async run(): Promise<void> {
    await this.state(namespaceStream(NAMESPACE), {
      type: 'NamespaceCreated',
      data: { name: NAMESPACE as never, description: '' },
    });
    await this.state(CONNECTIONS_STREAM, registered());
    this.begun = this.log.events.length;
    this.log.watch = (when, upTo) => this.reached(when, upTo - this.begun);
    this.log.isDead = (service) => this.dying === service;
    for (let step = 0; step < STEPS_MAX; step += 1) {
      const went = this.step() || (await this.settled());
      if (this.brokenBy !== undefined) throw this.brokenBy;
      if (!went) return;
      await turnOfNode();
    }
    throw new Error('it never ends');
  }

  private program(
    name: Service,
    { projections, processes }: Consumers,
    start: (life: Life, program: Program) => Parts,
  ) {
    const below = (limit: number): number => this.bootstrap.below(limit);
    const options = { name, log: this.log, turns: this.turns, consumers: { projections, processes }, below, start };
    return new Program(options, (error) => this.broken(error));
  }

  private broken(error: unknown): void {
    this.brokenBy ??= error instanceof Error ? error : new Error(String(error));
  }

  /** The event of that number is about to be appended, or has been. The program dies there, whatever it was doing. */
  private reached(when: Kill['when'], upTo: number): void {
    const { killing } = this;
    this.dying = undefined;
    if (killing === undefined || this.kills > 0 || when !== killing.when || upTo < killing.boundary) return;
    this.kills += 1;
    this.dying = killing.service;
    this.programs[killing.service].kill();
  }

  private step(): boolean {
    const programs = Object.values(this.programs);
    const choices = [...programs.flatMap((program) => program.choices()), ...this.agents(), ...this.client()];
    const chosen = this.bootstrap.below(choices.length + this.turns.count);
    if (choices.length + this.turns.count === 0) return false;
    this.dying = undefined;
    if (chosen < choices.length) choices[chosen]?.();
    else this.turns.letGo(chosen - choices.length);
    return true;
  }

  /** Nothing waits for a turn: what runs is scheduled by Node. False: nothing runs. */
  private async settled(): Promise<boolean> {
    for (let settles = 0; settles < SETTLES_MAX; settles += 1) {
      const isBusy = this.asking || Object.values(this.programs).some((program) => program.isBusy);
      if (!isBusy) return false;
      await turnOfNode();
      if (this.turns.count > 0) return true;
    }
    throw new Error('somebody runs and never waits for a turn');
  }

  /** What the client does next: it asks until it is answered, first for a cluster, then for its end. */
  private client(): (() => void)[] {
    if (this.asking) return [];
    if (!this.isAnswered('ClusterRequested')) return [() => this.ask('ClusterRequested', this.request())];
    if (!this.bootstrap.world.said('ClusterReady') || this.isAnswered('ClusterDeletionRequested')) return [];
    return [() => this.ask('ClusterDeletionRequested', this.end())];
  }

  /** A cluster with an end is deleted when that is due, any other one because the client asks for it. */
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
    const spec: ClusterSpec = {
      ...clusterSpec({ kubernetes: { networkCni: 'flannel' } }),
      ...(this.failing === undefined ? {} : { onFailure: 'cleanup' }),
      ...(this.lease === undefined ? {} : { lease: this.lease }),
    };
    const uid = uidOf(this.attempts); // As the gateway draws one for each request.
    const data = { namespace: NAMESPACE, cluster: CLUSTER, uid, spec, requestHash: 'hash', connectionFaults: [] };
    return { type: 'RequestCluster', data: { ...data, actor: CLIENT.actor } };
  }

  private ask(type: StoredEvent['type'], command: ClusterCommand): void {
    const { life } = this.programs.gateway;
    this.asking = true;
    decisions(life, this.log)(clusters, WISH, command, CLIENT)
      .then((outcome) => {
        const isGone = isRefusal(outcome) && outcome.code === 'cluster.unknown';
        if (isRefusal(outcome) && !isGone) throw new Error(outcome.message);
        this.answered.add(type);
      })
      .catch((error: unknown) => {
        if (!(error instanceof Killed)) this.broken(error);
      })
      .finally(() => {
        this.asking = false;
      });
  }

  /** What agents would state now. Their stream keeps it until it is recorded. */
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

  /** The machines that have been created. Every step asks, so only what is new in the log is read. */
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
        this.programs['upgrade-svc'].publish(this.factJob(id, type, node));
      },
    ];
  }

  private factJob(id: string, type: 'NodeInitialized' | 'NodeReady', node: NodeName): Job {
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

  private gatewayParts(life: Life): Parts {
    const handle = decisions(life, this.log);
    const cleanup = new CleanupEffects(handle);
    const lifetime = new LifetimeEffects(handle, { now: () => NOW });
    this.gatewayLeases.expire('replica'); // As those of the life before do after a while.
    const tasks = new TaskRunner({
      reconcilers: gatewayReconcilers,
      handle,
      leases: this.gatewayLeases.of('replica'),
      now: () => NOW,
      log: { warn: () => undefined },
    });
    return {
      deliver: async (job, context) => {
        switch (job.type) {
          case 'CleanUpCluster':
            return tasks.run(job, context, {}, (task) => cleanup.cleanUp(task as never));
          case 'EndLifetime':
            return tasks.run(job, context, {}, (task) => lifetime.endLifetime(task as never));
          default:
            throw new Error(`no handler for ${job.type}`);
        }
      },
      failed: (job, failure) => tasks.recordFailure(job, failure),
    };
  }

  /** What the provider refuses while the cluster is created, it does when it is deleted. */
  private refuses(operation: string): boolean {
    const isCreation = this.count('ClusterDeletionRequested') === 0;
    return isCreation && this.failing?.service === 'infra-svc' && this.failing.step === operation;
  }

  private infraParts(life: Life): Parts {
    const wait = (): Promise<void> => life.turn();
    const before = async (operation: string): Promise<void> => {
      await wait();
      if (this.refuses(operation)) throw new WorldFailure({ operation, target: 'lab', message: BROKEN });
    };
    const provider = new FakeProvider(this.cloud, { before, after: wait });
    this.infraLeases.expire('replica'); // As those of the life before do after a while.
    const replica = startReplica(
      {
        log: this.log as unknown as MemoryLog,
        secrets: this.infraSecrets,
        kinds: new Map([['lab', { name: 'lab', open: () => provider }]]),
        wrapHandle: (handle) => inTurn(life, handle),
      },
      this.infraLeases.of('replica'),
    );
    return {
      deliver: (job, context) => replica.deliver(job, context),
      failed: (job, failure) => replica.failed(job, failure),
      hear: () => void replica.tasks.look(`${NAMESPACE}/${CLUSTER}`),
    };
  }

  private upgradeParts(life: Life, program: Program): Parts {
    const handle = decisions(life, this.log);
    const desired = new DesiredEffects(handle, { latest: () => Promise.resolve(NO_OWN_RELEASES) });
    this.upgradeLeases.expire('replica'); // As those of the life before do after a while.
    const tasks = new TaskRunner({
      reconcilers: upgradeReconcilers,
      handle,
      leases: this.upgradeLeases.of('replica'),
      now: () => NOW,
      log: { warn: () => undefined },
    });
    const channel = { last: async () => undefined, send: () => undefined } as unknown as AgentChannel;
    // Made when it is needed: its cache allocates all of its entries at once, and few lives record facts.
    let facts: FactsLog | undefined;
    return {
      deliver: async (job, context) => {
        switch (job.type) {
          case 'SetDesiredVersions':
            return tasks.run(job, context, {}, (task) => desired.setDesiredVersions(task as never));
          case 'WithdrawPermissions':
            return tasks.run(job, context, {}, (task) => desired.withdrawPermissions(task as never));
          case 'ForgetSnapshots':
            return tasks.run(job, context, {}, async () => undefined); // None was taken.
          case FACT: {
            const { stated } = job.data as unknown as { readonly stated: StatedFact };
            const { namespace, cluster, node } = stated.address;
            const key = nodeKey(namespace, cluster, node);
            const known = await program.database.read(nodesProjection.table, [key]);
            // Its row may not be written yet: an agent that is not answered states it again.
            if (!known.has(key)) return { kind: 'requeue', delayMs: 1, reason: 'no cluster has this node yet' };
            facts ??= new FactsLog(channel, handle, { now: () => NOW });
            return facts.record(stated);
          }
          default:
            throw new Error(`no handler for ${job.type}`);
        }
      },
      failed: noJobs,
    };
  }

  private async state(stream: StreamId, fact: Fact): Promise<void> {
    const cause: Cause = { actor: 'user/admin', correlationId: 'admin', causationId: 'admin' };
    await this.log.append(stream, { seq: 0, streamVersion: 0, hash: '' }, [fact], cause);
  }
}

/** What a service reads the log with, its reconcilers included. */
const consumersOf = ({ projections, reconcilers }: ServiceDefinition): Consumers => ({
  projections,
  processes: reconcilers.map(reconcilerProcess),
});

const { reconcilers: gatewayReconcilers } = gatewayService(readGatewaySettings({}));

const { reconcilers: upgradeReconcilers } = upgradeService(readSettings({}));

const bootstrapConsumers: Consumers = { projections: [], processes: [reconcilerProcess(bootstrapReconciler())] };

const noJobs = (job: Job): Promise<never> => Promise.reject(new Error(`nobody works on ${job.type}`));

const turnOfNode = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

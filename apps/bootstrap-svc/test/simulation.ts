import {
  ExternalFailure,
  type Fact,
  type LogLines,
  type NodeName,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { stepBegunIn } from '@fairlead/domain';
import type { Handle } from '@fairlead/event-sourcing/jetstream';
import { MemoryStore } from '@fairlead/event-sourcing/memory.store';
import {
  CALM,
  Simulation as Services,
  type Life,
  type Parts,
  type Passage,
  type Program,
  type Troubles,
} from '@fairlead/event-sourcing/simulation';
import { DEFAULT_TUNING } from '@fairlead/node-scripts';
import { seededRandom } from '@fairlead/testing';
import { AddonsEffects } from '../src/addons/addons.effects.js';
import { SOFTWARE, UID } from '../src/bootstrap/bootstrap.fixtures.js';
import { bootstrapReconciler } from '../src/bootstrap/bootstrap.reconciler.js';
import { PublishingEffects } from '../src/control-plane/publishing.effects.js';
import { BalancingEffects } from '../src/control-plane/balancing.effects.js';
import { ControlPlaneEffects } from '../src/control-plane/control-plane.effects.js';
import { ExternalEtcdEffects, type Authorities } from '../src/control-plane/external-etcd.effects.js';
import { HooksEffects } from '../src/hooks/hooks.effects.js';
import { HookCaller, HookSigner, type HookHttp } from '@fairlead/service-kit/http';
import { AgentKit } from '../src/hosts/agent.kit.js';
import { HostAccess } from '../src/hosts/host.access.js';
import { FollowsEffects } from '../src/executions/follows.effects.js';
import { HostsEffects } from '../src/hosts/hosts.effects.js';
import { SshKeysEffects } from '../src/hosts/ssh.keys.effects.js';
import { JoinCredentialsSource } from '../src/joins/join.credentials.js';
import { JoinsEffects } from '../src/joins/joins.effects.js';
import { AuthenticationEffects } from '../src/authentication/authentication.effects.js';
import { LabelsEffects } from '../src/joins/labels.effects.js';
import { DeclaredEffects } from '../src/restore/declared.effects.js';
import { ExecutionsEffects } from '../src/executions/executions.effects.js';
import type { LogReaders } from '../src/executions/executions.ports.js';
import { executionsReconciler } from '../src/executions/executions.reconciler.js';
import { KubeconfigsEffects } from '../src/kubeconfigs/kubeconfigs.effects.js';
import { kubeconfigsReconciler } from '../src/kubeconfigs/kubeconfigs.reconciler.js';
import { ClusterAccess, etcdAuthorityRef } from '../src/kubernetes/cluster.access.js';
import { DismantlingEffects } from '../src/removal/dismantling.effects.js';
import { NodeRemovalEffects } from '../src/removal/node-removal.effects.js';
import { RememberedSecrets } from '../src/secrets.cache.js';
import { FakeKubernetes, FakeShell, FakeWorld, MemorySecrets } from './world.js';

const HOOK_AGAIN_AFTER_MS = 1_000;
/** Read by a simulated reader of a log. */
const LINES_READ = 3;

export { CALM, type Troubles };
export const ROUGH: Troubles = { lostRequest: 0.02, lostAnswer: 0.02, crash: 0.01, twin: 0.15 };

class FakeKit extends AgentKit {
  constructor() {
    super(
      {
        bundle: '',
        nodeBinary: '',
        softwareSigners: [],
        natsUrls: [],
        heartbeatIntervalMs: 1,
        signing: null,
        credentialLifetimeSeconds: 60,
      },
      DEFAULT_TUNING,
    );
  }
  override async bundle() {
    return { content: new Uint8Array(), sha256: 'ab'.repeat(32), version: '0.1.0' };
  }
  override async prepareInput() {
    return {
      agent: { sha256: 'ab'.repeat(32), version: '0.1.0' },
      config: { uid: 'u', node: 'n' },
      credentials: null,
      nodeBinary: '',
      ownNode: null,
      bundle: null,
    } as never;
  }
}

/** The environment of bootstrap-svc: hosts, Kubernetes, hooks and secrets, which outlive its replicas. */
export class BootstrapWorld {
  readonly world: FakeWorld;
  readonly secrets = new MemorySecrets();
  /** Lines sent to readers of followed logs, by request. */
  readonly followed = new Map<string, LogLines[]>();

  constructor(
    events: readonly StoredEvent[],
    private readonly sim: Services,
  ) {
    this.world = new FakeWorld(events);
  }

  /**
   * Readers that request three answers, some of them twice, and disconnect. They outlive the replicas that serve them.
   */
  private readonly logReaders: LogReaders = {
    of: (requestId) => {
      const sent = this.followed.get(requestId) ?? [];
      this.followed.set(requestId, sent);
      return {
        next: async (_withinMs, signal) => {
          signal.throwIfAborted();
          const number = sent.length + 1;
          if (number > LINES_READ) return { type: 'end' };
          const isRepeated = number > 1 && this.sim.chance(this.sim.troubles.twin);
          if (isRepeated) return { type: 'read', number: number - 1, after: sent.at(-2)?.position ?? null };
          return { type: 'read', number, after: sent.at(-1)?.position ?? null };
        },
        send: (lines) => {
          if (lines.number === sent.length + 1) sent.push(lines);
        },
        close: () => undefined,
      };
    },
  };

  /** Time passes between the attempts of hooks. */
  private readonly hookClock = {
    now: () => new Date(Date.parse('2026-01-01T00:00:00.000Z') + this.world.asked.length * 60 * 60_000),
  };

  /** A call that is lost in either direction has no answer. */
  private hookHttp(pass: Passage): HookHttp {
    return {
      post: async (url, { body }) => {
        try {
          return await pass(`ask ${url}`, () => this.world.askHook(url, body));
        } catch (error) {
          if (error instanceof ExternalFailure) return { kind: 'silent', why: error.message };
          throw error;
        }
      },
    };
  }

  /** A replica of bootstrap-svc without Nest, NATS and PostgreSQL: the same classes with the same ports. */
  partsOf(handle: Handle, pass: Passage): Parts {
    const settings = {
      tuning: DEFAULT_TUNING,
      drainLimitMs: 250,
      nodeDeletionTimeoutMs: 20,
      releaseTimeoutMs: 20,
      lookEveryMs: 1,
      joinTokenTtlSeconds: 900,
    };
    const clock = { now: () => new Date('2026-01-01T00:00:00.000Z') };
    const secrets = new RememberedSecrets(this.secrets);
    const hosts = new HostAccess(new FakeShell(this.world, pass), secrets, { triesMax: 1, deadlineMs: 1 });
    const clusters = new ClusterAccess(new FakeKubernetes(this.world, pass), secrets);
    const credentials = new JoinCredentialsSource(hosts, secrets, clock, settings);
    const controllers = [
      new HostsEffects(hosts, new FakeKit(), settings),
      new ControlPlaneEffects(hosts, clusters, settings),
      new BalancingEffects(hosts, secrets),
      new PublishingEffects(hosts, secrets),
      new ExternalEtcdEffects(
        hosts,
        sealedAuthorities(secrets, pass, () => this.sim.below(1_000_000)),
        settings,
      ),
      new JoinsEffects(hosts, credentials, settings),
      new LabelsEffects(clusters),
      new DeclaredEffects(clusters),
      new AuthenticationEffects(hosts, clusters),
      new AddonsEffects(clusters, settings),
      new NodeRemovalEffects(hosts, clusters, settings, clock),
      new DismantlingEffects(clusters, settings),
      new KubeconfigsEffects(clusters, clock),
      new ExecutionsEffects(hosts, secrets, clock),
      new FollowsEffects(hosts, this.logReaders, clock),
      new SshKeysEffects(hosts),
      new HooksEffects(
        new HookCaller({
          http: this.hookHttp(pass),
          signer: new HookSigner(this.secrets, this.hookClock),
          clock: this.hookClock,
          againAfterMs: HOOK_AGAIN_AFTER_MS,
        }),
      ),
    ];
    return { handle, controllers };
  }
}

export const RECONCILERS = [bootstrapReconciler(), kubeconfigsReconciler, executionsReconciler];

/** bootstrap-svc with one log and one environment. infra-svc, upgrade-svc and the agents are simulated. */
export class Simulation extends Services {
  readonly bootstrap: BootstrapWorld;
  readonly program: Program;

  constructor(
    seed: number,
    troubles: Troubles = ROUGH,
    readonly store = new MemoryStore(),
  ) {
    super(seededRandom(seed), troubles);
    this.bootstrap = new BootstrapWorld(store.events, this);
    this.program = this.start({
      ...{ name: 'bootstrap-svc', log: store, projections: [], reconcilers: RECONCILERS },
      start: (life: Life) => this.bootstrap.partsOf(this.decisions(life, store), this.passage(life)),
    });
  }

  get world(): FakeWorld {
    return this.bootstrap.world;
  }

  get secrets(): MemorySecrets {
    return this.bootstrap.secrets;
  }

  get followed(): ReadonlyMap<string, readonly LogLines[]> {
    return this.bootstrap.followed;
  }

  get types(): readonly string[] {
    return this.store.events.map(({ type }) => type);
  }

  count(type: StoredEvent['type'], node?: string): number {
    return this.store.events.filter(
      (event) => event.type === type && (node === undefined || ('node' in event.data && event.data.node === node)),
    ).length;
  }

  /** Appends a fact of another service. */
  async say(context: string, ...facts: readonly Fact[]): Promise<void> {
    const stream: StreamId = { namespace: 'default', cluster: 'demo', context };
    for (const fact of facts) {
      const own = this.store.events.filter(({ meta }) => meta.context === context);
      const seq = own.at(-1)?.meta.seq ?? 0;
      const expected = { seq, streamVersion: own.length, hash: `hash-${seq}` };
      await this.store.append(stream, expected, [fact], { actor: 'user/sim', correlationId: 'c', causationId: 'c' });
    }
  }

  /** The possible next actions of upgrade-svc and the agents. */
  protected override actors(): (() => Promise<void>)[] {
    const machines = this.store.events.flatMap((event) => (event.type === 'VmsCreated' ? event.data.machines : []));
    return [
      ...machines.flatMap(({ name }) => this.actsOf(name)),
      ...this.etcdLooks(),
      ...this.etcdSaves(),
      ...this.balancing(),
    ];
  }

  /** upgrade-svc: allows the next control plane to leave if a voter remains. */
  private etcdLooks(): (() => Promise<void>)[] {
    const started = this.store.events.findLast((event) => event.type === 'ControlPlaneRemovalStarted');
    if (started?.type !== 'ControlPlaneRemovalStarted') return [];
    const { uid, node, attempt } = started.data;
    const isAnswer = ({ type, data }: StoredEvent): boolean =>
      (type === 'ControlPlaneRemovalPrepared' || type === 'ControlPlaneRemovalBlocked') &&
      data.node === node &&
      data.attempt === attempt;
    if (this.store.events.some(isAnswer)) return [];
    const quorum = { voters: 3, healthy: 3, target: 2 };
    const data = { uid, node, attempt, quorum, snapshot: `demo-${attempt}`, leader: null };
    return [() => this.say('rollout', { type: 'ControlPlaneRemovalPrepared', data })];
  }

  /** upgrade-svc: takes a snapshot of etcd before a control plane changes. */
  private etcdSaves(): (() => Promise<void>)[] {
    const { events } = this.store;
    const begun = events.findLast((event) => event.type === 'ControlPlaneChangeStarted');
    const requestId = begun === undefined ? undefined : stepBegunIn(begun)?.requestId;
    const isTaken = events.some(
      ({ type, data }) => type === 'EtcdSnapshotTaken' && (data as { requestId?: string }).requestId === requestId,
    );
    if (requestId === undefined || isTaken) return [];
    const data = { uid: UID, requestId, snapshot: `demo-${requestId}` };
    return [() => this.say('rollout', { type: 'EtcdSnapshotTaken', data } as unknown as Fact)];
  }

  /** infra-svc: removes drained control planes from the targets. */
  private balancing(): (() => Promise<void>)[] {
    const ready = this.store.events.findLast((event) => event.type === 'LoadBalancerReady');
    if (ready?.type !== 'LoadBalancerReady' || (ready.data.placement ?? 'provider') !== 'provider') return [];
    const names = this.store.events.flatMap((event) =>
      event.type === 'VmsCreated' ? event.data.machines.filter(({ role }) => role === 'control-plane') : [],
    );
    const targets = names.flatMap(({ name }) => (this.world.said('NodeDrained', name) ? [] : [name]));
    const last = this.store.events.findLast((event) => event.type === 'LoadBalancerUpdated');
    const before = last?.type === 'LoadBalancerUpdated' ? last.data.targets : names.map(({ name }) => name);
    if (before.join() === targets.join()) return [];
    return [() => this.say('machines', { type: 'LoadBalancerUpdated', data: { uid: UID, targets } })];
  }

  private actsOf(node: NodeName): (() => Promise<void>)[] {
    const host = this.world.host(node);
    const once = (type: StoredEvent['type'], context: string, data: object): (() => Promise<void>)[] =>
      this.world.said(type, node) ? [] : [() => this.say(context, { type, data: { uid: UID, node, ...data } } as Fact)];
    const desired = once('DesiredVersionsSet', `desired-${node}`, {
      revision: 1,
      software: SOFTWARE,
      changesAllowed: true,
    });
    const report = { revision: 1, software: SOFTWARE };
    const machine = { os: 'Debian 12', kernel: '6.1', bootId: 'b', changed: [] };
    return [
      ...desired,
      ...(host.agentStarted ? once('NodeInitialized', `node-${node}`, { ...report, ...machine }) : []),
      ...(host.joinedAs !== null && this.world.network ? once('NodeReady', `node-${node}`, report) : []),
    ];
  }
}

/**
 * CAs that sign nothing and are recreated whenever none is sealed: two CAs of one cluster would be two different texts.
 */
const sealedAuthorities = (secrets: RememberedSecrets, pass: Passage, random: () => number): Authorities => ({
  of: async (uid) => {
    const ref = etcdAuthorityRef(uid);
    const sealed = await secrets.get(ref);
    const ca = sealed ?? `authority ${random()}`;
    if (sealed === undefined) {
      await pass('seal the authority of etcd', () => undefined);
      await secrets.put(ref, ca, uid);
    }
    const pair = { cert: '', key: '' };
    const all = { ca, server: pair, peer: pair, healthcheckClient: pair, apiserverClient: pair };
    return { ref, authority: { certificatesOf: async () => all } };
  },
});

import {
  CONTROL_PLANE_POOL,
  isRefusal,
  type DeclaredPool,
  type DeclaredSpec,
  type Fact,
  type NodeName,
  type NodeSelection,
  type OnFailure,
  type Refusal,
  type ReplacementOrder,
  type StoredEvent,
} from '@fairlead/contracts';
import { pauseAfter, type ClusterPause, type Declared } from '@fairlead/domain';
import {
  STATE_FACTS,
  type AnyReconciler,
  type Cause,
  type Command,
  type Decider,
  type KnownState,
  type Task,
} from '@fairlead/event-sourcing';
import type { QueuedTask } from '@fairlead/event-sourcing/jetstream';
import { Follower } from '@fairlead/event-sourcing/simulation';
import { stored } from '@fairlead/event-sourcing/spec';
import { bootstrap } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.decider.js';
import { specOf, UID } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.fixtures.js';
import { bootstrapReconciler } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.reconciler.js';
import type { Bootstrap } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.state.js';
import { clusters, type ClusterCommand, type ClusterState } from '../../apps/gateway/src/clusters/clusters.decider.js';
import { manifests, type AskAgain, type ManifestState } from '../../apps/gateway/src/manifest/manifests.decider.js';
import { unmetReconciler } from '../../apps/gateway/src/manifest/unmet.reconciler.js';
import { replacements } from '../../apps/gateway/src/replacements/replacements.decider.js';
import { machines } from '../../apps/infra-svc/src/machines/machines.decider.js';
import { machinesReconciler } from '../../apps/infra-svc/src/machines/machines.reconciler.js';
import type { Machines } from '../../apps/infra-svc/src/machines/machines.state.js';
import { bootstrapTask } from './growth.bootstrap.js';
import { applyManifest } from './growth.gateway.js';
import { infraTask } from './growth.infra.js';
import { outcomeOf, troubleOf } from './growth.outcome.js';
import { ADDRESS, SEEN, SURGE, USER, type Failed, type Failure, type ServiceWorld } from './growth.parts.js';
import { agentSays, played } from './growth.upgrade.js';

const TASKS_MAX = 2_000;
/** How often the world may wait for the next timer: long enough for every deadline and several further attempts. */
const WAITS_MAX = 8;
const START_MS = Date.parse('2026-01-01T00:00:00.000Z');

/** What follows from an event, as the partitions and the work queue hand it on. */
const causedBy = ({ meta }: StoredEvent, actor: string): Cause => ({
  actor,
  correlationId: meta.correlationId,
  causationId: meta.id,
});

/** A service dies between an external effect and its record. */
class Crashed extends Error {}

/** A reconciler as its service runs it: its cluster may be quarantined, and it reads on from there when that is released. */
interface Service {
  readonly follower: Follower<unknown>;
  readonly quarantine?: Failure;
  read: number;
  /** By the whole log. */
  readonly state: () => unknown;
  readonly play: (world: GrowthWorld, task: Task, asked: QueuedTask) => Failed;
}

const follow = (reconciler: AnyReconciler, service: string): Follower<unknown> => new Follower(reconciler, service);

/**
 * A cluster with the real deciders, processes and planners of the gateway, infra-svc and bootstrap-svc. Tasks run one
 * after the other; the provider, hosts, Kubernetes, upgrade-svc and the agents are simulated, each in the file of its
 * service. A fault lasts until the world is healed.
 */
export class GrowthWorld implements ServiceWorld {
  readonly events: StoredEvent[] = [];
  readonly provider = new Set<string>();
  readonly kubernetes = new Set<string>();
  readonly etcd = new Set<string>();
  readonly down = new Set<string>();
  /** How many decisions a task may still record before its service crashes. */
  private decisionsLeft: number | undefined;
  private isWorking = false;
  crashes = 0;
  private readonly failures = new Set<Failure>();
  readonly blocked = new Map<NodeName, number>();
  private manifest: ManifestState = manifests.initial;
  infra: Machines = machines.initial;
  boot: Bootstrap = bootstrap.initial;
  private pause: ClusterPause | null = null;
  private readonly services: Readonly<Record<string, Service>> = {
    machines: {
      ...{ follower: follow(machinesReconciler as AnyReconciler, 'infra-svc'), read: 0 },
      ...{ quarantine: 'quarantined-machines', state: () => this.infra, play: infraTask },
    },
    bootstrap: {
      ...{ follower: follow(bootstrapReconciler() as AnyReconciler, 'bootstrap-svc'), read: 0 },
      ...{ quarantine: 'quarantined-bootstrap', state: () => this.boot, play: bootstrapTask },
    },
    unmet: {
      ...{ follower: follow(unmetReconciler as AnyReconciler, 'gateway'), read: 0 },
      ...{
        state: () => ({ declared: this.manifest.declared }),
        play: (_world, task, asked) => this.askAgain(task, asked),
      },
    },
  };
  /** Of what is recorded now. */
  private cause: Cause | undefined;
  /** The code with which the latest command was refused. */
  refused: string | undefined;
  /** Effects on the provider, the hosts and Kubernetes, with the number of events recorded before. */
  readonly effects: { readonly what: string; readonly after: number }[] = [];
  private queue: QueuedTask[] = [];
  /** Tasks that are tried again and again, until the provider is well. */
  private requeued: QueuedTask[] = [];
  /** Refused tasks of the gateway, which are retried. */
  private hindered: QueuedTask[] = [];
  /** Is called with every event, once all services know it. */
  noticed: (event: StoredEvent) => void = () => undefined;
  private nowMs = START_MS;

  /** An independent copy of the current state. `noticed` is not copied. */
  copy(): GrowthWorld {
    const copy = new GrowthWorld();
    copy.events.push(...this.events);
    copy.effects.push(...this.effects);
    copy.queue = [...this.queue];
    copy.requeued = [...this.requeued];
    copy.hindered = [...this.hindered];
    const sets = ['provider', 'kubernetes', 'etcd', 'down', 'failures'] as const;
    for (const name of sets) for (const one of this[name]) (copy[name] as Set<string>).add(one);
    for (const [node, attempt] of this.blocked) copy.blocked.set(node, attempt);
    // States are immutable values.
    const { manifest, infra, boot, pause, refused, nowMs } = this;
    Object.assign(copy, { manifest, infra, boot, pause, refused, nowMs });
    for (const [name, { follower, read }] of Object.entries(this.services))
      Object.assign(copy.services[name]!, { follower: follower.copy(), read });
    return copy;
  }

  fail(failure: Failure): void {
    this.failures.add(failure);
  }

  /** Ends all faults; a quarantined process is released by a command. */
  heal(): void {
    for (const failure of ['create', 'delete', 'unreachable', 'join', 'drain'] as const) this.failures.delete(failure);
    this.queue.push(...this.requeued.splice(0));
  }

  /** The host of a node is down, until it is restored or its node leaves. */
  lose(node: string): void {
    this.down.add(node);
    const data = { uid: UID, node: node as NodeName, lastSeenAt: null, limitMs: 60_000 };
    this.say({ type: 'NodeLost', data });
  }

  recover(node: string): void {
    this.down.delete(node);
    this.say({ type: 'NodeRecovered', data: { uid: UID, node: node as NodeName, lostForMs: 60_000 } });
  }

  /** The service of the next task crashes once it has recorded this many decisions; the task is delivered again. */
  crash(after: number): void {
    this.decisionsLeft = after;
  }

  types(): readonly string[] {
    return this.events.map(({ type }) => type);
  }

  create(controlPlanes: number, workers: number, more: { readonly etcd?: 'external' } = {}): void {
    const spec = specOf(controlPlanes, workers, more);
    this.because(this.firstCause(USER), () =>
      this.say({ type: 'ClusterRequested', data: { uid: UID, spec, requestHash: 'h' } }),
    );
  }

  /** Commands of the REST API and the CLI. A refusal is a valid result. */
  command(
    command: 'retry' | 'abandon' | 'delete' | 'remove-failed' | 'release' | 'abort-upgrade' | 'pause' | 'resume',
  ): void {
    switch (command) {
      case 'retry':
        return this.ask({ type: 'RetryCluster', data: ADDRESS });
      case 'abandon':
        return this.ask({ type: 'AbandonNodes', data: ADDRESS });
      case 'delete':
        return this.ask({ type: 'DeleteCluster', data: ADDRESS });
      case 'pause':
        return this.ask({ type: 'PauseCluster', data: { ...ADDRESS, reason: '' } });
      case 'resume':
        return this.ask({ type: 'ResumeCluster', data: { ...ADDRESS, reason: '' } });
      case 'remove-failed':
        return this.members()
          .filter((name) => !this.kubernetes.has(name))
          .forEach((name) => this.remove(name));
      case 'release':
        this.failures.delete('quarantined-bootstrap');
        this.failures.delete('quarantined-machines');
        return undefined;
      case 'abort-upgrade':
        return this.say({ type: 'SurgeReleased', data: { ...SURGE, operation: 'op-07', nodes: [] } });
    }
  }

  add(onFailure: OnFailure): void {
    const workers = [{ ...specOf(1, 1).workers[0]!, count: 2 }];
    this.ask({
      type: 'RequestNodes',
      data: { ...ADDRESS, requestId: 'r1', workers, onFailure, connectionFaults: [] },
    });
  }

  replace(name: string, order: ReplacementOrder, requestId = 'r2'): void {
    const data = { ...ADDRESS, requestId, node: name as NodeName, order, reason: '' };
    this.ask({ type: 'ReplaceNode', data });
  }

  /** Requests replacement of nodes by rollouts of their pools; a refusal is a valid result. */
  replaceSelected(select: Partial<NodeSelection>, reason = ''): boolean {
    const selection = { nodes: [], pools: [], labels: {}, all: false, ...select };
    const data = { ...ADDRESS, requestId: `s${this.events.length}`, select: selection, reason };
    const state = this.events.reduce((before, event) => replacements.evolve(before, event), replacements.initial);
    const decide = () => this.decide(replacements, state, { type: 'ReplaceNodes', data });
    const decided = this.because(this.firstCause(USER), decide);
    this.refused = isRefusal(decided) ? decided.code : undefined;
    return !isRefusal(decided);
  }

  hold(node: string, disabled: boolean): void {
    const scope = { kind: 'node' as const, node: node as NodeName };
    this.say({ type: 'UpdatesDisabledSet', data: { uid: UID, scope, disabled, reason: 'a database' } });
  }

  /**
   * The first pool as declared, and the state of its machines: whether their nodes serve, and whether they are leaving.
   */
  pool() {
    const declared = this.manifest.declared?.spec.pools[0];
    return { declared, machines: this.machinesIn(declared?.name) };
  }

  /** The same for the control planes. */
  controlPlanes() {
    return { declared: this.declared.spec.controlPlane, machines: this.machinesIn(CONTROL_PLANE_POOL) };
  }

  machinesIn(name: string | undefined) {
    const planned = this.infra.status === 'absent' ? [] : this.infra.cluster.planned;
    const hosts = this.boot.status === 'absent' ? {} : this.boot.cluster.hosts;
    return planned
      .filter(({ pool }) => pool === name)
      .map((plan) => ({
        ...plan,
        serves:
          this.kubernetes.has(plan.name) &&
          !this.down.has(plan.name) &&
          hosts[plan.name]?.removal === 'none' &&
          hosts[plan.name]?.ready === true,
        leaves: (hosts[plan.name]?.removal ?? 'none') !== 'none',
      }));
  }

  /** The declared state of the cluster. */
  get declared(): Declared {
    if (this.manifest.declared === undefined) throw new Error('there is no cluster');
    return this.manifest.declared;
  }

  /** Applies the manifest with a changed first pool; a refusal is a valid result. */
  declare(change: Partial<DeclaredPool>): boolean {
    const { declared } = this.manifest;
    if (declared === undefined) return false;
    const [first, ...others] = declared.spec.pools;
    return this.applySpec({ ...declared.spec, pools: [{ ...first!, ...change }, ...others] });
  }

  /** Applies the manifest with changed control planes; a refusal is a valid result. */
  declareControlPlane(change: Partial<DeclaredSpec['controlPlane']>): boolean {
    const { spec } = this.declared;
    return this.applySpec({ ...spec, controlPlane: { ...spec.controlPlane, ...change } });
  }

  /** The agent of a node reports Ready or NotReady. */
  setReady(node: string, ready: boolean): void {
    agentSays(this, ready ? 'NodeReady' : 'NodeNotReady', node as NodeName);
  }

  /** Applies a manifest with these pools, based on the cluster's first one. A refusal is a valid result. */
  apply(pools: readonly (Pick<DeclaredPool, 'name' | 'replicas'> & Partial<DeclaredPool>)[]): boolean {
    const { controlPlane, ...others } = this.declared.spec;
    const { connection, machineType, rootDisk } = controlPlane;
    const like = { connection, machineType, rootDisk };
    return this.applySpec({ ...others, controlPlane, pools: pools.map((pool) => ({ ...like, ...pool })) });
  }

  applySpec(spec: DeclaredSpec): boolean {
    const command = applyManifest(this.manifest, spec, `m${this.events.length}`);
    return !isRefusal(this.because(this.firstCause(USER), () => this.decide(manifests, this.manifest, command)));
  }

  remove(name: string): void {
    this.ask({ type: 'RemoveNode', data: { ...ADDRESS, node: name as NodeName } });
  }

  surge(): void {
    this.say({ type: 'SurgeRequested', data: { ...SURGE, operation: 'op-07', count: 1 } });
  }

  restore(): void {
    const members = [...this.etcd].map((node) => ({ node, address: '10.0.0.9' }));
    this.say({
      type: 'EtcdRestoreStarted',
      data: { uid: UID, requestId: 'e1', snapshot: 's', sha256: 'x', members },
    } as unknown as Fact);
  }

  /** Advances the time without events. */
  sleep(ms: number): void {
    this.nowMs += ms;
  }

  members(): readonly string[] {
    return this.gateway.status === 'absent' ? [] : Object.keys(this.gateway.members);
  }

  /** Does everything that follows, or this many tasks of it; then waits for timers, too. */
  run(tasksMax = TASKS_MAX): void {
    const isWhole = tasksMax === TASKS_MAX;
    for (let tasks = 0, waits = 0; tasks < tasksMax; tasks += 1) {
      this.read();
      const task = this.queue.shift();
      if (task !== undefined) {
        this.work(task);
        continue;
      }
      if (!isWhole || waits >= WAITS_MAX || !this.wait()) return;
      waits += 1;
    }
    if (isWhole) throw new Error('it never ends');
  }

  /** Number of tasks and timers. */
  get pending(): number {
    this.read();
    const waits = Object.values(this.services).filter(({ follower }) => follower.wakeAt !== null);
    return this.queue.length + waits.length;
  }

  private work(task: QueuedTask): void {
    this.isWorking = true;
    try {
      this.because(task.cause, () => this.attempt(task));
    } catch (error) {
      if (!(error instanceof Crashed)) throw error;
      this.decisionsLeft = undefined;
      this.crashes += 1;
      this.queue.unshift(task);
    } finally {
      this.isWorking = false;
    }
  }

  private attempt(asked: QueuedTask): void {
    const { follower, state, play } = this.services[asked.data.reconciler]!;
    const known = (): KnownState<unknown> =>
      this.pause === null ? { state: state() } : { state: state(), isPaused: true };
    const now = this.now();
    if (asked.type === STATE_FACTS) return void this.record(follower.facts(now, known()));
    const task = follower.taskOf(asked, now, known());
    if (task === undefined) return;
    this.effects.push({ what: task.key, after: this.events.length });
    const failed = play(this, task, asked);
    if (failed === undefined) return;
    const failure = { ...failed, attemptsMax: failed.attempt, nextAttemptAt: null, now };
    this.record(follower.failed(asked.data, failure, known()));
  }

  /** As the gateway's handler does it: a task that is refused now is tried again soon. */
  private askAgain(task: Task, asked: QueuedTask): Failed {
    const data = { ...(task.data as unknown as AskAgain['data']), ...ADDRESS, requestId: `a${this.events.length}` };
    const command: AskAgain = { type: 'AskAgain', data: data as AskAgain['data'] };
    if (isRefusal(this.decide(manifests, this.manifest, command))) this.hindered.push(asked);
    return undefined;
  }

  /** Why this is no place to stay; undefined: the cluster is Provisioned and whole, or nothing of it is left. */
  trouble(): string | undefined {
    return troubleOf(this);
  }

  /** The final state, however it was reached. */
  outcome(): object {
    return outcomeOf(this);
  }

  /** Every task whose message is in the queue is delivered once more, as after a crash. */
  redeliver(): void {
    this.queue = [...this.queue, ...this.queue];
  }

  get gateway(): ClusterState {
    return this.manifest.cluster;
  }

  has(failure: Failure): boolean {
    return this.failures.has(failure);
  }

  private because<Result>(cause: Cause, work: () => Result): Result {
    const before = this.cause;
    this.cause = cause;
    try {
      return work();
    } finally {
      this.cause = before;
    }
  }

  /** For a request, or a service's observation: no earlier event caused it. */
  private firstCause(actor: string): Cause {
    const id = `${actor}-${this.events.length + 1}`;
    return { actor, correlationId: id, causationId: id };
  }

  say(fact: Fact): void {
    const seq = this.events.length + 1;
    const cause = this.cause ?? this.firstCause(SEEN);
    const event = stored(fact, seq, { time: new Date((this.nowMs += 1_000)).toISOString(), ...cause });
    this.events.push(event);
    this.manifest = manifests.evolve(this.manifest, event);
    this.infra = machines.evolve(this.infra, event);
    this.boot = bootstrap.evolve(this.boot, event);
    this.pause = pauseAfter(this.pause, event);
    this.noticed(event);
    this.because(causedBy(event, 'system/upgrade-svc'), () => played(this, event));
  }

  private ask(command: ClusterCommand): void {
    const decided = this.because(this.firstCause(USER), () => this.decide(clusters, this.gateway, command));
    this.refused = isRefusal(decided) ? decided.code : undefined;
  }

  decide<State, C extends Command, E extends Fact>(
    decider: Decider<State, C, E>,
    state: State,
    command: C,
  ): readonly E[] | Refusal {
    return this.record(decider.decide(state, command));
  }

  private record<E extends Fact>(decided: readonly E[] | Refusal): readonly E[] | Refusal {
    if (this.isWorking && this.decisionsLeft !== undefined) {
      if (this.decisionsLeft === 0) throw new Crashed();
      this.decisionsLeft -= 1;
    }
    if (!isRefusal(decided)) for (const fact of decided) this.say(fact);
    return decided;
  }

  private read(): void {
    for (const service of Object.values(this.services)) {
      if (service.quarantine !== undefined && this.has(service.quarantine)) continue;
      for (const event of this.events.slice(service.read)) this.queue.push(...service.follower.read(event));
      service.read = this.events.length;
    }
  }

  /** Time passes until the nearest moment that a service waits for; false: there is none. */
  private wait(): boolean {
    const [nearest] = Object.values(this.services)
      .flatMap(({ follower }) => (follower.wakeAt === null ? [] : [{ follower, at: follower.wakeAt }]))
      .toSorted((one, other) => (one.at < other.at ? -1 : 1));
    const hindered = this.hindered.splice(0);
    this.queue.push(...hindered);
    if (nearest === undefined) return hindered.length > 0;
    this.nowMs = Math.max(this.nowMs, Date.parse(nearest.at));
    this.queue.push(...nearest.follower.wake());
    return true;
  }

  now(): string {
    return new Date(this.nowMs).toISOString();
  }

  tryLater(asked: QueuedTask): void {
    this.requeued.push(asked);
  }
}

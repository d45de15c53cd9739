import {
  CONTROL_PLANE_POOL,
  isRefusal,
  majorityOf,
  UpgradeStrategy,
  type ClusterName,
  pauseAfter,
  type ClusterPause,
  type ClusterUid,
  type Declared,
  type DeclaredPool,
  type DeclaredSpec,
  type EventData,
  type Fact,
  type Machine,
  type MachinePlan,
  type NodeName,
  type NodeSelection,
  type OnFailure,
  type Refusal,
  type ReplacementOrder,
  type StoredEvent,
  type UpgradeId,
} from '@fairlead/contracts';
import {
  reconcilerDecider,
  reconcilerProcess,
  STATE_FACTS,
  desiredTask,
  type Cause,
  type Command,
  type Decider,
  type Known,
  type Process,
  type Reaction,
  type TaskRef,
} from '@fairlead/event-sourcing';
import { stored } from '@fairlead/event-sourcing/spec';
import { bootstrap } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.decider.js';
import { SOFTWARE, specOf, UID } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.fixtures.js';
import { bootstrapReconciler, type StepData } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.reconciler.js';
import {
  hostsOf,
  isBehindBalancer,
  isControlPlane,
  type Bootstrap,
} from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.state.js';
import { clusters, type ClusterCommand, type ClusterState } from '../../apps/gateway/src/clusters/clusters.decider.js';
import {
  manifests,
  planFor,
  type ManifestCommand,
  type ManifestState,
} from '../../apps/gateway/src/manifest/manifests.decider.js';
import { replacements } from '../../apps/gateway/src/replacements/replacements.decider.js';
import { desiredMetadata } from '../../apps/bootstrap-svc/src/bootstrap/metadata.evolve.js';
import { batchOfRequest, requestOf } from '../../apps/infra-svc/src/machines/additions.js';
import { machines, type MachinesCommand, type TaskData } from '../../apps/infra-svc/src/machines/machines.decider.js';
import { planCluster, planRequest, planSurge } from '../../apps/infra-svc/src/machines/machines.planner.js';
import { machinesReconciler } from '../../apps/infra-svc/src/machines/machines.reconciler.js';
import { missingOf, targetsOf, type Cluster, type Machines } from '../../apps/infra-svc/src/machines/machines.state.js';
import { surgeKey, surgeLacks } from '../../apps/infra-svc/src/machines/surges.js';
import type { EtcdFacts } from '../../apps/upgrade-svc/src/rules/cluster.facts.js';
import { c8MayLeave, removalQuorumOf } from '../../apps/upgrade-svc/src/rules/control-plane.rules.js';

export const FAILURES = [
  'create',
  'delete',
  'unreachable',
  'join',
  'drain',
  'quarantined-bootstrap',
  'quarantined-machines',
] as const;
export type Failure = (typeof FAILURES)[number];

const JOBS_MAX = 2_000;
/** How often nothing is left to do but to wait for the next timer: long enough for every deadline and several further attempts. */
const WAITS_MAX = 8;
const START_MS = Date.parse('2026-01-01T00:00:00.000Z');

/** Who requests. */
export const USER = 'user/sim';
/** What a service sees in the world. */
export const SEEN = 'system/seen';

const ADDRESS = { namespace: 'default', cluster: 'demo' };
const SURGE = { uid: UID, upgradeId: 'u-8f3k2m9q' as UpgradeId, pool: 'worker-1' };
const noZones = (): readonly string[] => [];

interface Job {
  readonly by: 'machines' | 'bootstrap';
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly cause: Cause;
}

interface Timer {
  readonly reader: Reader;
  readonly reaction: Extract<Reaction, { kind: 'timer' }>;
  readonly cause: Cause;
}

/** What follows from an event, as the partitions and the work queue hand it on. */
const causedBy = ({ meta }: StoredEvent, actor: string): Cause => ({
  actor,
  correlationId: meta.correlationId,
  causationId: meta.id,
});

/** A service dies between what it does to the world and what it records. */
class Crashed extends Error {}

const reconciler = bootstrapReconciler();
const kernel = reconcilerDecider(reconciler);
const machinesKernel = reconcilerDecider(machinesReconciler);

/** A process as its service runs it: it may be quarantined, and reads on from there when it is released. */
interface Reader {
  readonly process: Process<unknown>;
  readonly by: Job['by'];
  state: unknown;
  read: number;
}

const machineOf = ({ rootDisk: _disk, zone: _zone, ...plan }: MachinePlan): Machine =>
  ({
    ...plan,
    providerId: `lab://${plan.name}`,
    publicIp: '127.0.0.9',
    privateIp: '10.0.0.9',
    ssh: { host: '127.0.0.9', port: 22, user: 'root', keyRef: 'infra-svc.key', hostKey: null },
    csp: 'lab',
    region: 'lab-1',
    zone: 'lab-1a',
  }) as Machine;

/**
 * A cluster over the deciders, processes and planners of the gateway, infra-svc and bootstrap-svc as they are. Jobs are done one after
 * the other; the provider, hosts, Kubernetes, upgrade-svc and the agents are played. A failure lasts until the world is healed.
 */
export class GrowthWorld {
  readonly events: StoredEvent[] = [];
  readonly provider = new Set<string>();
  readonly kubernetes = new Set<string>();
  readonly etcd = new Set<string>();
  /** Nodes whose hosts are down: their agents are silent, and their members of etcd do not answer. */
  readonly down = new Set<string>();
  /** How many decisions a job may still record before its service crashes. */
  private decisionsLeft: number | undefined;
  private isWorking = false;
  crashes = 0;
  private readonly failures = new Set<Failure>();
  /** Control planes that etcd needed when their turn to leave came, with that attempt. */
  private readonly blocked = new Map<NodeName, number>();
  private manifest: ManifestState = manifests.initial;
  private infra: Machines = machines.initial;
  private boot: Bootstrap = bootstrap.initial;
  private pause: ClusterPause | null = null;
  private readonly readers: readonly Reader[] = [
    { process: reconcilerProcess(machinesReconciler) as Process<unknown>, by: 'machines', state: undefined, read: 0 },
    { process: reconcilerProcess(reconciler) as Process<unknown>, by: 'bootstrap', state: undefined, read: 0 },
  ];
  private readonly timers = new Map<string, Timer>();
  /** Of what is recorded now. */
  private cause: Cause | undefined;
  /** With which code the latest command was refused. */
  refused: string | undefined;
  /** What was done to the provider, the hosts and Kubernetes, with the number of events that were recorded before. */
  readonly effects: { readonly what: string; readonly after: number }[] = [];
  private queue: Job[] = [];
  /** Tasks that are tried again and again, until the provider is well. */
  private requeued: Job[] = [];
  /** Is called with every event, once all services know it. */
  noticed: (event: StoredEvent) => void = () => undefined;
  private nowMs = START_MS;

  /** Another world that has come as far as this one, and goes on by itself. `noticed` is not copied. */
  copy(): GrowthWorld {
    const copy = new GrowthWorld();
    copy.events.push(...this.events);
    copy.effects.push(...this.effects);
    copy.queue = [...this.queue];
    copy.requeued = [...this.requeued];
    const sets = ['provider', 'kubernetes', 'etcd', 'down', 'failures'] as const;
    for (const name of sets) for (const one of this[name]) (copy[name] as Set<string>).add(one);
    for (const [node, attempt] of this.blocked) copy.blocked.set(node, attempt);
    // States are values: what evolves one makes another.
    const { manifest, infra, boot, pause, refused, nowMs } = this;
    Object.assign(copy, { manifest, infra, boot, pause, refused, nowMs });
    const readers = new Map(this.readers.map((reader, at) => [reader, copy.readers[at]!]));
    for (const [{ state, read }, mine] of readers) Object.assign(mine, { state, read });
    for (const [key, timer] of this.timers) copy.timers.set(key, { ...timer, reader: readers.get(timer.reader)! });
    return copy;
  }

  fail(failure: Failure): void {
    this.failures.add(failure);
  }

  /** The world is well again; a process that is quarantined is released by a command. */
  heal(): void {
    for (const failure of ['create', 'delete', 'unreachable', 'join', 'drain'] as const) this.failures.delete(failure);
    this.queue.push(...this.requeued.splice(0));
  }

  /** The host of a node is down, until it is up again or its node leaves. */
  lose(node: string): void {
    this.down.add(node);
    const data = { uid: UID, node: node as NodeName, lastSeenAt: null, limitMs: 60_000 };
    this.say({ type: 'NodeLost', data });
  }

  recover(node: string): void {
    this.down.delete(node);
    this.say({ type: 'NodeRecovered', data: { uid: UID, node: node as NodeName, lostForMs: 60_000 } });
  }

  /** The service of the next job crashes once that has recorded so many decisions; the job is delivered again. */
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

  /** Commands of the REST API and the CLI. A refusal is an answer, too. */
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

  /** Asks for nodes to be replaced by rollouts of their pools; a refusal is an answer, too. */
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

  /** The first pool as declared, and its machines as they are: whether their nodes serve, and whether they leave. */
  pool() {
    const declared = this.manifest.declared?.spec.pools[0];
    return { declared, machines: this.machinesIn(declared?.name) };
  }

  /** The same of the control planes. */
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

  /** What is declared of the cluster's pools. */
  get declared(): Declared {
    if (this.manifest.declared === undefined) throw new Error('there is no cluster');
    return this.manifest.declared;
  }

  /** Applies the manifest with another first pool; a refusal is an answer, too. */
  declare(change: Partial<DeclaredPool>): boolean {
    const { declared } = this.manifest;
    if (declared === undefined) return false;
    const [first, ...others] = declared.spec.pools;
    return this.applySpec({ ...declared.spec, pools: [{ ...first!, ...change }, ...others] });
  }

  /** Applies the manifest with other control planes; a refusal is an answer, too. */
  declareControlPlane(change: Partial<DeclaredSpec['controlPlane']>): boolean {
    const { spec } = this.declared;
    return this.applySpec({ ...spec, controlPlane: { ...spec.controlPlane, ...change } });
  }

  /** The agent of a node says that it is Ready, or not. */
  setReady(node: string, ready: boolean): void {
    this.agentSays(ready ? 'NodeReady' : 'NodeNotReady', node as NodeName);
  }

  /** Applies a manifest with these pools, made like the cluster's first one. A refusal is an answer, too. */
  apply(pools: readonly (Pick<DeclaredPool, 'name' | 'replicas'> & Partial<DeclaredPool>)[]): boolean {
    const { controlPlane, ...others } = this.declared.spec;
    const { connection, machineType, rootDisk } = controlPlane;
    const like = { connection, machineType, rootDisk };
    return this.applySpec({ ...others, controlPlane, pools: pools.map((pool) => ({ ...like, ...pool })) });
  }

  applySpec(spec: DeclaredSpec): boolean {
    const command: ManifestCommand = {
      type: 'ApplyManifest',
      data: {
        ...ADDRESS,
        cluster: ADDRESS.cluster as ClusterName,
        spec,
        plan: planFor(this.manifest, spec),
        seenSeq: this.declared.seq,
        dryRun: false,
        uid: UID,
        requestId: `m${this.events.length}`,
        requestHash: 'h',
        actor: USER,
        connectionFaults: [],
        upgrade: {
          upgradeId: 'u-000001' as UpgradeId,
          target: { kubernetes: spec.version, renewCertificates: false, reboot: false },
          pools: null,
          controlPlane: true,
          strategy: UpgradeStrategy.parse({}),
          overrides: [],
          requestHash: 'h',
        },
      },
    };
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

  /** Nothing happens for so long. */
  sleep(ms: number): void {
    this.nowMs += ms;
  }

  members(): readonly string[] {
    return this.gateway.status === 'absent' ? [] : [...this.gateway.members.keys()];
  }

  /** Does everything that follows, or so many jobs of it; then waits for timers, too. */
  run(jobsMax = JOBS_MAX): void {
    const isWhole = jobsMax === JOBS_MAX;
    for (let jobs = 0, waits = 0; jobs < jobsMax; jobs += 1) {
      this.read();
      const job = this.queue.shift();
      if (job !== undefined) {
        this.work(job);
        continue;
      }
      if (!isWhole || waits >= WAITS_MAX || !this.wait()) return;
      waits += 1;
    }
    if (isWhole) throw new Error('it never ends');
  }

  /** How many tasks and timers there are. */
  get pending(): number {
    this.read();
    return this.queue.length + this.timers.size;
  }

  private work(job: Job): void {
    this.isWorking = true;
    try {
      this.because(job.cause, () => (job.by === 'machines' ? this.infraJob(job) : this.bootstrapJob(job)));
    } catch (error) {
      if (!(error instanceof Crashed)) throw error;
      this.decisionsLeft = undefined;
      this.crashes += 1;
      this.queue.unshift(job);
    } finally {
      this.isWorking = false;
    }
  }

  /** Why this is no place to stay; undefined: the cluster is Provisioned and whole, or nothing of it is left. */
  trouble(): string | undefined {
    if (this.gateway.status === 'absent') return this.provider.size === 0 ? undefined : 'machines are left';
    const { phase, additions, stuck, members } = this.gateway;
    if (phase !== 'Provisioned') return `it is ${phase}`;
    if (additions.size > 0) return 'a request for nodes is not done';
    if (stuck.size > 0) return `stuck: ${[...stuck].join(', ')}`;
    if (this.boot.status !== 'ready') return `bootstrap is ${this.boot.status}`;
    if (this.infra.status !== 'desired') return `machines are ${this.infra.status}`;
    const names = [...members.keys()].sort().join();
    if ([...this.provider].sort().join() !== names) return `machines: ${[...this.provider].join()} of ${names}`;
    if ([...this.kubernetes].sort().join() !== names) return `nodes: ${[...this.kubernetes].join()} of ${names}`;
    const removing = [...members].filter(([, { removing: leaves }]) => leaves).map(([name]) => name);
    if (removing.length > 0) return `on their way out: ${removing.join()}`;
    const controlPlanes = [...members].filter(([, { role }]) => role === 'control-plane').map(([name]) => name);
    return [...this.etcd].sort().join() === controlPlanes.sort().join()
      ? undefined
      : 'members of etcd that are no nodes';
  }

  /** What there is at the end, however it came about. */
  outcome(): object {
    const sorted = (names: Iterable<string>): readonly string[] => [...names].toSorted();
    const members = this.gateway.status === 'absent' ? [] : this.gateway.members;
    return {
      status: this.gateway.status,
      members: [...members],
      provider: sorted(this.provider),
      kubernetes: sorted(this.kubernetes),
      etcd: sorted(this.etcd),
    };
  }

  /** Every task whose message is in the queue is delivered once more, as after a crash. */
  redeliver(): void {
    this.queue = [...this.queue, ...this.queue];
  }

  private get gateway(): ClusterState {
    return this.manifest.cluster;
  }

  private has(failure: Failure): boolean {
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

  /** Of a request, or of what a service sees in the world: nothing in the log led to it. */
  private firstCause(actor: string): Cause {
    const id = `${actor}-${this.events.length + 1}`;
    return { actor, correlationId: id, causationId: id };
  }

  private say(fact: Fact): void {
    const seq = this.events.length + 1;
    const cause = this.cause ?? this.firstCause(SEEN);
    const event = stored(fact, seq, { time: new Date((this.nowMs += 1_000)).toISOString(), ...cause });
    this.events.push(event);
    this.manifest = manifests.evolve(this.manifest, event);
    this.infra = machines.evolve(this.infra, event);
    this.boot = bootstrap.evolve(this.boot, event);
    this.pause = pauseAfter(this.pause, event);
    this.noticed(event);
    this.because(causedBy(event, 'system/upgrade-svc'), () => this.play(event));
  }

  private isServing(node: NodeName): boolean {
    if (this.boot.status === 'absent') return false;
    const host = this.boot.cluster.hosts[node];
    return host !== undefined && isControlPlane(host) && isBehindBalancer(this.boot.cluster, host);
  }

  /** upgrade-svc, which asks etcd as it is. */
  private etcdFacts(): EtcdFacts {
    const members = [...this.etcd].map((name) => ({
      name,
      started: true,
      healthy: !this.down.has(name),
      learner: false,
    }));
    return { members } as unknown as EtcdFacts;
  }

  private lookAtEtcd({ uid, node, attempt }: EventData<'ControlPlaneRemovalStarted'>): void {
    const facts = this.etcdFacts();
    const about = { uid, node, attempt, quorum: removalQuorumOf(facts, node) };
    if (c8MayLeave(facts, node))
      return this.say({ type: 'ControlPlaneRemovalPrepared', data: { ...about, snapshot: 's', leader: null } });
    const cause = { operation: 'remove a control plane', target: node, message: 'etcd would have no quorum' };
    return this.say({ type: 'ControlPlaneRemovalBlocked', data: { ...about, cause } });
  }

  /** upgrade-svc looks again at control planes that etcd needed, and says so when it does no more. */
  private watchEtcd(event: StoredEvent): void {
    if (event.type === 'ControlPlaneRemovalBlocked') this.blocked.set(event.data.node, event.data.attempt);
    if (event.type === 'ControlPlaneRemovalStarted') this.blocked.delete(event.data.node);
    if (event.type === 'VmDeleted') this.blocked.delete(event.data.name);
    if (event.type === 'ClusterDeletionRequested') this.blocked.clear();
    for (const [node, attempt] of this.blocked) {
      if (!c8MayLeave(this.etcdFacts(), node)) continue;
      this.blocked.delete(node);
      this.say({ type: 'ControlPlaneRemovalUnblocked', data: { uid: UID, node, attempt } });
    }
  }

  /** upgrade-svc and the agents. */
  private play(event: StoredEvent): void {
    this.watchEtcd(event);
    if (event.type === 'ControlPlaneRemovalStarted') this.lookAtEtcd(event.data);
    if (event.type === 'VmsCreated') {
      for (const { name: node } of event.data.machines)
        this.say({
          type: 'DesiredVersionsSet',
          data: { uid: UID, node, revision: 1, software: SOFTWARE, changesAllowed: true },
        });
    }
    if (event.type === 'AgentStarted') this.agentSays('NodeInitialized', event.data.node);
    if (
      event.type === 'ControlPlaneInitialized' ||
      event.type === 'ControlPlaneJoined' ||
      event.type === 'WorkerJoined'
    ) {
      const { node } = event.data;
      this.kubernetes.add(node);
      if (event.type !== 'WorkerJoined') this.etcd.add(node);
      this.agentSays('NodeReady', node);
    }
    if (event.type === 'BootstrapStepFailed' && event.data.step === 'PlaceSnapshot')
      this.say({
        type: 'EtcdRestoreFailed',
        data: { uid: UID, requestId: 'e1', snapshot: 's', cause: event.data.cause },
      } as unknown as Fact);
    if (event.type === 'ClusterDeleted') {
      this.kubernetes.clear();
      this.etcd.clear();
      this.down.clear();
    }
  }

  private agentSays(type: 'NodeInitialized' | 'NodeReady' | 'NodeNotReady', node: NodeName): void {
    const data = {
      uid: UID,
      node,
      revision: 1,
      software: SOFTWARE,
      os: 'Debian 12',
      kernel: '6.1',
      bootId: 'b',
      changed: [],
      ...(type === 'NodeNotReady' ? { reason: 'KubernetesNotReady', message: 'no' } : {}),
    };
    this.say({ type, data } as unknown as Fact);
  }

  private ask(command: ClusterCommand): void {
    const decided = this.because(this.firstCause(USER), () => this.decide(clusters, this.gateway, command));
    this.refused = isRefusal(decided) ? decided.code : undefined;
  }

  private decide<State, C extends Command, E extends Fact>(
    decider: Decider<State, C, E>,
    state: State,
    command: C,
  ): readonly E[] | Refusal {
    if (this.isWorking && this.decisionsLeft !== undefined) {
      if (this.decisionsLeft === 0) throw new Crashed();
      this.decisionsLeft -= 1;
    }
    const decided = decider.decide(state, command);
    if (!isRefusal(decided)) for (const fact of decided) this.say(fact);
    return decided;
  }

  private read(): void {
    for (const reader of this.readers) {
      if (this.has(reader.by === 'machines' ? 'quarantined-machines' : 'quarantined-bootstrap')) continue;
      while (reader.read < this.events.length) {
        const event = this.events[reader.read]!;
        reader.read += 1;
        reader.state = reader.process.evolve(reader.state ?? reader.process.initial, event);
        const reactions = reader.process.react(reader.state ?? reader.process.initial, event);
        const cause = causedBy(event, `system/${reader.by}`);
        for (const reaction of reactions) this.follow(reader, reaction, cause);
      }
    }
  }

  private follow(reader: Reader, reaction: Reaction, cause: Cause): void {
    const key = reaction.kind === 'job' ? '' : `${reader.by}/${reaction.key}`;
    if (reaction.kind === 'job') this.queue.push({ by: reader.by, type: reaction.type, data: reaction.data, cause });
    else if (reaction.kind === 'timer') this.timers.set(key, { reader, reaction, cause });
    else this.timers.delete(key);
  }

  /** Time passes until the nearest timer is due; false: there is none. */
  private wait(): boolean {
    const [nearest] = [...this.timers].toSorted(([, one], [, other]) =>
      one.reaction.dueAt < other.reaction.dueAt ? -1 : 1,
    );
    if (nearest === undefined) return false;
    const [key, { reader, reaction, cause }] = nearest;
    this.timers.delete(key);
    this.nowMs = Math.max(this.nowMs, Date.parse(reaction.dueAt));
    const due = reader.process.due?.(reader.state ?? reader.process.initial, reaction) ?? [];
    for (const next of due) this.follow(reader, next, cause);
    return true;
  }

  private known<State>(state: State): Known<State> {
    return this.pause === null ? { state } : { state, isPaused: true };
  }

  private machinesDecide(command: MachinesCommand): void {
    this.decide(machines, this.infra, command);
  }

  private infraJob(job: Job): void {
    const { type, data } = job;
    const ref = data as unknown as TaskRef;
    const now = new Date(this.nowMs).toISOString();
    if (type === STATE_FACTS) {
      this.decide(machinesKernel, this.known(this.infra), { type: STATE_FACTS, data: { now } });
      return;
    }
    const task = desiredTask(machinesReconciler, this.known(this.infra), ref, now);
    if (task === undefined || this.infra.status === 'absent') return;
    this.effects.push({ what: ref.key, after: this.events.length });
    if (type === 'MakeMachinesAgain') return this.makeAgain(job, this.infra.cluster, task.data as TaskData);
    const operation = this.machinesTaskDone(type, this.infra.cluster, task.data as TaskData);
    if (operation === undefined) return;
    const cause = { operation, target: 'lab', message: 'no' };
    const failure = { cause, attempt: 6, attemptsMax: 6, nextAttemptAt: null, now };
    this.decide(machinesKernel, this.known(this.infra), { type: 'RecordFailure', data: { ref, failure } });
  }

  /** The operation of the provider that failed; undefined: none. */
  private machinesTaskDone(type: string, cluster: Cluster, data: TaskData): string | undefined {
    const { uid } = cluster;
    switch (type) {
      case 'ValidateCluster':
        this.machinesDecide({ type: 'Accept', data: { uid } });
        return undefined;
      case 'PlanMachines':
        this.plan(uid, planCluster(uid, cluster.spec, noZones), undefined);
        return undefined;
      case 'PlanNodes': {
        const request = requestOf(cluster.additions, data.requestId!)!;
        this.plan(uid, planRequest(cluster, request, { zonesOf: noZones }), request.requestId);
        return undefined;
      }
      case 'PlanSurge': {
        const count = surgeLacks(cluster.planned, cluster.surges, SURGE);
        const machines = planSurge(cluster, { ...SURGE, count }, noZones);
        this.machinesDecide({ type: 'PlanSurge', data: { ...SURGE, machines } });
        return undefined;
      }
      case 'EnsureMachines':
        return this.makeBatch(cluster, data.surge === undefined ? batchOfRequest(data.requestId) : surgeKey(SURGE));
      case 'EnsureLoadBalancer': {
        const balancer = { uid, kind: 'haproxy', host: '198.18.7.1', port: 6443 } as const;
        this.machinesDecide({ type: 'RecordLoadBalancer', data: balancer });
        return undefined;
      }
      case 'UpdateLoadBalancer': {
        const targets = targetsOf(cluster).map(({ name }) => name);
        this.machinesDecide({ type: 'RecordTargets', data: { uid, targets } });
        return undefined;
      }
      case 'DeleteMachine':
        return this.deleteMachine(uid, data.node!);
      case 'DeleteCluster':
        return this.deleteCluster(cluster);
      default:
        throw new Error(`no such task: ${type}`);
    }
  }

  private plan(uid: ClusterUid, machines: readonly MachinePlan[], requestId: string | undefined): void {
    this.machinesDecide({ type: 'Plan', data: { uid, machines, requestId } });
  }

  private makeBatch(cluster: Cluster, batch: string | null): string | undefined {
    const missing = missingOf(cluster, batch);
    // The first is made, so that there is something to roll back.
    missing.forEach((plan, at) => {
      if (this.has('create') && at > 0) return;
      this.provider.add(plan.name);
      if (!(this.has('create') && missing.length === 1))
        this.machinesDecide({ type: 'RecordMachine', data: { uid: UID, machine: machineOf(plan) } });
    });
    return this.has('create') ? 'create machines' : undefined;
  }

  private makeAgain(job: Job, cluster: Cluster, { requestId = '' }: TaskData): void {
    const operation = this.makeBatch(cluster, batchOfRequest(requestId));
    if (operation === undefined) return;
    const cause = { operation, target: 'lab', message: 'no' };
    this.machinesDecide({ type: 'FailNodes', data: { uid: cluster.uid, requestId, cause } });
    this.requeued.push(job);
  }

  private deleteMachine(uid: ClusterUid, name: NodeName): string | undefined {
    if (this.has('delete')) return 'delete machine';
    this.provider.delete(name);
    this.machinesDecide({ type: 'RecordRemoval', data: { uid, name } });
    return undefined;
  }

  private deleteCluster({ uid, planned }: Cluster): string | undefined {
    if (this.has('delete') && planned.length > 0) return 'delete machines';
    this.provider.clear();
    this.machinesDecide({ type: 'RecordDeletion', data: { uid, gone: [], nothingLeft: true } });
    return undefined;
  }

  private bootstrapJob({ type, data }: Job): void {
    const ref = data as unknown as TaskRef;
    const now = new Date(this.nowMs).toISOString();
    if (type === STATE_FACTS) {
      this.decide(kernel, this.known(this.boot), { type: STATE_FACTS, data: { now } });
      return;
    }
    if (ref.finalizer !== undefined || this.boot.status === 'absent') return;
    const { uid } = this.boot.cluster;
    const task = desiredTask(reconciler, this.known(this.boot), ref, now);
    if (task === undefined) return;
    const { node } = task.data as StepData;
    this.effects.push({ what: ref.key, after: this.events.length });
    // Of a host that is down; it is retried until it is up, and nothing is recorded.
    if (type === 'RenewCredential') return;
    if (this.failsAt(type, node)) {
      const cause = { operation: type, target: node ?? 'demo', message: 'no' };
      const failure = { cause, attempt: 3, attemptsMax: 3, nextAttemptAt: null, now };
      this.decide(kernel, this.known(this.boot), { type: 'RecordFailure', data: { ref, failure } });
      return;
    }
    this.stepDone(type, uid, node as NodeName);
  }

  /** Control planes of a cluster that runs go on; what is hit is a worker, or what a restore needs. */
  private failsAt(step: string, node: NodeName | undefined): boolean {
    if (step === 'RemoveNode' && node !== undefined)
      return (this.has('drain') && this.kubernetes.has(node)) || (!this.isServing(node) && this.costsQuorum(node));
    if (step === 'PlaceSnapshot') return this.has('unreachable');
    if (step === 'JoinWorker') return this.has('join') || this.has('unreachable');
    if (step === 'JoinControlPlane' || step === 'AddEtcdMember') return this.has('join');
    return this.has('unreachable') && (step === 'BootstrapHost' || step === 'VerifyNode');
  }

  /** The step on the host that removes a member asks etcd itself: hosts may have failed since upgrade-svc did. */
  private costsQuorum(node: NodeName): boolean {
    const others = [...this.etcd].filter((name) => name !== node);
    const healthy = others.filter((name) => !this.down.has(name)).length;
    return this.etcd.has(node) && healthy < majorityOf(others.length);
  }

  private record(fact: Fact): void {
    this.decide(bootstrap, this.boot, fact as never);
  }

  private setUpEtcd(uid: ClusterUid): void {
    if (this.boot.status === 'absent') return;
    const nodes = hostsOf(this.boot.cluster).filter(isControlPlane);
    const members = nodes.map(({ machine }) => ({ node: machine.name, address: machine.privateIp }));
    for (const { node } of members) this.etcd.add(node);
    this.record({ type: 'EtcdReady', data: { uid, version: '3.6.5', members, caRef: 'c' as never } });
  }

  private stepDone(step: string, uid: ClusterUid, node: NodeName): void {
    switch (step) {
      case 'BootstrapHost':
        this.record({ type: 'HostReached', data: { uid, node, hostKey: 'k', attempts: 1 } });
        return this.record({ type: 'AgentStarted', data: { uid, node, agentVersion: '0.1.0', sha256: 'ab' } });
      case 'VerifyNode':
        return this.record({ type: 'NodeBootstrapped', data: { uid, node } });
      case 'InitControlPlane':
        return this.record({
          type: 'ControlPlaneInitialized',
          data: { uid, node, endpoint: 'https://198.18.7.1:6443', kubeconfigRef: 'k' as never, caCertHash: 'c' },
        });
      case 'InstallNetwork':
        return this.record({ type: 'NetworkReady', data: { uid, cni: 'flannel', version: '1' } });
      case 'SetupExternalEtcd':
        return this.setUpEtcd(uid);
      case 'AddEtcdMember':
        this.etcd.add(node);
        return this.record({
          type: 'EtcdMemberAdded',
          data: { uid, node, address: '10.0.0.9', members: this.etcd.size },
        });
      case 'JoinControlPlane':
        return this.record({ type: 'ControlPlaneJoined', data: { uid, node } });
      case 'JoinWorker':
        return this.record({ type: 'WorkerJoined', data: { uid, node } });
      case 'SetNodeLabels': {
        if (this.boot.status === 'absent') return undefined;
        const { cluster } = this.boot;
        const host = cluster.hosts[node];
        if (host === undefined) return undefined;
        return this.record({ type: 'NodeLabelsSet', data: { uid, node, ...desiredMetadata(cluster, host) } });
      }
      case 'VerifyControlPlane':
        return this.record({ type: 'ControlPlaneReady', data: { uid, nodes: [...this.etcd] as NodeName[] } });
      case 'InstallAddons':
        this.decide(bootstrap, this.boot, { type: 'FinishCluster', data: { uid, addons: {} } });
        return;
      case 'InstallStorage':
        return this.record({ type: 'AddonInstalled', data: { uid, addon: 'nfs-storage', version: 'v1' } });
      case 'RemoveNode':
        this.record({ type: 'NodeDrained', data: { uid, node, evictedPods: 0, dead: !this.kubernetes.has(node) } });
        if (this.isServing(node)) return undefined;
        this.kubernetes.delete(node);
        this.etcd.delete(node);
        this.down.delete(node);
        return this.record({ type: 'NodeRemoved', data: { uid, node } });
      case 'DismantleCluster':
        return this.record({ type: 'ClusterDismantled', data: { uid } });
      case 'PlaceSnapshot':
        return this.record({
          type: 'EtcdSnapshotPlaced',
          data: { uid, node, requestId: 'e1', snapshot: 's', sha256: 'x' },
        });
      case 'RemoveSnapshot':
        return this.record({ type: 'EtcdSnapshotRemoved', data: { uid, node, requestId: 'e1' } });
      default:
        throw new Error(`no such step: ${step}`);
    }
  }
}

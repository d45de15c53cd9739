import {
  isRefusal,
  WorldFailure,
  type Fact,
  type LogLines,
  type NodeName,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { stepBegunIn } from '@fairlead/domain';
import {
  advance,
  reconcilerProcess,
  STATE_FACTS,
  type Reconciled,
  type TimerReaction,
  type Process,
  type Reaction,
} from '@fairlead/event-sourcing';
import {
  FoldCache,
  makeHandle,
  processConsumer,
  TaskRunner,
  type Handle,
  type Job,
  type JobContext,
  type RequeueAfter,
  type TaskHandler,
} from '@fairlead/event-sourcing/jetstream';
import { MemoryLeases } from '@fairlead/event-sourcing/memory.leases';
import { MemoryStore } from '@fairlead/event-sourcing/memory.store';
import { DEFAULT_TUNING } from '@fairlead/node-scripts';
import { seededRandom } from '@fairlead/testing';
import { AddonsEffects } from '../src/addons/addons.effects.js';
import { SOFTWARE, UID } from '../src/bootstrap/bootstrap.fixtures.js';
import { bootstrapReconciler } from '../src/bootstrap/bootstrap.reconciler.js';
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
import { FakeKubernetes, FakeShell, FakeWorld, MemorySecrets, type Passage } from './world.js';

const STEPS_MAX = 20_000;
const ATTEMPTS: Readonly<Record<string, number>> = { DismantleCluster: 50, DestroySecrets: 50 };
const ATTEMPTS_DEFAULT = 3;
const RUNNING_MAX = 6;
const HOOK_AGAIN_AFTER_MS = 1_000;
/** By a simulated reader of a log. */
const LINES_READ = 3;
const HOLDER = 'replica';
/** The cache allocates all of its entries at once, and a simulation starts many replicas. */
const FOLDS_MAX = 20;

/** How often things go wrong, of one. */
export interface Troubles {
  readonly lostRequest: number;
  readonly lostAnswer: number;
  readonly crash: number;
  readonly twin: number;
}

export const ROUGH: Troubles = { lostRequest: 0.02, lostAnswer: 0.02, crash: 0.01, twin: 0.15 };
export const CALM: Troubles = { lostRequest: 0, lostAnswer: 0, crash: 0, twin: 0 };

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

/** A process with its memory of the one cluster of the simulation. */
interface Follower {
  readonly name: string;
  readonly consumer: string;
  readonly state: unknown;
  take(event: StoredEvent): readonly Reaction[];
  woken(now: string): readonly Reaction[];
}

const follower = <State>(process: Process<State>): Follower => {
  let state: State | undefined;
  return {
    name: process.name,
    consumer: processConsumer(process),
    get state() {
      return state;
    },
    take: (event) => {
      const changes = advance(process, () => state, [event]);
      const poison = changes.poisons[0];
      if (poison !== undefined) throw new Error(poison.error);
      const changed = changes.states.get('default/demo');
      if (changed !== undefined) state = changed.state;
      return changes.reactions.map(({ reaction }) => reaction);
    },
    woken: (now) => {
      if (state === undefined) return [];
      state = process.woken(state, { now, eventId: 'wake', correlationId: 'wake' });
      return (state as unknown as Reconciled<unknown>).reactions;
    },
  };
};

type Deliver = (job: Job, context: JobContext) => Promise<RequeueAfter | void>;

export interface Replica {
  readonly deliver: Deliver;
  readonly tasks: TaskRunner;
  dead: boolean;
}

interface Queued {
  readonly job: Job;
  readonly failures: number;
}

interface Waiting {
  readonly replica: Replica;
  readonly go: () => void;
}

/**
 * bootstrap-svc over one log and one world, in an order that a seed decides: its own code from process to effects, with
 * jobs delivered late, twice and in any order, calls lost on the way there and on the way back, and a process that dies at
 * any call and is started again. infra-svc, upgrade-svc and the agents are played.
 */
export class Simulation {
  readonly store: MemoryStore;
  readonly world: FakeWorld;
  readonly secrets = new MemorySecrets();
  readonly leases = new MemoryLeases();
  readonly trace: string[] = [];
  /** What was sent to those who follow logs, by request. */
  readonly followed = new Map<string, LogLines[]>();
  troubles: Troubles;
  private readonly random: () => number;
  private readonly reconcilers = [bootstrapReconciler(), kubeconfigsReconciler, executionsReconciler];
  private readonly followers = this.reconcilers.map((reconciler) => follower(reconcilerProcess<unknown>(reconciler)));
  private position = 0;
  private readonly timers = new Map<string, { readonly of: Follower; readonly timer: TimerReaction }>();
  private queue: Queued[] = [];
  private running: { readonly queued: Queued; readonly replica: Replica }[] = [];
  private waiting: Waiting[] = [];
  private replica: Replica;
  private broken: Error | undefined;

  constructor(seed: number, troubles: Troubles = ROUGH, store = new MemoryStore()) {
    this.random = seededRandom(seed);
    this.troubles = troubles;
    this.store = store;
    this.world = new FakeWorld(this.store.events);
    this.replica = this.startReplica();
  }

  /** Readers that ask for three answers, for some of them twice, and go. They outlive the replicas that serve them. */
  private readonly logReaders: LogReaders = {
    of: (requestId) => {
      const sent = this.followed.get(requestId) ?? [];
      this.followed.set(requestId, sent);
      return {
        next: async (_withinMs, signal) => {
          signal.throwIfAborted();
          const number = sent.length + 1;
          if (number > LINES_READ) return { type: 'end' };
          const isRepeated = number > 1 && this.chance(this.troubles.twin);
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

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  get types(): readonly string[] {
    return this.store.events.map(({ type }) => type);
  }

  count(type: StoredEvent['type'], node?: string): number {
    return this.store.events.filter(
      (event) => event.type === type && (node === undefined || ('node' in event.data && event.data.node === node)),
    ).length;
  }

  /** Someone else states a fact. */
  async say(context: string, ...facts: readonly Fact[]): Promise<void> {
    const stream: StreamId = { namespace: 'default', cluster: 'demo', context };
    for (const fact of facts) {
      const own = this.store.events.filter(({ meta }) => meta.context === context);
      const seq = own.at(-1)?.meta.seq ?? 0;
      const expected = { seq, streamVersion: own.length, hash: `hash-${seq}` };
      await this.store.append(stream, expected, [fact], { actor: 'user/sim', correlationId: 'c', causationId: 'c' });
    }
  }

  /** Up to so many steps, or until nothing is left to do. */
  async run(stepsMax = STEPS_MAX): Promise<void> {
    for (let step = 0; step < stepsMax; step += 1) {
      if (this.broken !== undefined) throw this.broken;
      if (!(await this.step())) return;
    }
    if (stepsMax === STEPS_MAX) throw new Error('it never ends');
  }

  /** Moves the clock past every timer that is set. */
  fireTimers(): void {
    for (let due = [...this.timers].at(0); due !== undefined; due = [...this.timers].at(0)) {
      const [key, { of, timer }] = due;
      this.timers.delete(key);
      of.woken(timer.dueAt).forEach((reaction, index) =>
        this.take(of, reaction, `${timer.key}-${timer.dueAt}-${index}`),
      );
    }
  }

  private async step(): Promise<boolean> {
    const choices: (() => void | Promise<void>)[] = [];
    const actors = this.actors();
    if (actors.length > 0) choices.push(() => actors[this.below(actors.length)]?.());
    if (this.position < this.store.events.length) choices.push(() => this.consumer());
    if (this.queue.length > 0 && this.running.length < RUNNING_MAX) choices.push(() => this.start());
    if (this.waiting.length > 0) choices.push(() => this.letOneGo());
    if (choices.length === 0) {
      await settle();
      return this.waiting.length > 0 || this.queue.length > 0 || this.running.length > 0;
    }
    await choices[this.below(choices.length)]?.();
    if (this.running.length > 0 && this.chance(this.troubles.crash)) this.crash();
    await settle();
    return true;
  }

  /** What upgrade-svc and the agents would do now. */
  private actors(): (() => Promise<void>)[] {
    const machines = this.store.events.flatMap((event) => (event.type === 'VmsCreated' ? event.data.machines : []));
    return [
      ...machines.flatMap(({ name }) => this.actsOf(name)),
      ...this.etcdLooks(),
      ...this.etcdSaves(),
      ...this.balancing(),
    ];
  }

  /** upgrade-svc: a control plane whose turn to leave it is may go if that leaves a voter. */
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

  /** upgrade-svc: etcd is saved before a control plane changes. */
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

  /** infra-svc: drained control planes are no targets any more. */
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

  private consumer(): void {
    const event = this.store.events[this.position];
    if (event === undefined) return;
    this.position += 1;
    for (const of of this.followers) {
      of.take(event).forEach((reaction, index) => this.take(of, reaction, `${of.name}-${event.meta.id}-${index}`));
      this.replica.tasks.noticed(of.consumer, 'default/demo', of.state);
    }
  }

  private take(of: Follower, reaction: Reaction, id: string): void {
    switch (reaction.kind) {
      case 'job': {
        const cause = { actor: 'system/bootstrap-svc', correlationId: 'c', causationId: 'c' };
        const job: Job = { id, type: reaction.type, namespace: 'default', cluster: 'demo', cause, data: reaction.data };
        this.queue.push({ job, failures: 0 });
        if (this.chance(this.troubles.twin)) this.queue.push({ job, failures: 0 });
        return;
      }
      case 'timer':
        this.timers.set(`${of.name}/${reaction.key}`, { of, timer: reaction });
        return;
      case 'cancel-timer':
        this.timers.delete(`${of.name}/${reaction.key}`);
        return;
    }
  }

  private start(): void {
    const [queued] = this.queue.splice(this.below(this.queue.length), 1);
    if (queued === undefined) return;
    const { replica } = this;
    const entry = { queued, replica };
    this.running.push(entry);
    this.trace.push(`start ${String(queued.job.data['key'])} #${queued.failures + 1}`);
    this.work(queued, replica)
      .catch((error: unknown) => {
        this.broken = error instanceof Error ? error : new Error(String(error));
      })
      .finally(() => {
        this.running = this.running.filter((other) => other !== entry);
      });
  }

  private async work(queued: Queued, replica: Replica): Promise<void> {
    const { job, failures } = queued;
    const context: JobContext = {
      attempt: failures + 1,
      signal: new AbortController().signal,
    };
    try {
      const result = await replica.deliver(job, context);
      if (result !== undefined) this.queue.push(queued);
    } catch (error) {
      if (!(error instanceof WorldFailure)) throw error;
      const attemptsMax = ATTEMPTS[job.type] ?? ATTEMPTS_DEFAULT;
      const last = failures + 1 >= attemptsMax || !error.retryable;
      const nextAttemptAt = last ? null : '2026-01-01T00:10:00.000Z';
      this.trace.push(`failed ${job.type}: ${error.message}`);
      await replica.tasks.recordFailure(job, {
        cause: error.toCause(),
        attempt: failures + 1,
        attemptsMax,
        nextAttemptAt,
      });
      if (!last) this.queue.push({ job, failures: failures + 1 });
    }
  }

  /** kill -9: what ran is cut off in the middle, and delivered again. What it held ends after a while. */
  private crash(): void {
    this.trace.push('crash');
    this.replica.dead = true;
    this.waiting = this.waiting.filter(({ replica }) => !replica.dead);
    this.queue.push(...this.running.filter(({ replica }) => replica.dead).map(({ queued }) => queued));
    this.running = [];
    this.leases.expire(HOLDER);
    this.replica = this.startReplica();
  }

  private letOneGo(): void {
    const [waiting] = this.waiting.splice(this.below(this.waiting.length), 1);
    waiting?.go();
  }

  /** A dead process gets no turn any more. */
  protected turn(replica: Replica): Promise<void> {
    return new Promise((go) => {
      if (!replica.dead) this.waiting.push({ replica, go });
    });
  }

  private passage(replica: () => Replica): Passage {
    return async (what, work) => {
      const mine = replica();
      await this.turn(mine);
      if (this.chance(this.troubles.lostRequest)) throw lost(what, 'request');
      const done = work();
      await this.turn(mine);
      if (this.chance(this.troubles.lostAnswer)) throw lost(what, 'answer');
      return done;
    };
  }

  /** Decisions wait their turn like everything else; a dead process decides nothing. */
  private slowHandle(replica: () => Replica): Handle {
    const handle = makeHandle(this.store, new FoldCache(FOLDS_MAX));
    return async (decider, stream, command, cause) => {
      const mine = replica();
      await this.turn(mine);
      const outcome = await handle(decider, stream, command, cause);
      if (isRefusal(outcome)) this.trace.push(`refused ${command.type}: ${outcome.message}`);
      else outcome.events.forEach(({ type }) => this.trace.push(`said ${type}`));
      return outcome;
    };
  }

  /** Time passes between the attempts at hooks. */
  private readonly hookClock = {
    now: () => new Date(Date.parse('2026-01-01T00:00:00.000Z') + this.world.asked.length * 60 * 60_000),
  };

  /** A call that is lost on its way there or back is one without an answer. */
  private hookHttp(pass: Passage): HookHttp {
    return {
      post: async (url, { body }) => {
        try {
          return await pass(`ask ${url}`, () => this.world.askHook(url, body));
        } catch (error) {
          if (error instanceof WorldFailure) return { kind: 'silent', why: error.message };
          throw error;
        }
      },
    };
  }

  protected startReplica(): Replica {
    const self = (): Replica => made;
    const pass = this.passage(self);
    const handle = this.slowHandle(self);
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
    const tasks = new TaskRunner({
      reconcilers: this.reconcilers,
      handle,
      leases: this.leases.of(HOLDER),
      now: clock.now,
      log: { warn: () => undefined },
    });
    const hosts = new HostAccess(new FakeShell(this.world, pass), secrets, { triesMax: 1, deadlineMs: 1 });
    const clusters = new ClusterAccess(new FakeKubernetes(this.world, pass), secrets);
    const credentials = new JoinCredentialsSource(hosts, secrets, clock, settings);
    const own = {
      hosts: new HostsEffects(hosts, new FakeKit(), settings),
      controlPlane: new ControlPlaneEffects(hosts, clusters, settings),
      balancing: new BalancingEffects(hosts, secrets),
      etcd: new ExternalEtcdEffects(
        hosts,
        sealedAuthorities(secrets, pass, () => this.random()),
        settings,
      ),
      joins: new JoinsEffects(hosts, credentials, settings),
      labels: new LabelsEffects(clusters),
      declared: new DeclaredEffects(clusters),
      authentication: new AuthenticationEffects(hosts, clusters),
      addons: new AddonsEffects(clusters, settings),
      removal: new NodeRemovalEffects(hosts, clusters, settings, clock),
      dismantling: new DismantlingEffects(clusters, settings),
      kubeconfigs: new KubeconfigsEffects(clusters, clock),
      executions: new ExecutionsEffects(hosts, secrets, clock),
      follows: new FollowsEffects(hosts, this.logReaders, clock),
      keys: new SshKeysEffects(hosts),
      hooks: new HooksEffects(
        new HookCaller({
          http: this.hookHttp(pass),
          signer: new HookSigner(this.secrets, this.hookClock),
          clock: this.hookClock,
          againAfterMs: HOOK_AGAIN_AFTER_MS,
        }),
      ),
    };
    const handlers: Readonly<Record<string, (task: never) => ReturnType<TaskHandler>>> = {
      BootstrapHost: (task) => own.hosts.bootstrapHost(task),
      TakeOverAgent: (task) => own.hosts.takeOverAgent(task),
      VerifyNode: (task) => own.hosts.verifyNode(task),
      SetupExternalEtcd: (task) => own.etcd.setUp(task),
      AddEtcdMember: (task) => own.etcd.addMember(task),
      SetNodeLabels: (task) => own.labels.setNodeLabels(task),
      ConfigureAuthentication: (task) => own.authentication.configureAuthentication(task),
      AuthorizeUsers: (task) => own.authentication.authorizeUsers(task),
      BalanceApi: (task) => own.balancing.balanceApi(task),
      InitControlPlane: (task) => own.controlPlane.initControlPlane(task),
      RefreshKubeconfig: (task) => own.controlPlane.refreshKubeconfig(task),
      VerifyControlPlane: (task) => own.controlPlane.verifyControlPlane(task),
      JoinControlPlane: (task) => own.joins.joinControlPlane(task),
      JoinWorker: (task) => own.joins.joinWorker(task),
      InstallNetwork: (task) => own.addons.installNetwork(task),
      InstallAddons: (task) => own.addons.installAddons(task),
      InstallStorage: (task) => own.addons.installStorage(task),
      ReapplyDeclared: (task) => own.declared.reapplyDeclared(task),
      RemoveNode: (task) => own.removal.removeNode(task),
      KeepNode: (task) => own.removal.keepNode(task),
      DismantleCluster: (task) => own.dismantling.dismantle(task),
      CallHook: (task) => own.hooks.callHook(task),
      DestroySecrets: (task) => own.dismantling.destroySecrets(task),
      AddAuthorizedKey: (task) => own.keys.addKey(task),
      RemoveAuthorizedKey: (task) => own.keys.removeKeys(task),
      RunOnNode: (task) => own.executions.run(task),
      FollowLog: (task) => own.follows.follow(task),
      RemoveOutput: (task) => own.executions.remove(task),
      IssueKubeconfig: (task) => own.kubeconfigs.issue(task),
      RemoveKubeconfig: (task) => own.kubeconfigs.remove(task),
    };
    const deliver: Deliver = (job, context) => {
      if (job.type === STATE_FACTS) return tasks.stateFacts(job);
      const handler = handlers[job.type];
      if (handler === undefined) throw new Error(`no handler for ${job.type}`);
      return tasks.run(job, context, {}, (task) => handler(task as never));
    };
    const made: Replica = { deliver, tasks, dead: false };
    return made;
  }
}

/** Authorities that sign nothing and are recreated whenever none is sealed: two of one cluster would be two words. */
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

const lost = (what: string, way: string): WorldFailure =>
  new WorldFailure({ operation: what, target: 'the world', message: `the ${way} was lost` });

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

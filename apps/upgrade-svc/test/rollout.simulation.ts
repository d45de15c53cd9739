import { isRefusal, UPGRADE_STEPS, type Fact, type Refusal, type StoredEvent } from '@fairlead/contracts';
import { hookFactOf, hookOutcomeOf, hookRequestOf, nextCall, sentenceOfEvent, type HookReply } from '@fairlead/domain';
import { STATE_FACTS } from '@fairlead/event-sourcing';
import type { QueuedTask } from '@fairlead/event-sourcing/jetstream';
import { Follower } from '@fairlead/event-sourcing/simulation';
import { seededRandom } from '@fairlead/testing';
import { planHash } from '../src/plan/plan.hash.js';
import { checkUpgrade } from '../src/rollout/check.planner.js';
import type { RolloutCommand } from '../src/rollout/rollout.commands.js';
import { rollout } from '../src/rollout/rollout.decider.js';
import { rolloutReconciler } from '../src/rollout/rollout.reconciler.js';
import { LOOK_AGAIN_MS, type Rollout } from '../src/rollout/rollout.state.js';
import { rolloutView } from '../src/rollout/rollout.view.js';
import type { AnyRolloutTask, CallHook, EmptyNode } from '../src/rollout/rollout.tasks.js';
import { agentStep, type AgentStep } from './model.agent.js';
import { changeNode, factsOf, nodesOf, UID, type Model } from './model.js';
import { violations } from './model.safety.js';
import { withRequest, replacementSteps } from './model.replacement.js';
import { heard, surgeSteps } from './model.surge.js';
import { effectOf } from './model.tasks.js';

/**
 * Probabilities of failures, between 0 and 1. Seed 0 has none: everything happens in order, and its story is a golden
 * file.
 */
export interface Troubles {
  /** Before the effect, or between the effect and its record: the task is delivered again. */
  readonly crash: number;
  readonly twin: number;
  /** The maximum extra duration, relative to the usual one. */
  readonly jitter: number;
}

const CALM: Troubles = { crash: 0, twin: 0, jitter: 0 };
const ROUGH: Troubles = { crash: 0.05, twin: 0.2, jitter: 1 };

const STEPS_MAX = 20_000;
const ATTEMPTS_MAX = 3;
/** A duplicate may arrive long after the work was done. */
const TWIN_LATE_MAX_S = 150;
const BEGAN_AT = Date.parse('2026-11-21T10:00:00.000Z');
const SECOND = 1_000;

interface Due {
  readonly atMs: number;
  readonly order: number;
  readonly what: string;
  readonly run: () => void;
}

/**
 * A rollout on a model of a cluster, in simulated time: with the real reconciler and decider; tasks, agents, Kubernetes
 * and etcd are simulated. The seed determines durations, duplicate deliveries, and crashes.
 */
export class RolloutSimulation {
  readonly log: StoredEvent[] = [];
  readonly harm: string[] = [];
  model: Model;
  /** Agents that do nothing until they are removed from this set. */
  readonly dead = new Set<string>();
  /** `<task type>/<node>`: every attempt fails with this message. */
  readonly failing = new Map<string, string>();
  /** `<task type>/<node>`: the task is never handled. */
  readonly lost = new Set<string>();
  /** Attempts of tasks that are tried until they succeed; the simulated time does not wait for their next. */
  private attempts: (() => void)[] = [];
  /** Agents that report, but whose nodes never become Ready. */
  readonly stuck = new Set<string>();
  /** Replies of hooks, one per call; then Success. */
  hookReplies: HookReply[] = [];
  /** The IDs of the calls, with their attempts. */
  readonly hookIds: { readonly id: string; readonly attempt: string }[] = [];
  atOnce = 1;
  private readonly random: () => number;
  private readonly troubles: Troubles;
  private nowMs = BEGAN_AT;
  private readonly follower = new Follower(rolloutReconciler, 'upgrade-svc');
  private queue: Due[] = [];
  private readonly busyAgents = new Set<string>();
  private readonly watchers: { readonly when: (event: StoredEvent) => boolean; readonly act: () => void }[] = [];
  private order = 0;

  constructor(
    model: Model,
    readonly seed = 0,
  ) {
    this.model = model;
    this.random = seededRandom(seed);
    this.troubles = seed === 0 ? CALM : ROUGH;
  }

  get now(): string {
    return new Date(this.nowMs).toISOString();
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  /** Runs once, for the first matching event in the log. */
  when(matches: (event: StoredEvent) => boolean, act: () => void): void {
    this.watchers.push({ when: matches, act });
  }

  after(seconds: number, act: () => void): void {
    this.at(seconds, 'someone', act);
  }

  say(context: string, ...facts: readonly Fact[]): void {
    for (const fact of facts) this.append(context, fact);
  }

  run(stepsMax = STEPS_MAX): void {
    for (let step = 0; step < stepsMax; step += 1) {
      this.queue.sort((one, other) => one.atMs - other.atMs || one.order - other.order);
      const next = this.queue.shift();
      if (next === undefined) return;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
    }
    throw new Error(`still busy after ${stepsMax} steps: ${this.queue.map(({ what }) => what).join(', ')}`);
  }

  count(type: Fact['type'], node?: string): number {
    return this.log.filter(
      (event) => event.type === type && (node === undefined || ('node' in event.data && event.data.node === node)),
    ).length;
  }

  /** The story since the request for readers: one line per event. */
  narrative(): string {
    const from = this.log.findIndex(({ type }) => type === 'UpgradeRequested');
    const zero = Date.parse(this.log[from]?.meta.time ?? this.now);
    return this.log
      .slice(from)
      .map((event) => {
        const seconds = ((Date.parse(event.meta.time) - zero) / SECOND).toFixed(1).padStart(8);
        return `${seconds}  ${event.type.padEnd(22)}  ${sentenceOfEvent(event)}`;
      })
      .join('\n');
  }

  private at(seconds: number, what: string, run: () => void): void {
    this.order += 1;
    this.queue.push({ atMs: this.nowMs + seconds * SECOND, order: this.order, what, run });
  }

  private takes(seconds: number): number {
    return seconds * (1 + this.random() * this.troubles.jitter);
  }

  private append(context: string, fact: Fact): void {
    const seq = this.log.length + 1;
    const meta = { id: `event-${seq}`, seq, namespace: 'default', cluster: 'demo', context, time: this.now };
    const event = { ...fact, meta } as unknown as StoredEvent;
    this.log.push(event);
    this.change(withRequest(heard(this.model, event as Fact), event as Fact));
    const { wakeAt } = this.follower;
    for (const asked of this.follower.read(event)) this.enqueue(asked);
    if (this.follower.wakeAt !== wakeAt) this.setTimer();
    this.wakeOthers();
    for (const watcher of [...this.watchers])
      if (watcher.when(event)) {
        this.watchers.splice(this.watchers.indexOf(watcher), 1);
        this.at(0, 'someone', watcher.act);
      }
  }

  private get state(): Rollout {
    return this.follower.known().state;
  }

  private enqueue(asked: QueuedTask): void {
    const { type } = asked;
    this.at(this.takes(type === 'TakeSnapshot' ? 4 : 0.1), type, () => this.deliver(asked, 1));
    if (this.random() < this.troubles.twin)
      this.at(TWIN_LATE_MAX_S * this.random(), type, () => this.deliver(asked, 1));
  }

  private setTimer(): void {
    const { wakeAt } = this.follower;
    if (wakeAt === null) return;
    this.order += 1;
    this.queue.push({ atMs: Date.parse(wakeAt), order: this.order, what: 'timer', run: () => this.wake(wakeAt) });
  }

  /** Another moment may be the next by now. */
  private wake(at: string): void {
    if (this.follower.wakeAt !== at) return;
    for (const asked of this.follower.wake()) this.enqueue(asked);
    this.setTimer();
  }

  private decide(command: RolloutCommand): void {
    this.stated(rollout.decide(this.state, command));
  }

  private stated(outcome: readonly Fact[] | Refusal): void {
    if (isRefusal(outcome)) throw new Error(outcome.message);
    for (const fact of outcome) this.append('rollout', fact);
  }

  private deliver(queued: QueuedTask, attempt: number): void {
    const { type } = queued;
    if (type === STATE_FACTS) {
      this.stated(this.follower.facts(this.now));
      return;
    }
    const task = this.follower.taskOf(queued, this.now)?.data as AnyRolloutTask | undefined;
    if (task === undefined || this.lost.has(`${type}/${task.node ?? ''}`)) return;
    if (task.type === 'CallHook') {
      this.callHook(queued, task);
      return;
    }
    const failure = this.failing.get(`${type}/${task.node ?? task.operation ?? ''}`);
    if (failure !== undefined) this.fail(queued, task, { attempt, message: failure });
    else if (task.type === 'CheckUpgrade') this.check(queued);
    else this.work(queued, task, attempt);
  }

  private check(queued: QueuedTask): void {
    const view = this.state.status === 'known' ? rolloutView(this.state) : null;
    if (view === null) return;
    const { id } = view.upgrade;
    const check = checkUpgrade(view, factsOf(this.model, this.now));
    const base = { uid: UID, upgradeId: id, now: this.now };
    this.decide({
      type: 'RecordCheck',
      data: check.outcome === 'planned' ? { ...base, ...check, planHash: planHash(check.plan) } : { ...base, ...check },
    });
    const after = this.state.status === 'known' ? this.state.upgrade : null;
    if (after?.waits !== undefined && this.isStillDesired(queued))
      this.at(LOOK_AGAIN_MS / SECOND, 'CheckUpgrade', () => this.deliver(queued, 1));
  }

  /** What the handler does, with scripted replies; a crash between the call and its record loses the reply. */
  private callHook(queued: QueuedTask, task: CallHook): void {
    const { uid, upgradeId, point, node, during, hook, attempt } = task;
    const moment = { point, ...(node && { node }), ...(during && { operation: during }) };
    const call = this.state.status === 'known' ? nextCall(this.state.hooks, moment)?.call : undefined;
    if (call === undefined) throw new Error(`${hook} is asked and not declared`);
    const { id } = hookRequestOf({ namespace: 'default', cluster: 'demo', uid, upgradeId }, call, this.now);
    this.hookIds.push({ id, attempt: `${upgradeId}/${during ?? ''}/${point}/${hook}/${attempt}` });
    if (this.random() < this.troubles.crash) {
      this.at(3, task.type, () => this.deliver(queued, 1));
      return;
    }
    const reply = this.hookReplies.shift() ?? { kind: 'answered', status: 200, body: '{"status":"Success"}' };
    const outcome = hookOutcomeOf(call, reply, { now: this.now, againAfterMs: 10 * SECOND });
    const fact = hookFactOf('Upgrade', { uid, upgradeId, hook: call.hook.name, ...moment, attempt }, outcome);
    this.decide({ type: 'RecordFact', data: { facts: [fact], now: this.now } });
  }

  private fail(
    queued: QueuedTask,
    task: AnyRolloutTask,
    { attempt, message }: { readonly attempt: number; readonly message: string },
  ): void {
    const isTriedOn = UPGRADE_STEPS.some((step) => step === task.type);
    const last = attempt >= ATTEMPTS_MAX;
    const waitS = 5 * attempt;
    const failure = {
      cause: { operation: task.type, target: task.node ?? 'demo', message },
      attempt,
      attemptsMax: ATTEMPTS_MAX,
      nextAttemptAt: last ? null : new Date(this.nowMs + waitS * SECOND).toISOString(),
      now: this.now,
    };
    this.stated(this.follower.failed(queued.data, failure));
    if (!last) this.at(waitS, task.type, () => this.deliver(queued, attempt + 1));
    else if (isTriedOn) this.attempts.push(() => this.deliver(queued, attempt + 1));
  }

  private static readonly SECONDS: Readonly<Partial<Record<AnyRolloutTask['type'], number>>> = {
    EmptyNode: 6,
    CheckGates: 0.3,
  };

  /** One step of the effect; then the next, until nothing of the task is desired any more. */
  private work(queued: QueuedTask, task: AnyRolloutTask, attempt: number): void {
    const again = (seconds: number): void =>
      this.at(this.takes(seconds), task.type, () => this.deliver(queued, attempt));
    if (this.random() < this.troubles.crash) {
      again(3);
      return;
    }
    const effect = effectOf(this.model, task);
    this.change(effect.model);
    for (const fact of effect.desired) this.append(`desired-${fact.data.node}`, fact);
    this.wakeAgents();
    if (this.random() < this.troubles.crash) {
      again(3);
      return;
    }
    if (effect.facts.length > 0) this.decide({ type: 'RecordFact', data: { facts: effect.facts, now: this.now } });
    if (effect.wait !== undefined) {
      if (task.type === 'EmptyNode' && this.isLate(task)) this.timeOut(task, attempt);
      else again(2);
    } else if (this.isStillDesired(queued) && task.type !== 'StageNodes')
      again(RolloutSimulation.SECONDS[task.type] ?? 0.2);
  }

  private isStillDesired(asked: QueuedTask): boolean {
    return this.follower.taskOf(asked, this.now) !== undefined;
  }

  private isLate({ since, pool }: EmptyNode): boolean {
    return since !== null && this.nowMs - Date.parse(since) > pool.drainTimeoutSeconds * SECOND;
  }

  private timeOut(task: EmptyNode, attempt: number): void {
    const { uid, upgradeId, operation, node, pool } = task;
    const data = { uid, upgradeId, operation, node, pods: [`shop/web-${node}`], policy: pool.onDrainTimeout };
    this.decide({ type: 'RecordFact', data: { facts: [{ type: 'DrainTimedOut', data }], now: this.now } });
    if (attempt > ATTEMPTS_MAX) throw new Error('it never ends');
  }

  private change(model: Model): void {
    this.model = model;
    for (const broken of violations(model, this.atOnce)) if (!this.harm.includes(broken)) this.harm.push(broken);
  }

  /** Starts agents that have work and are idle. */
  wakeAgents(): void {
    for (const { name } of nodesOf(this.model)) {
      const step = agentStep(this.model, name);
      if (step === undefined || this.dead.has(name) || this.busyAgents.has(name)) continue;
      if (step.name === 'Ready' && this.stuck.has(name)) continue;
      this.busyAgents.add(name);
      this.at(this.takes(step.seconds), `${step.name} on ${name}`, () => this.agentActs(name));
    }
  }

  /** The steps of infra-svc and bootstrap-svc on surge machines and replaced nodes. */
  private othersSteps(): readonly AgentStep[] {
    return [...surgeSteps(this.model), ...replacementSteps(this.model)];
  }

  private wakeOthers(): void {
    for (const { name, seconds } of this.othersSteps()) {
      if (this.busyAgents.has(name)) continue;
      this.busyAgents.add(name);
      this.at(this.takes(seconds), name, () => this.othersAct(name));
    }
  }

  private othersAct(name: string): void {
    this.busyAgents.delete(name);
    const step = this.othersSteps().find((one) => one.name === name);
    if (step === undefined) return this.wakeOthers();
    const acted = step.act(this.model);
    this.change(acted.model);
    for (const fact of acted.facts) this.append(fact.type.startsWith('Vm') ? 'machines' : 'bootstrap', fact);
    this.wakeOthers();
  }

  private agentActs(name: string): void {
    this.busyAgents.delete(name);
    const step = agentStep(this.model, name);
    if (step !== undefined && !this.dead.has(name) && !(step.name === 'Ready' && this.stuck.has(name))) {
      const acted = step.act(this.model);
      this.change(acted.model);
      for (const fact of acted.facts) this.append(`node-${name}`, fact);
    }
    this.wakeAgents();
  }

  /** The next attempts of tasks that are tried until they succeed. */
  tryOn(): void {
    for (const run of this.attempts.splice(0)) this.at(1, 'another attempt', run);
  }

  repair(name: string): void {
    this.dead.delete(name);
    this.stuck.delete(name);
    this.wakeAgents();
  }

  /** Changes the model from outside, without a request. */
  happens(name: string, change: Parameters<typeof changeNode>[2]): void {
    this.change(changeNode(this.model, name, change));
  }
}

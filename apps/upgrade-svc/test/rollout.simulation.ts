import { isRefusal, sentenceOfEvent, type Fact, type StoredEvent } from '@fairlead/contracts';
import type { Reaction } from '@fairlead/event-sourcing';
import { planHash } from '../src/plan/plan.hash.js';
import { checkUpgrade } from '../src/rollout/check.planner.js';
import type { RolloutCommand } from '../src/rollout/rollout.commands.js';
import { rollout } from '../src/rollout/rollout.decider.js';
import type { AnyRolloutJob, EmptyNode, RolloutJob } from '../src/rollout/rollout.jobs.js';
import { currentJob } from '../src/rollout/rollout.planner.js';
import { rolloutProcess, type Following } from '../src/rollout/rollout.process.js';
import { ABSENT, type Rollout } from '../src/rollout/rollout.state.js';
import {
  agentStep,
  changeNode,
  effectOf,
  factsOf,
  heard,
  nodesOf,
  surgeSteps,
  UID,
  violations,
  type Model,
} from './model.js';

/** mulberry32: small, fast, and the same on every machine. */
const randomFrom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** How often things go wrong, of one. Seed 0 is calm: there everything goes in order, and its story is a golden file. */
export interface Troubles {
  /** Before the effect, or after it and before its record: the job comes again. */
  readonly crash: number;
  readonly twin: number;
  /** How much longer than usual things may take. */
  readonly jitter: number;
}

const CALM: Troubles = { crash: 0, twin: 0, jitter: 0 };
const ROUGH: Troubles = { crash: 0.05, twin: 0.2, jitter: 1 };

const STEPS_MAX = 20_000;
const ATTEMPTS_MAX = 3;
/** A twin may come long after the work was done. */
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
 * A roll-out over a model of a cluster, in simulated time: our own process, decider and planner; jobs, agents, Kubernetes and
 * etcd are the model's. A seed decides how long things take, which jobs come twice, and where the process dies.
 */
export class RolloutSimulation {
  readonly log: StoredEvent[] = [];
  readonly harm: string[] = [];
  model: Model;
  /** Agents that do nothing until they are back. */
  readonly dead = new Set<string>();
  /** `<job type>/<node>`: fails in these words, attempt after attempt. */
  readonly failing = new Map<string, string>();
  /** `<job type>/<node>`: what was asked for is never heard of again. */
  readonly lost = new Set<string>();
  /** Agents that report, but whose nodes never become Ready. */
  readonly stuck = new Set<string>();
  atOnce = 1;
  private readonly random: () => number;
  private readonly troubles: Troubles;
  private nowMs = BEGAN_AT;
  private state: Rollout = ABSENT;
  private following: Following = rolloutProcess.initial;
  private queue: Due[] = [];
  private readonly timers = new Map<string, number>();
  private readonly busyAgents = new Set<string>();
  private readonly watchers: { readonly when: (event: StoredEvent) => boolean; readonly act: () => void }[] = [];
  private order = 0;

  constructor(
    model: Model,
    readonly seed = 0,
  ) {
    this.model = model;
    this.random = randomFrom(seed);
    this.troubles = seed === 0 ? CALM : ROUGH;
  }

  get now(): string {
    return new Date(this.nowMs).toISOString();
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  /** Once, as soon as such an event is in the log. */
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

  /** The story since the wish, as people read it: one line an event. */
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
    this.change(heard(this.model, event as Fact));
    this.state = rollout.evolve(this.state, event);
    this.following = rolloutProcess.evolve(this.following, event) ?? rolloutProcess.initial;
    for (const reaction of rolloutProcess.react(this.following, event)) this.react(reaction);
    this.wakeOthers();
    for (const watcher of [...this.watchers])
      if (watcher.when(event)) {
        this.watchers.splice(this.watchers.indexOf(watcher), 1);
        this.at(0, 'someone', watcher.act);
      }
  }

  private react(reaction: Reaction): void {
    switch (reaction.kind) {
      case 'job': {
        const job = reaction.data as unknown as AnyRolloutJob;
        this.at(this.takes(job.type === 'TakeSnapshot' ? 4 : 0.1), job.type, () => this.deliver(job, 1));
        if (this.random() < this.troubles.twin)
          this.at(TWIN_LATE_MAX_S * this.random(), job.type, () => this.deliver(job, 1));
        return;
      }
      case 'timer': {
        this.order += 1;
        const order = this.order;
        this.timers.set(reaction.key, order);
        this.queue.push({
          atMs: Date.parse(reaction.dueAt),
          order,
          what: 'timer',
          run: () => this.ring(reaction, order),
        });
        return;
      }
      case 'cancel-timer':
        this.timers.delete(reaction.key);
    }
  }

  private ring(timer: { readonly key: string; readonly dueAt: string }, order: number): void {
    if (this.timers.get(timer.key) !== order) return;
    this.timers.delete(timer.key);
    for (const due of rolloutProcess.due?.(this.following, { ...timer, data: {} }) ?? []) this.react(due);
  }

  private decide(command: RolloutCommand): boolean {
    const outcome = rollout.decide(this.state, command);
    if (isRefusal(outcome)) return false;
    for (const fact of outcome) this.append('rollout', fact);
    return true;
  }

  private deliver(job: RolloutJob, attempt: number): void {
    if (this.lost.has(`${job.type}/${job.node ?? ''}`)) return;
    if (!this.decide({ type: 'BeginJob', data: job })) return;
    if (job.type === 'AdvanceRollout') {
      this.decide({ type: 'Advance', data: { uid: UID, now: this.now } });
      return;
    }
    if (job.type === 'CheckUpgrade') {
      this.check();
      return;
    }
    const current = currentJob(this.state, job) ?? (job as AnyRolloutJob);
    const failure = this.failing.get(`${job.type}/${job.node ?? job.operation ?? ''}`);
    if (failure !== undefined) this.fail(current, attempt, failure);
    else this.work(current, attempt);
  }

  private check(): void {
    if (this.state.status !== 'known' || this.state.upgrade === null) return;
    const { id } = this.state.upgrade;
    const check = checkUpgrade(this.state, this.state.upgrade, factsOf(this.model, this.now));
    const base = { uid: UID, upgradeId: id, now: this.now };
    this.decide({
      type: 'RecordCheck',
      data: check.outcome === 'planned' ? { ...base, ...check, planHash: planHash(check.plan) } : { ...base, ...check },
    });
  }

  private fail(job: AnyRolloutJob, attempt: number, message: string): void {
    const last = attempt >= ATTEMPTS_MAX;
    const waitS = 5 * attempt;
    this.decide({
      type: 'RecordFailure',
      data: {
        job,
        cause: { operation: job.type, target: job.node ?? 'demo', message },
        attempt,
        attemptsMax: ATTEMPTS_MAX,
        nextAttemptAt: last ? null : new Date(this.nowMs + waitS * SECOND).toISOString(),
        now: this.now,
      },
    });
    if (!last) this.at(waitS, job.type, () => this.deliver(job, attempt + 1));
  }

  private static readonly SECONDS: Readonly<Partial<Record<AnyRolloutJob['type'], number>>> = {
    EmptyNode: 6,
    CheckGates: 0.3,
  };

  /** One step of the effect; then the next, until nothing of the job is wanted any more. */
  private work(job: AnyRolloutJob, attempt: number): void {
    const again = (seconds: number): void => this.at(this.takes(seconds), job.type, () => this.deliver(job, attempt));
    if (this.random() < this.troubles.crash) {
      again(3);
      return;
    }
    const effect = effectOf(this.model, job);
    this.change(effect.model);
    for (const fact of effect.desired) this.append(`desired-${fact.data.node}`, fact);
    this.wakeAgents();
    if (this.random() < this.troubles.crash) {
      again(3);
      return;
    }
    if (effect.facts.length > 0) this.decide({ type: 'RecordFact', data: { facts: effect.facts, now: this.now } });
    if (effect.wait !== undefined) {
      if (job.type === 'EmptyNode' && this.isLate(job)) this.timeOut(job, attempt);
      else again(2);
    } else if (currentJob(this.state, job) !== undefined && job.type !== 'StageNodes')
      again(RolloutSimulation.SECONDS[job.type] ?? 0.2);
  }

  private isLate({ since, pool }: EmptyNode): boolean {
    return since !== null && this.nowMs - Date.parse(since) > pool.drainTimeoutSeconds * SECOND;
  }

  private timeOut(job: EmptyNode, attempt: number): void {
    const { uid, upgradeId, operation, node, pool } = job;
    const data = { uid, upgradeId, operation, node, pods: [`shop/web-${node}`], policy: pool.onDrainTimeout };
    this.decide({ type: 'RecordFact', data: { facts: [{ type: 'DrainTimedOut', data }], now: this.now } });
    if (attempt > ATTEMPTS_MAX) throw new Error('it never ends');
  }

  private change(model: Model): void {
    this.model = model;
    for (const broken of violations(model, this.atOnce)) if (!this.harm.includes(broken)) this.harm.push(broken);
  }

  /** Agents that have something to do and are not at it. */
  wakeAgents(): void {
    for (const { name } of nodesOf(this.model)) {
      const step = agentStep(this.model, name);
      if (step === undefined || this.dead.has(name) || this.busyAgents.has(name)) continue;
      if (step.name === 'Ready' && this.stuck.has(name)) continue;
      this.busyAgents.add(name);
      this.at(this.takes(step.seconds), `${step.name} on ${name}`, () => this.agentActs(name));
    }
  }

  /** infra-svc and bootstrap-svc, about extra machines. */
  private wakeOthers(): void {
    for (const { name, seconds } of surgeSteps(this.model)) {
      if (this.busyAgents.has(name)) continue;
      this.busyAgents.add(name);
      this.at(this.takes(seconds), name, () => this.othersAct(name));
    }
  }

  private othersAct(name: string): void {
    this.busyAgents.delete(name);
    const step = surgeSteps(this.model).find((one) => one.name === name);
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

  mend(name: string): void {
    this.dead.delete(name);
    this.stuck.delete(name);
    this.wakeAgents();
  }

  /** From outside: the world changes without anybody having asked. */
  happens(name: string, change: Parameters<typeof changeNode>[2]): void {
    this.change(changeNode(this.model, name, change));
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { EnvironmentFault } from '../faults.js';
import { Child, describeExit, quoteLines, type Exit, type ProcessSpec } from './child.js';
import type { LogFile } from './log-file.js';
import { planRestart, RESTART_POLICY, type RestartPolicy } from './restart.planner.js';
import type { Warden } from './warden.js';

export type ReplicaState =
  | { readonly status: 'starting' }
  | { readonly status: 'running'; readonly sinceMs: number }
  | { readonly status: 'waiting'; readonly delayMs: number }
  | { readonly status: 'held' }
  | { readonly status: 'stopped' }
  | { readonly status: 'failed'; readonly reason: string };

export interface ReplicaContext {
  readonly warden: Warden;
  readonly log: LogFile;
  readonly onStarted: (pid: number | undefined) => void;
  readonly onState: (state: ReplicaState) => void;
}

/** One supervised process through all its runs: started again after a crash, until that happens too often. */
export class Replica {
  state: ReplicaState = { status: 'stopped' };
  restarts = 0;
  private child: Child | undefined;
  private crashTimesMs: number[] = [];
  private stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(
    readonly spec: ProcessSpec & { readonly restart?: RestartPolicy; readonly beforeStart?: () => Promise<void> },
    private readonly context: ReplicaContext,
  ) {}

  get pid(): number | undefined {
    return this.child?.running === true ? this.child.pid : undefined;
  }

  /** Starts it and resolves when it is ready; throws when it was given up. Its crashes afterwards show in `state` only. */
  start(): Promise<void> {
    this.stopping = new AbortController();
    this.crashTimesMs = [];
    return new Promise((resolve, reject) => {
      this.running = this.run(this.stopping.signal, resolve).then(
        () => reject(new Error(`${this.spec.name} was stopped before it was ready`)),
        reject,
      );
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.signal(signal);
  }

  /** Ends it, with `first` as the first signal, and does not start it again. */
  async stop(after: 'stopped' | 'held', first?: NodeJS.Signals): Promise<void> {
    this.stopping.abort();
    if (first !== undefined) this.child?.signal(first);
    await this.child?.stop();
    await this.running;
    this.enter({ status: after });
  }

  /** Runs it again and again; resolves when it was told to stop, throws when it crashed too often. */
  private async run(stop: AbortSignal, onReady: () => void): Promise<void> {
    const policy = this.spec.restart ?? RESTART_POLICY;
    while (!stop.aborted) {
      const ended = await this.runOnce(onReady, stop);
      if (stop.aborted) return;
      this.crashTimesMs = [...this.crashTimesMs, Date.now()].slice(-policy.crashesMax);
      const plan = planRestart(this.crashTimesMs, policy);
      if (plan.type === 'give-up') throw this.giveUp(ended, plan.crashes, policy);
      this.restarts += 1;
      this.enter({ status: 'waiting', delayMs: plan.delayMs });
      await sleep(plan.delayMs, undefined, { signal: stop }).catch(() => undefined);
    }
  }

  private async runOnce(onReady: () => void, stop: AbortSignal): Promise<string> {
    this.enter({ status: 'starting' });
    await this.spec.beforeStart?.();
    if (stop.aborted) return 'stopped';
    const child = new Child(this.spec, this.context.warden, this.context.log);
    this.child = child;
    this.context.onStarted(child.pid);
    try {
      await child.whenReady();
    } catch (error) {
      await child.stop();
      return error instanceof Error ? error.message : String(error);
    }
    this.enter({ status: 'running', sinceMs: Date.now() });
    onReady();
    return describeCrash(await child.exited, child.lastLines);
  }

  private giveUp(ended: string, crashes: number, policy: RestartPolicy): EnvironmentFault {
    const often =
      crashes === 1
        ? ''
        : `${this.spec.name} crashed ${crashes} times within ${policy.windowMs / 1_000} s and is not started again. `;
    this.enter({ status: 'failed', reason: `${often}${ended}` });
    return new EnvironmentFault(crashes === 1 ? 'not-ready' : 'crash-loop', {
      operation: 'run',
      target: this.spec.name,
      message: `${often}${ended}`,
    });
  }

  private enter(state: ReplicaState): void {
    this.state = state;
    this.context.onState(state);
  }
}

const describeCrash = (exit: Exit, lastLines: readonly string[]): string =>
  `It ended unasked (${describeExit(exit)}).${quoteLines(lastLines)}`;

import { wordsOf } from '@fairlead/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import { EnvironmentFault } from '../faults.js';
import { Child, describeExit, quoteLines, type Exit, type ProcessSpec } from './child.js';
import type { LogFile } from './log-file.js';
import {
  NO_CRASHES,
  recordEnd,
  RESTART_POLICY,
  restartDelayMs,
  type Ended,
  type RestartPolicy,
  type RestartRecord,
} from './restart.planner.js';
import type { Warden } from './warden.js';

export type ReplicaState =
  | { readonly status: 'starting'; /** What it reports to wait for. */ readonly waitsFor?: string }
  | { readonly status: 'running'; readonly sinceMs: number }
  /** It ended, why, and when it is restarted; `crashes` in a row, 0 if its end is excused. */
  | { readonly status: 'waiting'; readonly delayMs: number; readonly crashes: number; readonly reason: string }
  | { readonly status: 'held' }
  | { readonly status: 'stopped' }
  | { readonly status: 'failed'; readonly reason: string };

export interface ReplicaContext {
  readonly warden: Warden;
  readonly log: LogFile;
  readonly onStarted: (pid: number | undefined) => void;
  readonly onState: (state: ReplicaState) => void;
}

export interface ReplicaSpec extends ProcessSpec {
  readonly restart?: RestartPolicy;
  /** Runs before each start, including restarts. */
  readonly beforeStart?: () => Promise<void>;
  /** Called when it has ended: a reason for which that does not count as a crash (a server that it needs is down). */
  readonly excuse?: () => string | undefined;
}

/** "A dependency is unavailable; restart me later" (EX_TEMPFAIL of sysexits.h). */
export const EXIT_DEPENDENCY_AWAY = 75;
/** Its configuration is invalid; if it was never ready, a restart cannot help. */
export const EXIT_CONFIGURATION = 2;

interface End extends Ended {
  readonly reason: string;
  readonly final: boolean;
}

/** A supervised process over all its runs: restarted with backoff after crashes, until it is stopped. */
export class Replica {
  state: ReplicaState = { status: 'stopped' };
  restarts = 0;
  private child: Child | undefined;
  private record: RestartRecord = NO_CRASHES;
  private wasReady = false;
  /** The run that this process has ended by a signal. */
  private signalled: Child | undefined;
  private stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(
    readonly spec: ReplicaSpec,
    private readonly context: ReplicaContext,
  ) {}

  get pid(): number | undefined {
    return this.child?.running === true ? this.child.pid : undefined;
  }

  /**
   * Starts it and resolves when it is ready; throws if it was abandoned before that. Later crashes appear only in
   * `state`.
   */
  start(): Promise<void> {
    this.stopping = new AbortController();
    this.record = NO_CRASHES;
    return new Promise((resolve, reject) => {
      this.running = this.run(this.stopping.signal, resolve).then(
        () => reject(new Error(`${this.spec.name} was stopped before it was ready`)),
        reject,
      );
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.signalled = this.child;
    this.child?.signal(signal);
  }

  /** Ends it, with `first` as the first signal, and does not restart it. */
  async stop(after: 'stopped' | 'held', first?: NodeJS.Signals): Promise<void> {
    this.stopping.abort();
    if (first !== undefined) this.child?.signal(first);
    await this.child?.stop();
    await this.running;
    this.enter({ status: after });
  }

  /** Runs it repeatedly; resolves when it was stopped, throws when restarts were exhausted. */
  private async run(stop: AbortSignal, onReady: () => void): Promise<void> {
    const policy = this.spec.restart ?? RESTART_POLICY;
    while (!stop.aborted) {
      const ended = await this.runOnce(onReady, stop);
      if (stop.aborted) return;
      this.record = recordEnd(this.record, ended, policy);
      const { crashes } = this.record;
      if (!this.wasReady && (ended.final || crashes >= policy.startTriesMax)) throw this.giveUp(ended, crashes);
      this.restarts += 1;
      const delayMs = restartDelayMs(this.record, policy, Math.random());
      this.enter({ status: 'waiting', delayMs, crashes: ended.excused ? 0 : crashes, reason: ended.reason });
      await sleep(delayMs, undefined, { signal: stop }).catch(() => undefined);
    }
  }

  private async runOnce(onReady: () => void, stop: AbortSignal): Promise<End> {
    this.enter({ status: 'starting' });
    let readyAtMs: number | undefined;
    let child: Child | undefined;
    try {
      await this.spec.beforeStart?.();
      if (stop.aborted) return { excused: true, servedMs: 0, reason: 'stopped', final: false };
      child = this.child = new Child(this.spec, this.context.warden, this.context.log);
      this.context.onStarted(child.pid);
      await child.whenReady((waitsFor) => this.enter({ status: 'starting', waitsFor }));
      readyAtMs = performance.now();
      this.wasReady = true;
      this.enter({ status: 'running', sinceMs: Date.now() });
      onReady();
      const reason = describeCrash(await child.exited, child.lastLines);
      return this.endOf(child, { reason, servedMs: performance.now() - readyAtMs });
    } catch (error) {
      await child?.stop();
      return this.endOf(child, { reason: wordsOf(error), servedMs: 0 });
    }
  }

  private async endOf(
    child: Child | undefined,
    { reason, servedMs }: { readonly reason: string; readonly servedMs: number },
  ): Promise<End> {
    const code = (await child?.exited)?.code;
    const why = child !== undefined && this.signalled === child ? 'It was ended on request.' : this.spec.excuse?.();
    const excused = why !== undefined || code === EXIT_DEPENDENCY_AWAY;
    return {
      excused,
      servedMs,
      reason: why === undefined ? reason : `${why} ${reason}`,
      final: code === EXIT_CONFIGURATION,
    };
  }

  private giveUp({ reason, final }: End, crashes: number): EnvironmentFault {
    const often = crashes === 1 || final ? '' : `${this.spec.name} crashed ${crashes} times and never was ready. `;
    this.enter({ status: 'failed', reason: `${often}${reason}` });
    return new EnvironmentFault(often === '' ? 'not-ready' : 'crash-loop', {
      operation: 'run',
      target: this.spec.name,
      message: `${often}${reason}`,
    });
  }

  private enter(state: ReplicaState): void {
    this.state = state;
    this.context.onState(state);
  }
}

const describeCrash = (exit: Exit, lastLines: readonly string[]): string =>
  `It ended unasked (${describeExit(exit)}).${quoteLines(lastLines)}`;

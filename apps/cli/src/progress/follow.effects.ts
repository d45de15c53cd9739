import type { Api, ClusterAt, EventView } from '../api/api.ports.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { formatDuration } from '../output/duration.js';
import { deadlineAfter } from '../time/deadline.js';
import { currentOperation, noProgress, type Operation, type Progress } from './progress.js';
import { project } from './progress.projection.js';
import { progressView } from './progress.screen.js';

export interface FollowOptions {
  /** The wish that is waited for, by its sequence; 0: whatever the latest one is. */
  readonly wishSeq: number;
  /** undefined: no limit. */
  readonly timeoutMs?: number | undefined;
  /** What goes on at the server when the watching ends early, for the sentence that says so. */
  readonly what: string;
}

/**
 * Shows a cluster's progress until what was wished for has ended, and answers with it. Throws a `CliFailure` when it failed, when the
 * time is over, or at Ctrl-C; the server goes on in the last two cases.
 */
export const followOperation = async (api: Api, io: Io, at: ClusterAt, options: FollowOptions): Promise<Progress> => {
  const { timeoutMs, wishSeq } = options;
  const late = deadlineAfter(timeoutMs);
  const ended = AbortSignal.any([io.interrupts.first, late.signal]);
  const view = progressView(io);
  let progress = noProgress(at);
  try {
    const next = (event: EventView): void => {
      progress = project(progress, event);
      if (event.seq < wishSeq) view.begin(progress);
      else view.show(progress);
    };
    (await api.events(at, 0)).forEach(next);
    for await (const event of hasEnded(progress, wishSeq) ? [] : api.followEvents(at, progress.lastSeq, ended)) {
      next(event);
      if (hasEnded(progress, wishSeq)) break;
    }
  } catch (error) {
    if (!ended.aborted) throw error;
  } finally {
    late.clear();
    view.close();
  }
  return endOf(progress, options, io.interrupts.first.aborted);
};

const hasEnded = (progress: Progress, wishSeq: number): boolean => {
  const operation = currentOperation(progress);
  return operation !== undefined && operation.wishSeq >= wishSeq && operation.state.status !== 'running';
};

const endOf = (progress: Progress, options: FollowOptions, isInterrupted: boolean): Progress => {
  const operation = currentOperation(progress);
  if (operation !== undefined && hasEnded(progress, options.wishSeq)) {
    if (operation.state.status === 'failed') throw failureOf(progress, operation);
    return progress;
  }
  const { what, timeoutMs = 0 } = options;
  if (isInterrupted) throw stillGoing('interrupted', `Stopped watching: ${what} goes on at the server`, progress);
  throw stillGoing(
    'timed-out',
    `Not done within ${formatDuration(timeoutMs)}: ${what} goes on at the server`,
    progress,
  );
};

const failureOf = ({ at }: Progress, { state, kind }: Operation): CliFailure => {
  const failure = state.status === 'failed' ? state.failure : undefined;
  return new CliFailure('failed', {
    code: failure?.code || 'cli.failed',
    message: failure?.message ?? `${at.cluster} failed`,
    help:
      kind === 'create'
        ? `"fairlead cluster retry ${at.cluster}" goes on from that step; "fairlead cluster delete ${at.cluster}" cleans up.`
        : undefined,
  });
};

const stillGoing = (exit: 'interrupted' | 'timed-out', message: string, { at }: Progress): CliFailure =>
  new CliFailure(exit, {
    code: `cli.${exit}`,
    message,
    help: `Look again with "fairlead cluster describe ${at.cluster}" or "fairlead events ${at.cluster} --follow".`,
  });

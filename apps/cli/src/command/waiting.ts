import type { Command } from 'commander';
import type { ClusterAt } from '../api/views.js';
import { usageFailure } from '../failures.js';
import { followOperation, type Followed } from '../progress/follow.effects.js';
import { duration } from './parsers.js';
import type { Session } from './session.js';

/** Options of commands whose work goes on after the answer. */
export interface WaitOptions {
  readonly wait?: boolean;
  readonly timeout?: number;
}

export const addWaitOptions = (command: Command): Command =>
  command
    .option('--wait', 'show progress, and exit when the operation is done')
    .option('--no-wait', 'exit when the request is accepted (default)')
    .option(
      '--timeout <duration>',
      'with --wait: how long to wait, e.g. 10m; the operation continues on the server',
      duration,
    );

/** The same for commands that wait by default. `until`: what is waited for. */
export const addWaitsByDefault = (command: Command, until: string): Command =>
  command
    .option('--wait', `wait until ${until} (default)`, true)
    .option('--no-wait', 'exit when the request is accepted');

/** Watches what a request leads to, with --wait; undefined: without it. */
export const waitFor = async (
  session: Session,
  at: ClusterAt,
  request: { readonly seq: number; readonly what: string },
  { wait, timeout }: WaitOptions,
): Promise<Followed | undefined> => {
  if (wait !== true) return undefined;
  return followOperation(session.api, session.io, at, {
    requestSeq: request.seq,
    timeoutMs: timeout,
    what: request.what,
  });
};

interface Requests {
  readonly seq: number;
  /** Ids of the operations. */
  readonly operations: readonly string[];
  readonly what: string;
}

/** Watches what a request leads to operation by operation, in the order in which they were requested; undefined: without --wait. */
export const waitForAll = async (
  session: Session,
  at: ClusterAt,
  { seq, operations, what }: Requests,
  { wait, timeout }: WaitOptions,
): Promise<readonly Followed[] | undefined> => {
  const { api, io } = session;
  if (wait !== true) return undefined;
  const deadlineMs = timeout === undefined ? undefined : io.now() + timeout;
  const requested = (
    await api.list('/ns/{namespace}/clusters/{cluster}/operations', at, { query: { minSeq: seq } })
  ).filter(({ id }) => operations.includes(id));
  const followed: Followed[] = [];
  for (const operation of requested) {
    const timeoutMs = deadlineMs === undefined ? undefined : Math.max(1, deadlineMs - io.now());
    followed.push(await followOperation(api, io, at, { requestSeq: operation.seq, timeoutMs, what }));
  }
  return followed;
};

/** Before anything is asked of the server. */
export const checkWaitOptions = ({ wait, timeout }: WaitOptions): void => {
  if (wait !== true && timeout !== undefined) throw usageFailure('--timeout needs --wait');
};

import type { Command } from 'commander';
import type { ClusterAt } from '../api/views.js';
import { usageFailure } from '../failures.js';
import { followOperation, type Followed } from '../progress/follow.effects.js';
import { duration } from './parsers.js';
import type { Session } from './session.js';

/** Options of commands whose work continues after the response. */
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

/** The same for commands that wait by default. `until`: the condition. */
export const addWaitsByDefault = (command: Command, until: string): Command =>
  command
    .option('--wait', `wait until ${until} (default)`, true)
    .option('--no-wait', 'exit when the request is accepted');

/** With --wait, watches the effects of a request; otherwise returns undefined. */
export const waitFor = async (
  session: Session,
  at: ClusterAt,
  { seq, what, goal }: { readonly seq: number; readonly what: string; readonly goal?: 'deleted' },
  { wait, timeout }: WaitOptions,
): Promise<Followed | undefined> => {
  if (wait !== true) return undefined;
  return followOperation(session.api, session.io, at, {
    requestSeq: seq,
    timeoutMs: timeout,
    what,
    ...(goal === undefined ? {} : { goal }),
  });
};

interface Requests {
  readonly seq: number;
  /** IDs of the operations. */
  readonly operations: readonly string[];
  readonly what: string;
}

/** With --wait, watches the operations in the order of their requests; otherwise returns undefined. */
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

/** Called before any request. */
export const checkWaitOptions = ({ wait, timeout }: WaitOptions): void => {
  if (wait !== true && timeout !== undefined) throw usageFailure('--timeout needs --wait');
};

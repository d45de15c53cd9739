import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionView } from '../api/views.js';
import type { Session } from '../command/session.js';
import { CliFailure } from '../failures.js';
import { formatDuration } from '../output/duration.js';

const POLL_MS = 200;
/** Settings without a change do not trigger a verification: after this time, the existing result is used. */
const SETTLED_MS = 10_000;

export interface Awaited {
  /** The earlier view; undefined if the connection did not exist. */
  readonly before: ConnectionView | undefined;
  readonly connection: string;
  /** Whether the request may not trigger a verification. */
  readonly maySettle: boolean;
  /** undefined: no timeout. */
  readonly timeoutMs: number | undefined;
}

/** Resolves when a new verification has succeeded; throws the provider's error if it failed. */
export const untilVerified = async ({ api, io }: Session, awaited: Awaited): Promise<ConnectionView> => {
  const { before, connection, maySettle, timeoutMs = Infinity } = awaited;
  const startedAtMs = performance.now();
  for (;;) {
    const view = await api.get('/connections/{connection}', { connection });
    const waitedMs = performance.now() - startedAtMs;
    if (isChecked(view, before)) return orUnreached(view);
    if (maySettle && view.verified !== null && view.problem === '' && waitedMs >= SETTLED_MS) return view;
    if (waitedMs >= timeoutMs) throw view.problem === '' ? tooLong(view, timeoutMs) : unreached(view);
    await sleep(POLL_MS, undefined, { signal: io.interrupts.first });
  }
};

const isChecked = ({ checkedTime }: ConnectionView, before: ConnectionView | undefined): boolean =>
  checkedTime !== null && checkedTime !== before?.checkedTime;

const orUnreached = (view: ConnectionView): ConnectionView => {
  if (view.problem !== '') throw unreached(view);
  return view;
};

const unreached = ({ name, problem }: ConnectionView): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.connection-unreached',
    message: `The connection ${name} is registered, and cannot be used now: ${problem}`,
    help: `Correct the settings and set it again; "fairlead connection verify ${name} --wait" looks again with the same settings.`,
  });

const tooLong = ({ name }: ConnectionView, timeoutMs: number): CliFailure =>
  new CliFailure('timed-out', {
    code: 'cli.timed-out',
    message: `The connection ${name} is registered; it was not verified within ${formatDuration(timeoutMs)}`,
    help: `Look again with "fairlead connection get ${name}".`,
  });

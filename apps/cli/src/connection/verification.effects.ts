import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionView } from '../api/views.js';
import type { Session } from '../command/session.js';
import { CliFailure } from '../failures.js';
import { formatDuration } from '../output/duration.js';

const POLL_MS = 200;
/** Settings that change nothing are no reason to ask the provider: after so long, what is known counts. */
const SETTLED_MS = 10_000;

export interface Awaited {
  /** As it was before; undefined: there was none. */
  readonly before: ConnectionView | undefined;
  readonly connection: string;
  /** It may be that nothing is asked of the provider. */
  readonly maySettle: boolean;
  /** undefined: as long as it takes. */
  readonly timeoutMs: number | undefined;
}

/** Resolves when the provider has been asked and is reached; throws its words when it is not. */
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

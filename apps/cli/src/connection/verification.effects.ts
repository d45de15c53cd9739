import { setTimeout as sleep } from 'node:timers/promises';
import type { Api, ConnectionView } from '../api/api.ports.js';
import { CliFailure } from '../failures.js';
import { formatDuration } from '../output/duration.js';

const POLL_MS = 200;
/** A provider that offers what it offered before is not reported again: for so long it may turn out that it cannot be reached now. */
const SETTLED_MS = 10_000;

export interface Awaited {
  /** As the registration was answered. */
  readonly registered: ConnectionView;
  readonly timeoutMs: number;
  readonly interrupted: AbortSignal;
}

/** Resolves when it is known whether the provider is reached with the settings; throws its words when it is not. */
export const untilVerified = async (api: Api, awaited: Awaited): Promise<ConnectionView> => {
  const { registered, timeoutMs, interrupted } = awaited;
  const startedAtMs = performance.now();
  for (;;) {
    const view = await api.connection(registered.name);
    const waitedMs = performance.now() - startedAtMs;
    if (isNewProblem(view, registered)) throw unreached(view);
    if (isNewlyVerified(view, registered)) return view;
    if (view.verified !== null && view.problem === '' && waitedMs >= SETTLED_MS) return view;
    if (waitedMs >= timeoutMs) throw view.problem === '' ? tooLong(view, timeoutMs) : unreached(view);
    await sleep(POLL_MS, undefined, { signal: interrupted });
  }
};

const isNewProblem = ({ problem }: ConnectionView, before: ConnectionView): boolean =>
  problem !== '' && problem !== before.problem;

const isNewlyVerified = ({ verified, problem }: ConnectionView, before: ConnectionView): boolean =>
  verified !== null && problem === '' && (verified.at !== before.verified?.at || before.problem !== '');

const unreached = ({ name, problem }: ConnectionView): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.connection-unreached',
    message: `The connection ${name} is registered, and cannot be used now: ${problem}`,
    help: `Correct the settings and set it again; "fairlead connection verify ${name}" looks again with the same settings.`,
  });

const tooLong = ({ name }: ConnectionView, timeoutMs: number): CliFailure =>
  new CliFailure('timed-out', {
    code: 'cli.timed-out',
    message: `The connection ${name} is registered; it was not verified within ${formatDuration(timeoutMs)}`,
    help: `Look again with "fairlead connection get ${name}".`,
  });

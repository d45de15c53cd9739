import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../api/api.js';
import type { ApplicationView } from '../api/views.js';
import { CliFailure } from '../failures.js';
import { formatDuration } from '../output/duration.js';

const POLL_MS = 200;

export interface Awaited {
  /** The response to the registration. */
  readonly registered: ApplicationView;
  readonly timeoutMs: number;
  readonly interrupted: AbortSignal;
}

/** Resolves when the application is synchronized; throws the reason if it cannot be. */
export const untilSynchronized = async (
  api: Api,
  { registered, timeoutMs, interrupted }: Awaited,
): Promise<ApplicationView> => {
  const startedAtMs = performance.now();
  for (let view = registered; ; view = await api.get('/applications/{application}', { application: registered.name })) {
    if (view.state === 'Synchronized') return view;
    if (view.state === 'NotSynchronized') throw notSynchronized(view);
    if (performance.now() - startedAtMs >= timeoutMs) throw tooLong(view, timeoutMs);
    await sleep(POLL_MS, undefined, { signal: interrupted });
  }
};

const notSynchronized = ({ name, reason, message }: ApplicationView): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.application-not-synchronized',
    message: `The application ${name} is registered, and is not synchronized (${reason}): ${message}`,
    help: `It is tried again regularly; "fairlead application sync ${name}" tries it now.`,
  });

const tooLong = ({ name }: ApplicationView, timeoutMs: number): CliFailure =>
  new CliFailure('timed-out', {
    code: 'cli.timed-out',
    message: `The application ${name} is registered; it was not synchronized within ${formatDuration(timeoutMs)}`,
    help: `Look again with "fairlead application get ${name}".`,
  });

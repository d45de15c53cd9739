import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../api/api.js';
import type { RealmView } from '../api/views.js';
import { CliFailure } from '../failures.js';
import { formatDuration } from '../output/duration.js';

const POLL_MS = 200;

export interface Awaited {
  /** The response to the registration. */
  readonly registered: RealmView;
  readonly timeoutMs: number;
  readonly interrupted: AbortSignal;
}

/**
 * Resolves when the realm is ready; throws the reason if it is not. An unchanged registration uses the earlier result.
 */
export const untilLooked = async (api: Api, { registered, timeoutMs, interrupted }: Awaited): Promise<RealmView> => {
  const { namespace, name } = registered;
  const startedAtMs = performance.now();
  for (let view = registered; ; view = await api.get('/ns/{namespace}/realms/{realm}', { namespace, realm: name })) {
    if (view.state === 'Ready') return view;
    if (view.state === 'NotReady') throw notReady(view);
    if (performance.now() - startedAtMs >= timeoutMs) throw tooLong(view, timeoutMs);
    await sleep(POLL_MS, undefined, { signal: interrupted });
  }
};

const notReady = ({ name, message }: RealmView): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.realm-not-ready',
    message: `The realm ${name} is registered, and is not ready: ${message}`,
    help: `Repair the cause; it is looked at again when a cluster needs it. Or register it again with what was wrong put right.`,
  });

const tooLong = ({ name }: RealmView, timeoutMs: number): CliFailure =>
  new CliFailure('timed-out', {
    code: 'cli.timed-out',
    message: `The realm ${name} is registered; whether it is ready was not known within ${formatDuration(timeoutMs)}`,
    help: `Look again with "fairlead realm describe ${name}".`,
  });

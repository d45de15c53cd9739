import type { IconName } from './icons.js';

export type Tone = 'ok' | 'work' | 'warning' | 'error' | 'quiet';

export interface Look {
  readonly tone: Tone;
  readonly icon: IconName;
}

const LOOKS: Readonly<Record<string, Look>> = {
  Running: { tone: 'ok', icon: 'ok' },
  Ready: { tone: 'ok', icon: 'ok' },
  ready: { tone: 'ok', icon: 'ok' },
  True: { tone: 'ok', icon: 'ok' },
  Succeeded: { tone: 'ok', icon: 'ok' },
  Completed: { tone: 'ok', icon: 'ok' },
  Done: { tone: 'ok', icon: 'ok' },
  done: { tone: 'ok', icon: 'ok' },
  verified: { tone: 'ok', icon: 'ok' },
  free: { tone: 'ok', icon: 'ok' },
  Synchronized: { tone: 'ok', icon: 'ok' },
  Provisioning: { tone: 'work', icon: 'work' },
  Maintaining: { tone: 'work', icon: 'work' },
  Joining: { tone: 'work', icon: 'work' },
  Bootstrapping: { tone: 'work', icon: 'work' },
  running: { tone: 'work', icon: 'work' },
  Changing: { tone: 'work', icon: 'work' },
  Draining: { tone: 'work', icon: 'work' },
  Preparing: { tone: 'work', icon: 'work' },
  Verifying: { tone: 'work', icon: 'work' },
  Planning: { tone: 'work', icon: 'work' },
  Approved: { tone: 'work', icon: 'work' },
  'in-use': { tone: 'work', icon: 'work' },
  Degraded: { tone: 'warning', icon: 'warning' },
  NotReady: { tone: 'warning', icon: 'warning' },
  NotSynchronized: { tone: 'warning', icon: 'warning' },
  'not-ready': { tone: 'warning', icon: 'warning' },
  Unknown: { tone: 'warning', icon: 'warning' },
  Halted: { tone: 'warning', icon: 'warning' },
  Held: { tone: 'warning', icon: 'pause' },
  Quarantined: { tone: 'warning', icon: 'warning' },
  'kept-out': { tone: 'warning', icon: 'warning' },
  Planned: { tone: 'quiet', icon: 'wait' },
  Failed: { tone: 'error', icon: 'error' },
  failed: { tone: 'error', icon: 'error' },
  Rejected: { tone: 'error', icon: 'error' },
  LeftFailed: { tone: 'error', icon: 'error' },
  Lost: { tone: 'error', icon: 'error' },
  lost: { tone: 'error', icon: 'error' },
  unreached: { tone: 'error', icon: 'error' },
  Paused: { tone: 'quiet', icon: 'pause' },
  Deleting: { tone: 'quiet', icon: 'remove' },
  Removing: { tone: 'quiet', icon: 'remove' },
  Aborted: { tone: 'quiet', icon: 'remove' },
  Aborting: { tone: 'work', icon: 'work' },
};

/** How a state is shown; one that is not known here is quiet. */
export const lookOf = (state: string): Look => LOOKS[state] ?? { tone: 'quiet', icon: 'wait' };

/** Conditions of which `True` is bad news. */
const BAD_WHEN_TRUE: ReadonlySet<string> = new Set([
  ...['HookBlocked', 'Stalled', 'Quarantined', 'WaitingForConnection', 'Expiring', 'Paused'],
]);
/** Conditions that only state what happens. */
const NEUTRAL: ReadonlySet<string> = new Set(['Upgrading', 'Progressing']);

/** The type of a condition, with its status where that is not what the type says. */
export const conditionWord = ({ type, status }: { readonly type: string; readonly status: string }): string =>
  status === 'False' && (BAD_WHEN_TRUE.has(type) || NEUTRAL.has(type)) ? `${type}: no` : type;

export const conditionLook = ({ type, status }: { readonly type: string; readonly status: string }): Look => {
  if (status === 'Unknown') return lookOf('Unknown');
  if (NEUTRAL.has(type)) return status === 'True' ? lookOf('running') : { tone: 'quiet', icon: 'ok' };
  return (status === 'True') === BAD_WHEN_TRUE.has(type) ? lookOf('Degraded') : lookOf('True');
};

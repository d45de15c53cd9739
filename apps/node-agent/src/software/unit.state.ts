import type { HostPort } from '../node/host.ports.js';
import { mustRun } from './item.js';

/** The state of a systemd unit, as in `systemctl is-enabled` and `is-active`. */
export interface UnitState {
  readonly enabled: boolean;
  readonly active: boolean;
}

/** systemctl(1): states for which `is-enabled` exits with 0. */
const ENABLED: ReadonlySet<string> = new Set([
  'enabled',
  'enabled-runtime',
  'static',
  'alias',
  'indirect',
  'generated',
]);
/** States for which `is-active` exits with 0. */
const ACTIVE: ReadonlySet<string> = new Set(['active', 'reloading', 'refreshing']);

/** Queries both with one command. A unit that systemd does not know is neither. */
export const unitState = async (host: HostPort, unit: string): Promise<UnitState> => {
  const shown = await mustRun(host, 'systemctl', ['show', '--property=UnitFileState,ActiveState', unit]);
  const valueOf = (property: string): string => new RegExp(`^${property}=(.*)$`, 'm').exec(shown)?.[1] ?? '';
  return { enabled: ENABLED.has(valueOf('UnitFileState')), active: ACTIVE.has(valueOf('ActiveState')) };
};

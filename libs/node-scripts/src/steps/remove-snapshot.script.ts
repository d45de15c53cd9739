import { AGENT_PATHS } from '@fairlead/contracts';
import { hostPath } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';

export type RemoveSnapshotInput = Readonly<Record<string, never>>;

export type RemoveSnapshotResult = Readonly<Record<string, never>>;

/** Deletes the snapshot for a restore, and the remains of an interrupted upload. */
export const removeSnapshotScript = (): HostScript =>
  script(
    { step: 'remove-snapshot', limitSeconds: 60, lockSeconds: 30 },
    `
rm -f ${hostPath(AGENT_PATHS.snapshot)} ${hostPath(AGENT_PATHS.snapshot)}.*
result '{}'`,
  );

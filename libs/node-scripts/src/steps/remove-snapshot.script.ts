import { AGENT_PATHS } from '@fairlead/contracts';
import { hostPath } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';

export type RemoveSnapshotInput = Readonly<Record<string, never>>;

export type RemoveSnapshotResult = Readonly<Record<string, never>>;

/** Removes the snapshot that a restore was to begin with, and what an upload of it left that did not end. */
export const removeSnapshotScript = (): HostScript =>
  script(
    { step: 'remove-snapshot', limitSeconds: 60, lockSeconds: 30 },
    `
rm -f ${hostPath(AGENT_PATHS.snapshot)} ${hostPath(AGENT_PATHS.snapshot)}.*
result '{}'`,
  );

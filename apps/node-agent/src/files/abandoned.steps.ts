import { AGENT_PATHS } from '@fairlead/contracts';
import type { HostFiles } from './files.ports.js';

/** A step starts, and removes its files, as soon as they are complete. */
const BEGUN_WITHIN_MS = 5 * 60_000;

/**
 * Removes steps that bootstrap-svc sent but that never started, because they contain keys and tokens. Recent ones are
 * kept.
 */
export const removeAbandonedSteps = async (files: HostFiles, nowMs: number): Promise<void> => {
  for (const name of await files.list(AGENT_PATHS.steps)) {
    const path = `${AGENT_PATHS.steps}/${name}`;
    const found = await files.stat(path);
    if (found !== undefined && nowMs - found.modifiedMs > BEGUN_WITHIN_MS) await files.remove(path);
  }
};

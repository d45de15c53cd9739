import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EnvironmentFault } from '../faults.js';
import { readIfAny } from '../folder/files.js';
import { signalGroup } from '../process/command.js';
import { identityOf, isAlive, type ProcessIdentity } from '../process/identity.js';
import { waitUntil } from '../process/waiting.js';

const GRACE_MS = 6_000;
const INSIST_MS = 2_000;
const POLL_MS = 20;

/** Records a started process, so that a later owner of the folder can find it if this one dies without ending it. */
export const rememberProcess = (runDir: string, name: string, pid: number): void => {
  mkdirSync(runDir, { recursive: true });
  writeFileSync(join(runDir, `${name}.pid`), JSON.stringify(identityOf(pid) ?? { pid, birth: null }));
};

export const forgetProcess = (runDir: string, name: string): void =>
  rmSync(join(runDir, `${name}.pid`), { force: true });

/**
 * Ends processes that a dead owner left running: its warden is probably doing that, so this waits first, then sends
 * SIGKILL. Call it only while holding the folder's lock.
 */
export const endLeftovers = async (runDir: string): Promise<void> => {
  const known = remembered(runDir);
  if (known.length === 0) return;
  const living = (): readonly ProcessIdentity[] => known.filter(isAlive);
  for (const { pid } of living()) signalGroup(pid, 'SIGINT');
  if (!(await waitUntil(() => living().length === 0, { timeoutMs: GRACE_MS, everyMs: POLL_MS }))) {
    for (const { pid } of living()) signalGroup(pid, 'SIGKILL');
  }
  if (await waitUntil(() => living().length === 0, { timeoutMs: INSIST_MS, everyMs: POLL_MS })) {
    rmSync(runDir, { recursive: true, force: true });
    return;
  }
  throw new EnvironmentFault('folder-in-use', {
    operation: 'end leftovers',
    target: runDir,
    message: `Processes ${living()
      .map(({ pid }) => pid)
      .join(', ')} of an earlier run still use this data folder and cannot be ended; stop them.`,
  });
};

const remembered = (runDir: string): readonly ProcessIdentity[] => {
  mkdirSync(runDir, { recursive: true });
  return readdirSync(runDir).flatMap((file) => {
    const text = readIfAny(join(runDir, file));
    return text === undefined || text === '' ? [] : [JSON.parse(text) as ProcessIdentity];
  });
};

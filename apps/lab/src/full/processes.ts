import { errorCodeOf } from '@fairlead/contracts';
import { readFileSync, readdirSync } from 'node:fs';

/** Every process of a host has the host's root in its environment; a call over SSH also has its own number. */
export const ROOT_VARIABLE = 'FAIRLEAD_ROOT';
export const CALL_VARIABLE = 'FAIRLEAD_LAB_CALL';

/**
 * Signals every process whose environment has this value, including those that left the process group in which they
 * were started (`timeout` and `setsid` create their own). Does nothing on systems without /proc.
 */
export const signalProcessesWith = (variable: string, value: string, signal: NodeJS.Signals): number => {
  const marked = processesWith(variable, value);
  for (const pid of marked) signalOrGone(pid, signal);
  return marked.length;
};

/** Signals a process group. Does nothing if it no longer exists. */
export const signalGroup = (pid: number, signal: NodeJS.Signals): void => signalOrGone(-pid, signal);

const processesWith = (variable: string, value: string): readonly number[] => {
  const entry = `${variable}=${value}\0`;
  return processIds().filter((pid) => pid !== process.pid && `\0${environmentOf(pid)}`.includes(`\0${entry}`));
};

const processIds = (): readonly number[] => {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch (error) {
    if (isAbsence(error)) return [];
    throw error;
  }
};

const environmentOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch (error) {
    if (isAbsence(error)) return ''; // It ended in the meantime, or belongs to another user.
    throw error;
  }
};

const signalOrGone = (target: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(target, signal);
  } catch (error) {
    if (!isAbsence(error)) throw error;
  }
};

const isAbsence = (error: unknown): boolean =>
  ['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(errorCodeOf(error) ?? '');

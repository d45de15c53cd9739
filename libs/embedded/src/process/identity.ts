import { errorCodeOf } from '@fairlead/contracts';
import { readFileSync } from 'node:fs';

/** Identifies a process permanently: its pid alone may since have been reused. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Boot and start time of the process; null if the system does not report it. */
  readonly birth: string | null;
}

// Fields after the command name, which is in parentheses and may itself contain spaces: state is the 1st, starttime the 20th (proc(5)).
const STATE = 0;
const START_TIME = 19;

/** The identity of a running process; undefined if there is none (a zombie has ended too). */
export const identityOf = (pid: number): ProcessIdentity | undefined => {
  const stat = readOrUndefined(`/proc/${pid}/stat`);
  if (stat === undefined) return process.platform === 'linux' || !answers(pid) ? undefined : { pid, birth: null };
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[STATE] === 'Z' || fields[STATE] === 'X') return undefined;
  return { pid, birth: `${bootId()}/${fields[START_TIME] ?? ''}` };
};

/** Whether that very process is still running. */
export const isAlive = (known: ProcessIdentity): boolean => {
  const current = identityOf(known.pid);
  return current !== undefined && (known.birth === null || current.birth === known.birth);
};

const bootId = (): string => readOrUndefined('/proc/sys/kernel/random/boot_id')?.trim() ?? '';

const answers = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCodeOf(error) === 'EPERM';
  }
};

const readOrUndefined = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // The process ended between two reads, or the system has no /proc.
  }
};

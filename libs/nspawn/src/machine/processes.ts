import { readdirSync, readFileSync } from 'node:fs';
import { identityOf } from '@fairlead/embedded/process';

export interface RunningProcess {
  readonly pid: number;
  readonly words: readonly string[];
  /** /proc/<pid>/cgroup. */
  readonly groups: string;
}

/** Every process of this machine except ourselves. A zombie has ended: only its parent has not collected it. */
export const runningProcesses = (): readonly RunningProcess[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && identityOf(pid) !== undefined)
    .map((pid) => ({
      pid,
      words: textOf(`/proc/${pid}/cmdline`).split('\0').filter(Boolean),
      groups: textOf(`/proc/${pid}/cgroup`),
    }));

const textOf = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // It ended between two reads.
  }
};

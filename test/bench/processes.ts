import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks of Linux per second (`getconf CLK_TCK`), 100 on every Debian. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4_096;
const MEBIBYTE = 1024 * 1024;

export interface ProcessUse {
  readonly cpuSeconds: number;
  readonly rssMiB: number;
}

/** CPU time (of the process and its reaped children) and resident memory, from /proc; zeros if it is gone. */
export const useOf = (pid: number): ProcessUse => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index] ?? 0), 0);
    return { cpuSeconds: ticks / TICKS_PER_SECOND, rssMiB: (Number(fields[21] ?? 0) * PAGE_BYTES) / MEBIBYTE };
  } catch {
    return { cpuSeconds: 0, rssMiB: 0 };
  }
};

/** CPU time of this process' children that have ended. */
export const endedChildrenCpuSeconds = (): number => {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  return [13, 14].reduce((sum, index) => sum + Number(fields[index] ?? 0), 0) / TICKS_PER_SECOND;
};

const childrenOf = (pid: number): readonly number[] => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
};

/** A process and all below it: PostgreSQL has one process per connection. */
export const useOfTree = (pid: number): ProcessUse =>
  childrenOf(pid)
    .map(useOfTree)
    .reduce(
      (sum, use) => ({ cpuSeconds: sum.cpuSeconds + use.cpuSeconds, rssMiB: sum.rssMiB + use.rssMiB }),
      useOf(pid),
    );

/** How often the threads of a process have slept and woken up; 0 if it is gone. */
export const wakeUpsOf = (pid: number): number => {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .map((thread) => readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'))
      .reduce((sum, status) => sum + Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1] ?? 0), 0);
  } catch {
    return 0;
  }
};

export const wakeUpsOfTree = (pid: number): number =>
  childrenOf(pid)
    .map(wakeUpsOfTree)
    .reduce((sum, wakeUps) => sum + wakeUps, wakeUpsOf(pid));

/** Private memory of one process; 0 if it is gone. */
const privateMiB = (pid: number): number => {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const kibibytes = [...rollup.matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB$/gm)];
    return kibibytes.reduce((sum, [, amount]) => sum + Number(amount), 0) / 1024;
  } catch {
    return 0;
  }
};

export const privateMiBOfTree = (pid: number): number =>
  childrenOf(pid)
    .map(privateMiBOfTree)
    .reduce((sum, mib) => sum + mib, privateMiB(pid));

import type { Difference } from '../node/difference.js';
import type { HostPort } from '../node/host.ports.js';
import { mustRun, replaceFile, type Item } from './item.js';

const SWAPS = '/proc/swaps';
const FSTAB = '/etc/fstab';

/** fstab(5): the third field is the file system type. */
const isSwapLine = (line: string): boolean =>
  !line.trimStart().startsWith('#') && line.trim().split(/\s+/)[2] === 'swap';

const isSwapOn = async (host: HostPort): Promise<boolean> => {
  const file = await host.readFile(SWAPS);
  if (file !== undefined) return file.trim().split('\n').length > 1;
  const { code, stdout } = await host.run('swapon', ['--show=NAME', '--noheadings'], { timeoutMs: 10_000 });
  return code === 0 && stdout.trim() !== '';
};

/** The kubelet does not run with swap on (its failSwapOn default); off now and after the next boot. */
export const swapItem = (host: HostPort): Item => ({
  name: 'swap',

  inspect: async () => {
    const differences: Difference[] = [];
    if (await isSwapOn(host)) differences.push({ item: 'swap', what: 'swap', observed: 'on', desired: 'off' });
    const lines = ((await host.readFile(FSTAB)) ?? '').split('\n').filter(isSwapLine);
    if (lines.length > 0)
      differences.push({ item: 'swap', what: FSTAB, observed: `${lines.length} swap lines`, desired: 'none' });
    return differences;
  },

  ensure: async (differences) => {
    if (differences.some(({ what }) => what === 'swap')) await mustRun(host, 'swapoff', ['-a']);
    if (differences.some(({ what }) => what === FSTAB)) {
      const lines = ((await host.readFile(FSTAB)) ?? '').split('\n');
      await replaceFile(
        host,
        FSTAB,
        lines.map((line) => (isSwapLine(line) ? `# ${line} # fairlead: swap off` : line)).join('\n'),
        0o644,
      );
    }
  },
});

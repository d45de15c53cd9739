import { WorldFailure } from '@fairlead/contracts';
import type { Difference } from '../node/difference.js';
import type { HostPort } from '../node/host.ports.js';
import { fileDifference, mustRun, replaceFile, type Item } from './item.js';

/** Pod traffic is routed and, on bridges, filtered. kubernetes.io, container runtimes. */
const SETTINGS: Readonly<Record<string, string>> = {
  'net.ipv4.ip_forward': '1',
  'net.bridge.bridge-nf-call-iptables': '1',
  'net.bridge.bridge-nf-call-ip6tables': '1',
};
const FILE = '/etc/sysctl.d/99-fairlead.conf';
const TEXT = `# Written by Fairlead.\n${Object.entries(SETTINGS)
  .map(([key, value]) => `${key} = ${value}\n`)
  .join('')}`;

const pathOf = (key: string): string => `/proc/sys/${key.replaceAll('.', '/')}`;

/** The value that the kernel uses; undefined: it has no such setting, or this host does not show it. */
const valueOf = async (host: HostPort, key: string): Promise<string | undefined> => {
  const file = await host.readFile(pathOf(key));
  if (file !== undefined) return file.trim();
  const { code, stdout } = await host.run('sysctl', ['-n', key], { timeoutMs: 10_000 });
  return code === 0 ? stdout.trim() : undefined;
};

/** Settings that belong to the kernel and not to this host are read-only in a container; that is for its owner to set. */
const set = async (
  host: HostPort,
  key: string,
  { observed, desired }: { readonly observed: string; readonly desired: string },
): Promise<void> => {
  try {
    await mustRun(host, 'sysctl', ['-w', `${key}=${desired}`]);
  } catch (error) {
    if (!(error instanceof WorldFailure)) throw error;
    const message = `${key} is ${observed} and cannot be set to ${desired} from here: ${error.message}`;
    throw new WorldFailure({ operation: error.operation, target: error.target, message, cause: error });
  }
};

export const sysctlItem = (host: HostPort): Item => ({
  name: 'sysctl',

  inspect: async () => {
    const differences: Difference[] = [];
    for (const [key, desired] of Object.entries(SETTINGS)) {
      const observed = (await valueOf(host, key)) ?? 'unset';
      if (observed !== desired) differences.push({ item: 'sysctl', what: key, observed, desired });
    }
    return [...differences, ...(await fileDifference(host, 'sysctl', FILE, TEXT))];
  },

  ensure: async (differences) => {
    for (const { what, observed, desired } of differences)
      if (what !== FILE) await set(host, what, { observed, desired });
    if (differences.some(({ what }) => what === FILE)) await replaceFile(host, FILE, TEXT, 0o644);
  },
});

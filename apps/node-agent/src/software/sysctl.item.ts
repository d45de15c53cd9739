import { ExternalFailure } from '@fairlead/contracts';
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

/**
 * Parses the output of `sysctl` for settings that this host does not show as files; it omits those that the kernel
 * lacks.
 */
const askedValues = async (host: HostPort, keys: readonly string[]): Promise<ReadonlyMap<string, string>> => {
  const { stdout } = await host.run('sysctl', [...keys], { timeoutMs: 10_000 });
  return new Map(
    stdout.split('\n').flatMap((line) => {
      const [key, value] = line.split(' = ');
      return key === undefined || value === undefined ? [] : [[key, value.trim()] as const];
    }),
  );
};

/** The current values of the kernel. */
const observedValues = async (host: HostPort): Promise<ReadonlyMap<string, string>> => {
  const keys = Object.keys(SETTINGS);
  const files = await Promise.all(keys.map(async (key) => [key, await host.readFile(pathOf(key))] as const));
  const shown = files.flatMap(([key, text]) => (text === undefined ? [] : [[key, text.trim()] as const]));
  const hidden = files.flatMap(([key, text]) => (text === undefined ? [key] : []));
  return new Map([...shown, ...(hidden.length === 0 ? [] : await askedValues(host, hidden))]);
};

/** Kernel-wide settings are read-only in a container and can be changed only by its owner. */
const set = async (
  host: HostPort,
  key: string,
  { observed, desired }: { readonly observed: string; readonly desired: string },
): Promise<void> => {
  try {
    await mustRun(host, 'sysctl', ['-w', `${key}=${desired}`]);
  } catch (error) {
    if (!(error instanceof ExternalFailure)) throw error;
    const message = `${key} is ${observed} and cannot be set to ${desired} from here: ${error.message}`;
    throw new ExternalFailure({ operation: error.operation, target: error.target, message, cause: error });
  }
};

export const sysctlItem = (host: HostPort): Item => ({
  name: 'sysctl',

  inspect: async () => {
    const differences: Difference[] = [];
    const values = await observedValues(host);
    for (const [key, desired] of Object.entries(SETTINGS)) {
      const observed = values.get(key) ?? 'unset';
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

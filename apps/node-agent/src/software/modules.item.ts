import type { Difference } from '../node/difference.js';
import type { HostPort } from '../node/host.ports.js';
import { fileDifference, mustRun, replaceFile, type Item } from './item.js';

/** Required by container images (overlay) and bridged pod traffic (br_netfilter). kubernetes.io, container runtimes. */
const MODULES = ['overlay', 'br_netfilter'] as const;
type Module = (typeof MODULES)[number];

const FILE = '/etc/modules-load.d/fairlead.conf';
const TEXT = `# Written by Fairlead.\n${MODULES.join('\n')}\n`;
const LOADED = '/proc/modules';
const FILE_SYSTEMS = '/proc/filesystems';

/** The names of the loaded modules, or undefined if this host does not show them. */
const loadedModules = async (host: HostPort): Promise<readonly string[] | undefined> => {
  const file = await host.readFile(LOADED);
  if (file !== undefined) return file.split('\n').map((line) => line.split(' ')[0] ?? '');
  const { code, stdout } = await host.run('lsmod', [], { timeoutMs: 10_000 });
  return code === 0 ? stdout.split('\n').map((line) => line.split(/\s/)[0] ?? '') : undefined;
};

/**
 * Detects the feature of a module that is built into the kernel: it is in no list, and often not below /sys/module
 * either.
 */
const FEATURES: Readonly<Record<Module, (host: HostPort) => Promise<boolean>>> = {
  overlay: async (host) =>
    ((await host.readFile(FILE_SYSTEMS)) ?? '').split('\n').some((line) => line.endsWith('\toverlay')),
  br_netfilter: (host) => host.exists('/proc/sys/net/bridge/bridge-nf-call-iptables'),
};

const isThere = async (host: HostPort, module: Module, loaded: readonly string[] | undefined): Promise<boolean> => {
  if ((await FEATURES[module](host)) || (await host.exists(`/sys/module/${module}`))) return true;
  // If the host does not show loaded modules, the file that loads them at boot counts.
  if (loaded === undefined) return (await host.readFile(FILE)) === TEXT;
  return loaded.includes(module);
};

/**
 * Modules are loaded now and at each boot. A kernel with built-in modules, or without module support, needs no
 * modprobe.
 */
export const modulesItem = (host: HostPort): Item => ({
  name: 'kernel-modules',

  inspect: async () => {
    const differences: Difference[] = [];
    const loaded = await loadedModules(host);
    for (const module of MODULES)
      if (!(await isThere(host, module, loaded)))
        differences.push({ item: 'kernel-modules', what: module, observed: 'not loaded', desired: 'loaded' });
    return [...differences, ...(await fileDifference(host, 'kernel-modules', FILE, TEXT))];
  },

  ensure: async (differences) => {
    for (const { what } of differences) if (what !== FILE) await mustRun(host, 'modprobe', [what]);
    if (differences.some(({ what }) => what === FILE)) await replaceFile(host, FILE, TEXT, 0o644);
  },
});

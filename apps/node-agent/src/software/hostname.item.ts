import type { Difference } from '../node/difference.js';
import type { HostPort } from '../node/host.ports.js';
import { mustRun, replaceFile, type Item } from './item.js';

const NAME_FILE = '/etc/hostname';
const HOSTS_FILE = '/etc/hosts';
const RUNNING_NAME = '/proc/sys/kernel/hostname';
const TAG = '# fairlead';

const hostsLine = (name: string): string => `127.0.1.1 ${name} ${TAG}`;

/** The hostname is the name of the node, and resolves (kubeadm's preflight checks that). */
export const hostnameItem = (host: HostPort, name: string): Item => ({
  name: 'hostname',

  inspect: async () => {
    const differences: Difference[] = [];
    const isStored = ((await host.readFile(NAME_FILE)) ?? '').trim() === name;
    // A host without /proc does not show its current hostname.
    const running = (await host.readFile(RUNNING_NAME))?.trim() ?? name;
    if (!isStored || running !== name)
      differences.push({ item: 'hostname', what: 'hostname', observed: isStored ? running : 'other', desired: name });
    const hosts = (await host.readFile(HOSTS_FILE)) ?? '';
    if (!hosts.split('\n').includes(hostsLine(name)))
      differences.push({ item: 'hostname', what: HOSTS_FILE, observed: 'no line for it', desired: hostsLine(name) });
    return differences;
  },

  ensure: async (differences) => {
    if (differences.some(({ what }) => what === 'hostname')) {
      await mustRun(host, 'hostnamectl', ['set-hostname', name]);
      await replaceFile(host, NAME_FILE, `${name}\n`, 0o644);
    }
    if (differences.some(({ what }) => what === HOSTS_FILE)) {
      const others = ((await host.readFile(HOSTS_FILE)) ?? '').split('\n').filter((line) => !line.endsWith(TAG));
      const text = [...others.filter((line, index) => line !== '' || index < others.length - 1), hostsLine(name), ''];
      await replaceFile(host, HOSTS_FILE, text.join('\n'), 0o644);
    }
  },
});

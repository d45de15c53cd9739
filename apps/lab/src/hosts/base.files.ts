import type { HostFiles } from '../files/host.files.js';
import { ARCHITECTURE, KERNEL_VERSION, type HostFacts } from './host.record.js';

/** The files of a fresh Debian 12 cloud image that Fairlead's software reads. They identify the host as simulated. */
export const writeBaseFiles = async (files: HostFiles, facts: HostFacts): Promise<void> => {
  for (const [path, text] of Object.entries(baseFiles(facts))) await files.writeText(path, text);
};

const baseFiles = ({ name, address, osImage, machineId, zone }: HostFacts): Readonly<Record<string, string>> => ({
  '/etc/os-release': [
    `PRETTY_NAME="${osImage}"`,
    'NAME="Debian GNU/Linux"',
    'VERSION_ID="12"',
    'VERSION="12 (bookworm)"',
    'VERSION_CODENAME=bookworm',
    'ID=debian',
    'VARIANT="Fairlead lab simulation"',
    'VARIANT_ID=fairlead-lab',
    '',
  ].join('\n'),
  '/etc/debian_version': '12.8\n',
  '/etc/hostname': `${name}\n`,
  '/etc/hosts': `127.0.0.1\tlocalhost\n${address}\t${name}\n`,
  '/etc/machine-id': `${machineId
    .replace(/[^0-9a-f]/g, '')
    .padEnd(32, '0')
    .slice(0, 32)}\n`,
  '/etc/resolv.conf': 'nameserver 127.0.0.53\n',
  '/etc/fstab': [
    '# Simulated by Fairlead lab',
    'UUID=5f1e3c1a-0000-4000-8000-6661726c6162 / ext4 errors=remount-ro 0 1',
    '/swapfile none swap sw 0 0',
    '',
  ].join('\n'),
  '/etc/fairlead-lab': `This host is a simulation by Fairlead lab (machine ${machineId}, zone ${zone}).\n`,
  '/etc/sysctl.conf': '# Simulated by Fairlead lab\n',
  '/etc/sysctl.d/99-sysctl.conf': '# Simulated by Fairlead lab\n',
  '/etc/modules-load.d/modules.conf': '# Simulated by Fairlead lab\n',
  '/lib/systemd/system/ssh.service':
    '[Unit]\nDescription=Simulated by Fairlead lab\n\n[Service]\nExecStart=/usr/sbin/sshd -D\n',
  '/etc/systemd/system/README': `Units of a simulated host, ${ARCHITECTURE}, kernel ${KERNEL_VERSION}.\n`,
  '/root/.profile': '',
  '/var/lib/dpkg/status': '',
  '/var/log/journal/README': 'Logs of units are kept here as text, one file per unit.\n',
  '/run/README': 'Simulated by Fairlead lab.\n',
  '/tmp/README': 'Simulated by Fairlead lab.\n',
  '/opt/README': 'Simulated by Fairlead lab.\n',
  '/var/tmp/README': 'Simulated by Fairlead lab.\n',
});

import type { HostFacts } from './look.script.js';

const MIB = 20_000;

/** A host that can become a node. */
export const FREE_HOST: HostFacts = {
  user: '0',
  hasSystemd: true,
  machine: 'x86_64',
  kernel: '6.12.48+deb13-amd64',
  cgroup: 'v2',
  machineId: '',
  productUuid: '',
  addresses: [],
  clock: 0,
  leftovers: [],
  units: [],
  devices: [],
  containers: [],
  rules: [],
  ports: [],
  agent: null,
  folders: ['/var/lib', '/opt', '/usr/bin', '/etc', '/tmp'].map((path) => ({
    path,
    freeMiB: MIB,
    usedPercent: 40,
    options: 'rw,relatime',
  })),
  answering: [],
};

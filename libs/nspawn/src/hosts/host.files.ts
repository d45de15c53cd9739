import { SUDO_USER } from '../rootfs/recipe.rules.js';

/** A file of one host that its layers lack. */
export interface HostFile {
  readonly path: string;
  readonly content: string;
  readonly mode: number;
  readonly owner: number;
}

const ROOT = 0;

export interface HostIdentity {
  readonly name: string;
  readonly address: string;
  readonly prefix: number;
  readonly gateway: string;
  readonly machineId: string;
  readonly authorizedKeys: readonly string[];
  readonly hostKey: { readonly privateKeyFile: string; readonly publicKeyLine: string };
}

/**
 * The files that are specific to a host. Its name server is the bridge, where nothing listens on that port: a lookup of
 * an external name is refused at once instead of timing out, and CoreDNS detects no loop, as it would at 127.0.0.1.
 */
export const hostFiles = (host: HostIdentity): readonly HostFile[] => {
  const keys = host.authorizedKeys.map((key) => `${key.trim()}\n`).join('');
  return [
    plain('etc/hostname', `${host.name}\n`),
    plain('etc/hosts', `127.0.0.1 localhost\n${host.address} ${host.name}\n`),
    plain('etc/resolv.conf', `nameserver ${host.gateway}\noptions attempts:1 timeout:1\n`),
    plain('etc/machine-id', `${host.machineId}\n`),
    plain('etc/systemd/network/10-host0.network', networkFile(host)),
    { path: 'etc/ssh/ssh_host_ed25519_key', content: host.hostKey.privateKeyFile, mode: 0o600, owner: ROOT },
    plain('etc/ssh/ssh_host_ed25519_key.pub', host.hostKey.publicKeyLine),
    { path: 'root/.ssh/authorized_keys', content: keys, mode: 0o600, owner: ROOT },
    { path: `home/${SUDO_USER.name}/.ssh/authorized_keys`, content: keys, mode: 0o600, owner: SUDO_USER.id },
  ];
};

const plain = (path: string, content: string): HostFile => ({ path, content, mode: 0o644, owner: ROOT });

/**
 * The hardware address derives from the IP address: neighbours immediately know a new host with a reused address,
 * instead of sending to the old one for half a minute.
 */
const hardwareAddress = (address: string): string =>
  ['02', 'fa', ...address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'))].join(':');

const networkFile = ({ address, prefix, gateway }: HostIdentity): string => `[Match]
Name=host0

[Link]
MACAddress=${hardwareAddress(address)}

[Network]
Address=${address}/${prefix}
Gateway=${gateway}
LinkLocalAddressing=no
IPv6AcceptRA=no
`;

/** Folders of the upper layer whose owner or mode differ from 0:0 755; overlayfs uses those of the upper layer. */
export const HOST_FOLDERS: readonly Omit<HostFile, 'content'>[] = [
  { path: 'root', mode: 0o700, owner: ROOT },
  { path: 'root/.ssh', mode: 0o700, owner: ROOT },
  { path: `home/${SUDO_USER.name}`, mode: 0o755, owner: SUDO_USER.id },
  { path: `home/${SUDO_USER.name}/.ssh`, mode: 0o700, owner: SUDO_USER.id },
];

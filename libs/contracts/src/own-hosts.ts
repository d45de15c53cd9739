import * as z from 'zod';
import { HostPower } from './host-power.js';
import { HostProfile } from './hosts.js';
import { NodeName, SecretRef } from './ids.js';
import { limitedRecord } from './limited.record.js';
import { addressInUrl, isSameAddress, normalAddress } from './network/addresses.js';
import type { RefusalCode } from './refusals.js';
import { faultsOf, type CodeOfForm, type SettingFault } from './setting-faults.js';

/** Maximum hosts per inventory. */
export const OWN_HOSTS_MAX = 1_000;

/** What an inspection of a host checks, in the order in which it does. */
export const HOST_CHECKS = ['ssh', 'hostKey', 'root', 'system', 'address', 'clean', 'clock', 'disk'] as const;
export type HostCheck = (typeof HOST_CHECKS)[number];

const check = (doc: string) => z.string().optional().describe(`${doc}. Empty: passed; absent: not checked`);

/** The result of each check of a host. */
export const HostChecks = z.strictObject({
  ssh: check('It answers, accepts the key, runs commands and transfers files'),
  hostKey: check('It has the host key that is known'),
  root: check('Commands run as root, if need be by sudo without a password'),
  system: check('Kernel, architecture, systemd and cgroups are those that Kubernetes needs'),
  address: check('It has the address of its node'),
  clean: check('Nothing is left of another cluster'),
  clock: check('Its clock is that of Fairlead'),
  disk: check('The folders of a node are writable, and have enough space'),
});
export type HostChecks = z.infer<typeof HostChecks>;

/** The machine size of every inventory host. */
export const ANY_HOST = 'ssh.any';

/** The port of API servers on their own nodes, which a load balancer on the same node must not use. */
const API_SERVER_PORT = 6443;

/** CB-Ladybug's port of the load-balanced API. */
const BALANCED_PORT = 9998;

const address = z.union([z.ipv4(), z.ipv6()], { error: 'is not an IP address' });
const port = z.int().min(1).max(65_535);
const user = z
  .string()
  .regex(/^[a-z_][a-z0-9_-]{0,31}$/, { error: 'is not a Linux user name' })
  .describe('Other than root: commands run through sudo -n');
export const HostKey = z
  .string()
  .regex(/^SHA256:[A-Za-z0-9+/]{43}$/, {
    error: 'is not a fingerprint; ssh-keygen -lf prints it as SHA256:<43 characters>',
  })
  .describe('Fingerprint of the host key; absent: the first one seen is pinned');
const keyRef = SecretRef.check(z.maxLength(253)).describe(
  'Another private key of this connection: gateway.connection.<connection>.<name>, given as settings.keys.<name>',
);

/** Parts of a host through which its previous user could regain access, with their display names. */
export const HOST_BASELINE = {
  sshKeys: 'the authorized SSH keys',
  sshServer: 'the files of the SSH server',
  accounts: 'the accounts that may log in, or sudoers and PAM',
  jobs: 'the cron jobs or preloaded libraries',
  units: 'the units of systemd',
  runtime: "the agent's runtime files",
  settings: 'the host name, fstab or the configuration of containerd',
} as const;

/** One event may contain a thousand of these, and a message is at most 1 MiB. */
const digest = z.string().regex(/^[0-9a-f]{32}$/);

/** The first 128 bits of the SHA-256 of each part, in hex, recorded while the host was free. */
export const HostBaseline = z.strictObject({
  sshKeys: digest,
  sshServer: digest,
  accounts: digest,
  jobs: digest,
  units: digest,
  runtime: digest,
  settings: digest.optional().describe('Absent: the host was taken before this was recorded'),
} satisfies Record<keyof typeof HOST_BASELINE, z.ZodType>);
export type HostBaseline = z.infer<typeof HostBaseline>;

/** The secret of a connection, or one of its additional keys by name. */
export const connectionSecretRef = (connection: string, key?: string): SecretRef =>
  SecretRef.parse(`gateway.connection.${connection}${key === undefined ? '' : `.${key}`}`);

export const isOwnSecret = (connection: string, ref: string): boolean =>
  ref === connectionSecretRef(connection) || ref.startsWith(`${connectionSecretRef(connection)}.`);

const LABEL_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
/** Per host. */
const LABELS_MAX = 64;
const labelValue = z.union([z.literal(''), z.string().regex(LABEL_NAME, { error: 'is not a label value' })]);
const labelKey = z
  .string()
  .regex(/^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/, {
    error: 'is not a label key of Kubernetes, such as tier or example.com/tier',
  })
  .refine((key) => !/(^|\.)(kubernetes|k8s)\.io\//.test(key), {
    error: 'is a label that a kubelet may not give itself (NodeRestriction admission)',
  });

/** One host of an inventory. */
export const OwnHost = z.strictObject({
  name: NodeName.describe(
    'What the host is called in the inventory; it stays the same host whatever its address becomes',
  ),
  address: address.describe(
    'Where it is reached over SSH; without privateAddress also the address of the node it becomes',
  ),
  privateAddress: address
    .optional()
    .describe(
      'The address that an interface of the host has, where address is another one (1:1 NAT, a network for administration): nodes, etcd and pods use it',
    ),
  port: port.default(22),
  user: user.default('root'),
  zone: labelValue.default('').describe('Machines of a cluster are spread over zones'),
  labels: limitedRecord(labelKey, labelValue, LABELS_MAX).default({}).describe('Labels of the node it becomes'),
  hostKey: HostKey.optional(),
  spec: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/, { error: 'is not the name of a machine size' })
    .optional()
    .describe(`A machine size of its own, beside ${ANY_HOST}`),
  keyRef: keyRef.optional(),
  power: HostPower.optional().describe('How its power is controlled; absent: by hand'),
});
export type OwnHost = z.output<typeof OwnHost>;

const JumpHost = z.strictObject({
  address: z.union([address, z.hostname().max(253)], { error: 'is neither an IP address nor a host name' }),
  port: port.default(22),
  user: user.default('root'),
  hostKey: HostKey.optional(),
  keyRef: keyRef.optional(),
});
export type JumpHost = z.output<typeof JumpHost>;

const Shape = z.strictObject({
  hosts: z.array(OwnHost).min(1).max(OWN_HOSTS_MAX),
  jump: JumpHost.optional().describe('The host through which all others are reached'),
  apiAddress: z
    .union([address, z.array(address).min(1).max(100)], { error: 'is neither an IP address nor a list of them' })
    .optional()
    .describe(
      'Free addresses in the network of the hosts, one for each cluster: keepalived holds it on a control plane',
    ),
  apiEndpoint: z
    .string()
    .max(253 + 6)
    .regex(/^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):\d{1,5}$/, { error: 'is no <host>:<port>' })
    .optional()
    .describe('<host>:<port> of a balancer of yours; it must send to port 6443 of the control planes'),
  apiPort: port.default(BALANCED_PORT).describe('Where the balanced API listens at apiAddress'),
  hostReuse: z
    .enum(['same-namespace', 'any-namespace'], { error: 'is neither same-namespace nor any-namespace' })
    .default('same-namespace')
    .describe(
      'Who may have a host that a cluster gave back wiped: clusters of the namespace that used it last, or those of any that the connection is granted to',
    ),
  networkCidr: z
    .union([z.cidrv4(), z.cidrv6()], { error: 'is not a network, e.g. 10.0.0.0/24' })
    .optional()
    .describe('The network of the hosts: pods and services must not have addresses of it'),
  profile: HostProfile.optional().describe(
    'What differs between these hosts and those that Fairlead takes for granted',
  ),
});

type Settings = z.output<typeof Shape>;
interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly code: RefusalCode;
}

/** The host's own address: the address of its node and etcd member, to which other nodes connect. */
export const nodeAddressOf = ({ address, privateAddress }: Pick<OwnHost, 'address' | 'privateAddress'>): string =>
  privateAddress ?? address;

/** Every distinct address of the host. */
export const addressesOf = (host: Pick<OwnHost, 'address' | 'privateAddress'>): readonly string[] => [
  ...new Set([host.address, nodeAddressOf(host)]),
];

/** Hosts whose name an earlier host already has. */
const repeatedNames = (hosts: readonly OwnHost[]): readonly Fault[] =>
  hosts.flatMap(({ name }, at) => {
    const first = hosts.findIndex((other) => other.name.toLowerCase() === name.toLowerCase());
    const message = `${name} is the name of hosts[${first}] as well`;
    return first === at ? [] : [{ path: ['hosts', at, 'name'], message, code: 'connection.host-repeated' }];
  });

/** An address must belong to one host, whichever field it is in. */
const repeatedAddresses = (hosts: readonly OwnHost[]): readonly Fault[] => {
  const owners = new Map<string, number>();
  return hosts.flatMap((host, at) =>
    (['address', 'privateAddress'] as const).flatMap((field): readonly Fault[] => {
      const value = host[field];
      if (value === undefined) return [];
      const first = owners.get(normalAddress(value)) ?? at;
      owners.set(normalAddress(value), first);
      const message = `${value} is an address of hosts[${first}] as well`;
      return first === at ? [] : [{ path: ['hosts', at, field], message, code: 'connection.host-repeated' }];
    }),
  );
};

export const apiAddressesOf = ({ apiAddress = [] }: Pick<Settings, 'apiAddress'>): readonly string[] =>
  typeof apiAddress === 'string' ? [apiAddress] : apiAddress;

const sharedAddressFaults = (addresses: readonly string[], hosts: readonly OwnHost[]): readonly Fault[] =>
  addresses
    .filter((shared, at) =>
      [...hosts.flatMap(addressesOf), ...addresses.slice(0, at)].some((other) => isSameAddress(other, shared)),
    )
    .map((shared) => ({
      path: ['apiAddress'],
      message: `must be an address that no host has and that is listed once, which ${shared} is not`,
      code: 'connection.api-address-taken',
    }));

const apiFaults = (settings: Settings): readonly Fault[] => {
  const addresses = apiAddressesOf(settings);
  const faults = [...sharedAddressFaults(addresses, settings.hosts)];
  if (addresses.length > 0 && settings.apiEndpoint !== undefined)
    faults.push({
      path: ['apiEndpoint'],
      message: 'must be left out where apiAddress is given: give one of them',
      code: 'connection.api-ambiguous',
    });
  if (addresses.length > 0 && settings.apiPort === API_SERVER_PORT)
    faults.push({
      path: ['apiPort'],
      message: `${API_SERVER_PORT} is the port of the API servers themselves`,
      code: 'connection.api-port-taken',
    });
  const endpointPort = Number(settings.apiEndpoint?.split(':').at(-1) ?? 1);
  if (endpointPort < 1 || endpointPort > 65_535)
    faults.push({
      path: ['apiEndpoint'],
      message: `must end with a port from 1 to 65535, not ${endpointPort}`,
      code: 'connection.api-endpoint-invalid',
    });
  return faults;
};

/** Settings of an `ssh` connection: an inventory of existing hosts, which clusters allocate and release. */
export const SshSettings = Shape.superRefine((settings, context) => {
  const { hosts } = settings;
  const faults = [...repeatedNames(hosts), ...repeatedAddresses(hosts), ...apiFaults(settings)];
  for (const { path, message, code } of faults)
    context.addIssue({ code: 'custom', path: [...path], message, params: { code } });
});
export type SshSettings = z.output<typeof SshSettings>;

const codeOfForm: CodeOfForm = (path) => {
  const [first, , last] = path;
  if (first === 'apiEndpoint') return 'connection.api-endpoint-invalid';
  return first === 'hosts' && last === 'name' ? 'connection.host-name-invalid' : undefined;
};

/** Faults of the settings of an `ssh` connection, each with its field; empty: none. */
export const sshSettingFaults = (settings: unknown): readonly SettingFault[] =>
  faultsOf(SshSettings, settings, codeOfForm);

/** An address that a cluster on the connection must avoid, and a description of its owner. */
export interface KnownAddress {
  readonly address: string;
  readonly owner: string;
}

/** Every address in the settings of an `ssh` connection: a cluster's own networks must not contain any of them. */
export const inventoryAddresses = (connection: string, settings: SshSettings): readonly KnownAddress[] => {
  const { hosts, apiEndpoint, profile } = settings;
  const urls = [
    { url: apiEndpoint, owner: `apiEndpoint of connection ${connection}` },
    { url: profile?.source?.kind === 'files' ? profile.source.location : undefined, owner: 'the software mirror' },
    { url: profile?.imageRepository, owner: 'the image repository' },
  ];
  return [
    ...hosts.flatMap((host) =>
      addressesOf(host).map((address) => ({ address, owner: `host ${host.name} of connection ${connection}` })),
    ),
    ...apiAddressesOf(settings).map((address) => ({ address, owner: `apiAddress of connection ${connection}` })),
    ...urls.flatMap(({ url, owner }) => {
      const address = url === undefined ? undefined : addressInUrl(url);
      return address === undefined ? [] : [{ address, owner }];
    }),
  ];
};

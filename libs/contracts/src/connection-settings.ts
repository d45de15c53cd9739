import * as z from 'zod';
import { AwsSettings } from './aws-settings.js';
import { ApiNetworks } from './api-networks.js';
import { LetsCloudController } from './cloud.setting.js';
import type { CloudController } from './cluster-spec.js';
import { HostProfile } from './hosts.js';
import { limitedRecord } from './limited.record.js';
import { isOfficial } from './mirror.js';
import { OpenstackSettings } from './openstack-settings.js';
import { ANY_HOST, SshSettings, sshSettingFaults } from './own-hosts.js';
import { refuse, type Refusal } from './refusals.js';
import { faultsOf, settingPath, type SettingFault } from './setting-faults.js';
import { trustFault } from './software.trust.js';
import { TEXT_LENGTH_MAX } from './text.limits.js';

const name = z
  .string()
  .regex(/^[A-Za-z0-9][-A-Za-z0-9._:/]{0,126}$/, { error: 'is not a name: letters, digits and - . _ : / are allowed' });
const folder = z
  .string()
  .max(TEXT_LENGTH_MAX)
  .regex(/^\/[^:,\\\s"]*$/, { error: 'is not an absolute path without blanks, colons, commas and quotes' });

/** Settings of a `lab` connection. */
export const LabSettings = z.strictObject({
  endpoint: z
    .url({ protocol: /^https?$/, error: 'is not an http or https URL' })
    .max(TEXT_LENGTH_MAX)
    .describe("The lab's API, e.g. http://127.0.0.1:7070"),
  image: name.default('debian-12').describe('The image of its machines'),
  networkCidr: z
    .cidrv4({ error: 'is not a network, e.g. 10.0.0.0/24' })
    .optional()
    .describe('The network of its machines; default: a /24 that follows from the name of the connection'),
  peerNetworks: z
    .array(z.cidrv4({ error: 'is not a network, e.g. 10.0.0.0/24' }))
    .max(20)
    .optional()
    .describe('Networks of other connections whose machines are in the same clusters: they may connect to kubelets'),
  apiNetworks: ApiNetworks,
  cloudController: LetsCloudController,
  virtualAddresses: z
    .boolean()
    .default(false)
    .describe(
      'Its nodes may hold virtual addresses: the hosts of a light lab simulate VRRP and haproxy, others do not',
    ),
});
export type LabSettings = z.output<typeof LabSettings>;

/** Settings of an `nspawn` connection. Its provider checks whether hosts can use the network. */
export const NspawnSettings = z.strictObject({
  stateDir: folder.describe('Where the hosts are kept, in a folder of the connection'),
  cacheDir: folder.optional().describe('Where the root file system is kept'),
  mirror: folder.optional().describe("Kubernetes' own files, made by npm run kubernetes:build"),
  system: z
    .enum(['debian-12', 'debian-13'], { error: 'is neither debian-12 nor debian-13' })
    .default('debian-13')
    .describe('What hosts are made of'),
  networkCidr: z.cidrv4({ error: 'is not a network, e.g. 198.18.7.0/24' }).optional(),
  zones: z.array(name).min(1).max(100).default(['local-1']),
  profile: HostProfile.optional().describe('What differs from what the provider says of its hosts'),
});
export type NspawnSettings = z.output<typeof NspawnSettings>;

/** Settings of a `join` connection: its hosts exist already, and connect by themselves. */
export const JoinSettings = z.strictObject({
  profile: HostProfile.optional().describe('What differs between its hosts and those that Fairlead takes for granted'),
});
export type JoinSettings = z.output<typeof JoinSettings>;

/** Only numbers that JSON represents exactly. */
const optionValue = z.union([
  z.string().max(TEXT_LENGTH_MAX),
  z.number().min(Number.MIN_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER),
  z.boolean(),
]);

/** Settings of an `external` connection: its provider is a separate process. */
export const ExternalSettings = z.strictObject({
  address: z
    .string()
    .max(253)
    .regex(/^(?:unix:\/[^\s?#]+|[A-Za-z0-9.-]+:\d{1,5}|\[[0-9a-f:]+\]:\d{1,5})$/, {
      error: 'is neither unix:/path nor host:port',
    })
    .describe('Where the provider is served: unix:/run/provider.sock, or host:port with TLS, on this machine without'),
  networkCidr: z
    .cidrv4({ error: 'is not a network, e.g. 10.0.0.0/24' })
    .optional()
    .describe('The network of its machines; default: a /24 that follows from the name of the connection'),
  options: limitedRecord(name, optionValue, 50).default({}).describe('What the provider itself lets be set'),
});
export type ExternalSettings = z.output<typeof ExternalSettings>;

/** The providers and the settings schema of each. Nothing else is ever recorded. */
export const PROVIDER_SETTINGS = {
  aws: AwsSettings,
  external: ExternalSettings,
  join: JoinSettings,
  lab: LabSettings,
  nspawn: NspawnSettings,
  openstack: OpenstackSettings,
  ssh: SshSettings,
} as const;
export type ProviderName = keyof typeof PROVIDER_SETTINGS;
export const PROVIDERS = Object.keys(PROVIDER_SETTINGS) as readonly ProviderName[];

/** Differences between providers that matter outside their adapters. */
export interface ProviderTraits {
  /** Its settings are `SshSettings`: hosts and SSH keys belong to the user. */
  readonly hasInventory: boolean;
  /** Its machines exist already and connect by themselves: pools grow when hosts join. */
  readonly hostsJoin: boolean;
  /** It creates machines with user data, which they run at their first boot. */
  readonly takesUserData: boolean;
  /** It creates machines with the image that a pool declares; false: they have that of the connection, or none. */
  readonly choosesImages: boolean;
  /** Whose cloud controller clusters of its machines can run; undefined: there is none. */
  readonly cloudController?: CloudController;
  /** Its machines run no workloads. */
  readonly isSimulated: boolean;
  /** The isolation between tenants of its machines. */
  readonly isolation: string;
  /** Why its machines are not a security boundary; undefined: they are one. */
  readonly sharedBoundary?: string;
  /** Why machines that no cluster has planned cannot become nodes; undefined: they can. */
  readonly adoptionObstacle?: string;
  /**
   * Whether nodes share a network in which they may take further addresses, or the setting that enables it. Cloud
   * networks forbid it.
   */
  readonly sharedNetwork: boolean | { readonly setting: string };
  /** An address in the nodes' network, if the settings list no hosts; undefined: unknown. */
  readonly nodeAddress?: string;
  /** Settings that locate its machines: changing them loses the machines. Inventory hosts are compared by name. */
  readonly location: readonly string[];
  /** The setting with the address that receives the connection's credential; undefined: none. */
  readonly credentialAddress?: string;
  /** Defaults of `fairlead init` for the names of connection and machine type. */
  readonly example: { readonly connection: string; readonly machineType: string; readonly caution?: string };
}

const DELETED_MACHINES = 'machines are deleted, not used again';

export const PROVIDER_TRAITS: Readonly<Record<ProviderName, ProviderTraits>> = {
  aws: {
    choosesImages: true,
    cloudController: 'aws',
    hasInventory: false,
    hostsJoin: false,
    takesUserData: true,
    isSimulated: false,
    isolation: DELETED_MACHINES,
    sharedNetwork: false,
    location: ['credentials', 'accessKeyId', 'subnets', 'endpoint'],
    credentialAddress: 'endpoint',
    example: {
      connection: 'aws',
      machineType: 't3.medium',
      caution: 'instances of the account, which cost what AWS charges for them',
    },
  },
  external: {
    choosesImages: true,
    hasInventory: false,
    hostsJoin: false,
    isSimulated: false,
    isolation: DELETED_MACHINES,
    adoptionObstacle: 'its protocol has no call for it',
    sharedNetwork: false,
    location: ['address'],
    credentialAddress: 'address',
    takesUserData: false,
    example: { connection: 'site', machineType: 'medium', caution: 'its provider must be running' },
  },
  join: {
    choosesImages: false,
    hasInventory: false,
    hostsJoin: true,
    takesUserData: false,
    isSimulated: false,
    isolation: 'a host is reset when its node leaves, and stays with its owner',
    sharedNetwork: false,
    location: [],
    example: {
      connection: 'edge',
      machineType: 'join.any',
      caution: 'only workers join by themselves: name another connection for control planes',
    },
  },
  lab: {
    choosesImages: true,
    cloudController: 'lab',
    hasInventory: false,
    hostsJoin: false,
    takesUserData: true,
    isSimulated: true,
    isolation: DELETED_MACHINES,
    sharedNetwork: { setting: 'virtualAddresses' },
    location: ['endpoint'],
    credentialAddress: 'endpoint',
    example: { connection: 'lab', machineType: 'lab.medium', caution: 'a simulation: no workload runs there' },
  },
  nspawn: {
    choosesImages: false,
    hasInventory: false,
    hostsJoin: false,
    takesUserData: false,
    isSimulated: false,
    isolation: 'none: its hosts share the kernel of this machine, so they are no security boundary',
    sharedBoundary: 'its hosts share one kernel',
    adoptionObstacle: 'a local host is made for one cluster and cannot move to another one',
    sharedNetwork: true,
    nodeAddress: '198.18.0.0',
    location: ['stateDir', 'networkCidr'],
    example: {
      connection: 'nspawn',
      machineType: 'nspawn.medium',
      caution: 'containers that share the kernel of this machine',
    },
  },
  openstack: {
    choosesImages: true,
    cloudController: 'openstack',
    hasInventory: false,
    hostsJoin: false,
    takesUserData: false,
    isSimulated: false,
    isolation: DELETED_MACHINES,
    sharedNetwork: false,
    location: ['authUrl', 'applicationCredential', 'network'],
    credentialAddress: 'authUrl',
    example: {
      connection: 'openstack',
      machineType: 'm1.medium',
      caution: 'servers of the cloud, which cost what it charges for them',
    },
  },
  ssh: {
    choosesImages: false,
    hasInventory: true,
    hostsJoin: false,
    takesUserData: false,
    isSimulated: false,
    isolation: 'hosts are wiped when released; other namespaces get them only with hostReuse: any-namespace',
    adoptionObstacle: 'hosts are taken from the inventory, and a free one becomes a node when a pool grows',
    sharedNetwork: true,
    location: [],
    example: { connection: 'site', machineType: ANY_HOST },
  },
};

const UNKNOWN_PROVIDER: Omit<ProviderTraits, 'example'> = {
  choosesImages: false,
  hasInventory: false,
  hostsJoin: false,
  takesUserData: false,
  isSimulated: false,
  isolation: DELETED_MACHINES,
  sharedNetwork: false,
  location: [],
};

/** The traits of a provider by name. The log may contain providers that this version does not have. */
export const traitsOf = (provider: string): Omit<ProviderTraits, 'example'> =>
  isProvider(provider) ? PROVIDER_TRAITS[provider] : UNKNOWN_PROVIDER;

/** The inventory of a connection; undefined: its provider has none, or the settings are not valid. */
export const inventoryOf = (connection: {
  readonly provider: string;
  readonly settings: unknown;
}): SshSettings | undefined =>
  traitsOf(connection.provider).hasInventory ? SshSettings.safeParse(connection.settings).data : undefined;

export const adoptionFault = (connection: {
  readonly name: string;
  readonly provider: string;
}): Refusal | undefined => {
  const { name, provider } = connection;
  const detail = traitsOf(provider).adoptionObstacle;
  return detail === undefined ? undefined : refuse('connection.adoption-unsupported', { connection: name, detail });
};

export const isProvider = (provider: string): provider is ProviderName => Object.hasOwn(PROVIDER_SETTINGS, provider);

const USER_IN_URL = /^[a-z][a-z0-9+.-]*:[/\\]*[^/\\?#\s]*@/i;
const PASSWORD_BEFORE_HOST = /^[^\s/@][^\s/@:]*:[^\s/@]*@/;
const QUERY_IN_URL = /^[a-z][a-z0-9+.-]*:\/\/[^?#]*[?#]/i;
const PRIVATE_KEY = /-----BEGIN/;

/** Why a text must not be recorded in the log; undefined: it may be. */
const secretIn = (text: string): string | undefined => {
  if (USER_IN_URL.test(text) || PASSWORD_BEFORE_HOST.test(text))
    return 'has a user or a password before its host; give the credential as the secret';
  if (QUERY_IN_URL.test(text)) return 'is a URL with a query or a fragment, where credentials hide; leave them out';
  return PRIVATE_KEY.test(text) ? 'holds a key or a certificate; give it as the secret' : undefined;
};

const secretsIn = (value: unknown, path: readonly PropertyKey[]): readonly SettingFault[] => {
  if (typeof value === 'string') {
    const message = secretIn(value);
    return message === undefined ? [] : [{ field: settingPath(path), message }];
  }
  if (Array.isArray(value)) return value.flatMap((item, at) => secretsIn(item, [...path, at]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => secretsIn(inner, [...path, key]));
};

const BUNDLE_NAME = /^[A-Za-z0-9][-A-Za-z0-9._]{0,126}$/;

/**
 * A bundle is given by name: a path could make bootstrap-svc send any of its files to a host. Files of a mirror must be
 * verifiable by something that does not come from the mirror.
 */
const sourceFaults = (settings: unknown): readonly SettingFault[] => {
  const parsed = z.object({ profile: HostProfile }).safeParse(settings);
  const source = parsed.success ? parsed.data.profile.source : undefined;
  if (source?.kind === 'files') {
    const { kind: _, location, ...trust } = source;
    const message = trustFault(location, isOfficial(location), trust);
    return message === undefined ? [] : [{ field: 'profile.source.location', message }];
  }
  return source?.kind !== 'bundle' || BUNDLE_NAME.test(source.path)
    ? []
    : [{ field: 'profile.source.path', message: 'is not the file name of an archive in the folder of bundles' }];
};

/** Everything that keeps settings out of the log, with the field of each fault. Secrets are not part of settings. */
export const settingFaults = (
  provider: ProviderName,
  settings: Readonly<Record<string, unknown>>,
): readonly SettingFault[] => {
  const faults = PROVIDER_TRAITS[provider].hasInventory
    ? sshSettingFaults(settings)
    : faultsOf(PROVIDER_SETTINGS[provider], settings);
  const known = new Set(faults.map(({ field }) => field));
  return [...faults, ...sourceFaults(settings), ...secretsIn(settings, []).filter(({ field }) => !known.has(field))];
};

import { CLOUD_ADDONS, CLOUD_CONFIG_SECRET, type Addon, type CloudController } from '@fairlead/contracts';
import type { CloudConnection } from './releases.ports.js';

type Values = NonNullable<Addon['values']>;

/** A value of a cloud.conf, which has the syntax of Git's configuration. */
const escaped = (value: unknown): string => String(value).replace(/["\\]/gu, '\\$&').replace(/\n/gu, '\\n');

const section = (name: string, entries: Readonly<Record<string, unknown>>): string => {
  const given = Object.entries(entries).filter(([, value]) => value !== undefined && value !== '');
  return [`[${name}]`, ...given.map(([key, value]) => `${key}="${escaped(value)}"`), ''].join('\n');
};

type Config = Readonly<Record<string, string>>;

const CONFIG: Readonly<Record<CloudController, (connection: CloudConnection) => Config>> = {
  openstack: ({ region, settings, secret }) => ({
    'cloud.conf': section('Global', {
      'auth-url': settings['authUrl'],
      'application-credential-id': settings['applicationCredential'],
      'application-credential-secret': secret,
      region,
    }),
  }),
  // Without a key, the controller has what the role of its instance permits.
  aws: ({ settings, secret }) => ({
    'cloud.conf': section('Global', {}),
    ...(secret === undefined ? {} : { key_id: String(settings['accessKeyId'] ?? ''), access_key: secret }),
  }),
  lab: ({ region, settings, secret }) => ({
    'cloud.conf': section('Global', { endpoint: settings['endpoint'], token: secret, region }),
  }),
};

/** The data of the Secret that the controller and the storage driver of a cloud read. */
export const cloudConfigOf = (provider: CloudController, connection: CloudConnection): Config =>
  CONFIG[provider](connection);

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';

/** It runs where no other pod does: it removes the first taint. */
const PLACED: Values = {
  nodeSelector: { [CONTROL_PLANE]: '' },
  tolerations: [
    { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
    { key: CONTROL_PLANE, effect: 'NoSchedule' },
    { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoSchedule' },
  ],
};

const fromSecret = (name: string, key: string): Values => ({
  name,
  valueFrom: { secretKeyRef: { name: CLOUD_CONFIG_SECRET, key, optional: true } },
});

const CONTROLLER: Readonly<Record<CloudController, (cluster: string) => Values>> = {
  openstack: (cluster) => ({
    ...PLACED,
    cluster: { name: cluster },
    secret: { enabled: true, create: false, name: CLOUD_CONFIG_SECRET },
  }),
  aws: (cluster) => ({
    ...PLACED,
    args: ['--v=2', '--cloud-provider=aws', `--cluster-name=${cluster}`, '--configure-cloud-routes=false'],
    env: [fromSecret('AWS_ACCESS_KEY_ID', 'key_id'), fromSecret('AWS_SECRET_ACCESS_KEY', 'access_key')],
    hostNetworking: true,
  }),
  lab: (cluster) => ({ ...PLACED, cluster: { name: cluster }, secret: { name: CLOUD_CONFIG_SECRET } }),
};

const STORAGE: Readonly<Record<CloudController, (cluster: string) => Values>> = {
  openstack: (cluster) => ({
    clusterID: cluster,
    secret: { enabled: true, create: false, name: CLOUD_CONFIG_SECRET, filename: 'cloud.conf' },
    storageClass: { enabled: true },
  }),
  aws: () => ({ awsAccessSecret: { name: CLOUD_CONFIG_SECRET, keyId: 'key_id', accessKey: 'access_key' } }),
  lab: () => ({}),
};

/** The values of the chart of an add-on. None is secret. */
export const cloudValuesOf = (provider: CloudController, addon: string, cluster: string): Values =>
  (addon === CLOUD_ADDONS.controller ? CONTROLLER : STORAGE)[provider](cluster);

/** What no message may contain: the configuration, and the credential in both of its forms. */
export const cloudTextsOf = (config: Config, { secret }: CloudConnection): readonly string[] => [
  ...Object.values(config),
  ...(secret === undefined ? [] : [secret, escaped(secret)]),
];

import { SERVICES, type ServiceName } from '@fairlead/contracts';

/** A file in the data folder, and its name in the folder of a holder. */
export interface HeldFile {
  readonly from: string;
  readonly name: string;
  /** `once`: the holder may replace the file, so an existing one is kept. */
  readonly handOut: 'current' | 'once';
}

/** Who gets a folder of its own below the secrets' folder. `gateway-token` is the only one that its holder writes. */
export const HOLDERS = [...SERVICES, 'revoker', 'tunnel', 'gateway-token', 'nats', 'postgres'] as const;
export type Holder = (typeof HOLDERS)[number];

const current = (from: string, name: string): HeldFile => ({ from, name, handOut: 'current' });

const serviceFiles = (service: ServiceName): readonly HeldFile[] => [
  current('keys/master.key', 'master.key'),
  current('keys/nats-ca.pem', 'nats-ca.pem'),
  current(`creds/${service}.creds`, 'nats.creds'),
  current(`keys/${service}.database-url`, 'database-url'),
];

/**
 * Exactly the files that each holder needs. Files that do not exist yet, such as a database URL before the databases,
 * are copied later.
 */
export const FILES_OF_HOLDER: Readonly<Record<Holder, readonly HeldFile[]>> = {
  gateway: serviceFiles('gateway'),
  'infra-svc': [...serviceFiles('infra-svc'), current('keys/tunnel-host.key.pub', 'tunnel-host.key.pub')],
  'bootstrap-svc': [...serviceFiles('bootstrap-svc'), current('keys/node-signing.json', 'node-signing.json')],
  'upgrade-svc': serviceFiles('upgrade-svc'),
  revoker: [
    current('keys/nats-ca.pem', 'nats-ca.pem'),
    current('creds/revoker.creds', 'nats.creds'),
    current('creds/revoker-system.creds', 'nats-system.creds'),
    current('keys/account-signing.json', 'account-signing.json'),
  ],
  tunnel: [
    current('keys/nats-ca.pem', 'nats-ca.pem'),
    current('creds/tunnel.creds', 'nats.creds'),
    current('keys/tunnel-host.key', 'tunnel-host.key'),
  ],
  'gateway-token': [{ from: 'keys/local.token', name: 'local.token', handOut: 'once' }],
  nats: [
    current('nats.conf', 'nats.conf'),
    current('keys/nats-server.pem', 'nats-server.pem'),
    current('keys/nats-ca.pem', 'nats-ca.pem'),
  ],
  postgres: [current('keys/postgres.password', 'postgres.password')],
};

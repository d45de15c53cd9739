import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type ServiceName, SERVICES, wordsOf } from '@fairlead/contracts';
import { ensureCertificates } from '../credentials/authority.store.js';
import {
  ACCOUNT_SIGNING_FILE,
  ensureCredentials,
  NODE_SIGNING_FILE,
  type CredentialName,
} from '../credentials/operator.store.js';
import { databaseTrustOf, databaseUrlOver } from '../credentials/database.trust.js';
import { EnvironmentFault } from '../faults.js';
import { cacheFolder } from '../folder/cache-folder.js';
import { openDataFolder, portsOf, type Ports } from '../folder/data-folder.js';
import { resolveNatsServer } from '../nats/nats.resolver.js';
import { checkWith, startNats, type NatsIdentity } from '../nats/nats.server.js';
import { ensureServiceDatabases } from '../postgres/databases.js';
import { ensureServicePasswords } from '../postgres/passwords.store.js';
import { resolvePostgres } from '../postgres/postgres.resolver.js';
import { postgresMajorOfData, startPostgres } from '../postgres/postgres.server.js';
import { endLeftovers } from '../supervisor/leftovers.js';
import { Supervisor } from '../supervisor/supervisor.js';
import type { ReplicaState } from '../supervisor/replica.js';

const RUN_NAME = 'environment';

export interface StartEnvironmentOptions {
  readonly dataDir: string;
  /**
   * URL of a running NATS server; none is started then. Its creds files are in `NATS_CREDS_DIR`, or it requires none.
   */
  readonly natsUrl?: string;
  /** URL of a running PostgreSQL, with a role that may create roles and databases; none is started then. */
  readonly databaseUrl?: string;
  /**
   * Defaults to this process' environment: NATS_URL, NATS_CREDS_DIR, NATS_CA_FILE, NATS_SERVER_BIN, DATABASE_URL,
   * FAIRLEAD_CACHE.
   */
  readonly env?: NodeJS.ProcessEnv;
  readonly log?: (sentence: string) => void;
  /**
   * Address on which NATS listens; loopback by default (agents on other hosts need another one), and others only with
   * TLS.
   */
  readonly natsHost?: string;
  /** Port on which NATS also listens for websockets; undefined: none. */
  readonly natsWebsocketPort?: number;
  /** Maximum disk space of NATS; undefined: nats-server's default. */
  readonly natsStoreMaxBytes?: number;
  /** False only for throwaway data. */
  readonly durable?: boolean;
  readonly onState?: (name: string, state: ReplicaState) => void;
  /** Called when the data folder is locked by this process, before its servers are started. */
  readonly onOwned?: () => void;
}

export interface NatsAccess {
  readonly url: string;
  /** URLs for agents, separated by commas. */
  readonly agentUrls: string;
  /** The server's monitoring URL; undefined for an external server. */
  readonly monitorUrl: string | undefined;
  /** Folder of its streams; undefined for an external server. */
  readonly storeDir: string | undefined;
  /** undefined if the server requires no credentials. */
  credsFile(name: CredentialName): string | undefined;
  /** The CA of its certificate; undefined without TLS, or if the system trusts it. */
  readonly caFile: string | undefined;
  /** With which bootstrap-svc signs credentials for nodes; undefined if the server requires none from nodes. */
  readonly nodeSigningFile: string | undefined;
  /** With which the revoker signs the claims of the nodes' account; undefined if it cannot revoke at this server. */
  readonly accountSigningFile: string | undefined;
}

export interface Environment {
  readonly nats: NatsAccess;
  readonly databases: Readonly<Record<ServiceName, string>>;
  /** For the superuser or the given role: contains a password, never log it. */
  readonly databaseAdminUrl: string;
  /** Runs NATS and PostgreSQL, unless they are external. */
  readonly supervisor: Supervisor;
  stop(): Promise<void>;
}

/**
 * Everything that services need to run: NATS and PostgreSQL, started or external, with credentials and a database for
 * each.
 */
export const startEnvironment = async (options: StartEnvironmentOptions): Promise<Environment> => {
  const { dataDir, env = process.env, onState } = options;
  const databaseUrl = trustedUrl(options.databaseUrl ?? nonEmpty(env['DATABASE_URL']), env);
  const folder = openDataFolder(dataDir);
  const supervisor = new Supervisor({ dataDir, runName: RUN_NAME, ...(onState === undefined ? {} : { onState }) });
  const stop = async (): Promise<void> => {
    await supervisor.stop();
    folder.release();
  };
  const settled: Settled = {
    dataDir,
    env,
    supervisor,
    cacheDir: cacheFolder(env, dataDir),
    log: options.log ?? (() => undefined),
    natsUrl: options.natsUrl ?? nonEmpty(env['NATS_URL']),
    databaseUrl,
    natsHost: options.natsHost,
    natsWebsocketPort: options.natsWebsocketPort,
    natsStoreMaxBytes: options.natsStoreMaxBytes,
    durable: options.durable ?? true,
  };
  try {
    await endLeftovers(join(dataDir, 'run', RUN_NAME));
    options.onOwned?.();
    const ports = await portsOf(folder, [
      ...(settled.natsUrl === undefined ? (['nats', 'natsMonitor'] as const) : []),
      ...(settled.databaseUrl === undefined ? (['postgres'] as const) : []),
    ]);
    const [nats, databases] = await bothOrNone(provideNats(settled, ports), provideDatabases(settled, ports));
    return { nats, ...databases, supervisor, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

interface Settled {
  readonly dataDir: string;
  readonly cacheDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly supervisor: Supervisor;
  readonly log: (sentence: string) => void;
  readonly natsUrl: string | undefined;
  readonly databaseUrl: string | undefined;
  readonly natsHost: string | undefined;
  readonly natsWebsocketPort: number | undefined;
  readonly natsStoreMaxBytes: number | undefined;
  readonly durable: boolean;
}

const provideNats = async (settled: Settled, ports: Ports): Promise<NatsAccess> => {
  const { natsUrl, env, dataDir, cacheDir, log, supervisor, natsHost, natsWebsocketPort, natsStoreMaxBytes } = settled;
  if (natsUrl !== undefined)
    return foundNats(natsUrl, { credsDir: nonEmpty(env['NATS_CREDS_DIR']), caFile: nonEmpty(env['NATS_CA_FILE']) });
  const auth = ensureCredentials(dataDir);
  const { path: binary } = await resolveNatsServer({ cacheDir, env, log });
  const address = {
    port: ports.nats,
    monitorPort: ports.natsMonitor,
    ...(natsHost === undefined ? {} : { host: natsHost }),
    ...(natsWebsocketPort === undefined ? {} : { websocketPort: natsWebsocketPort }),
    ...(natsStoreMaxBytes === undefined ? {} : { storeMaxBytes: natsStoreMaxBytes }),
  };
  const certificates = natsHost === undefined ? undefined : await ensureCertificates(dataDir, [natsHost]);
  const { url, monitorUrl } = await startNats({ dataDir, binary, auth, certificates, supervisor, ...address });
  return {
    url,
    agentUrls: agentUrlsOf(url, natsWebsocketPort),
    monitorUrl,
    storeDir: join(dataDir, 'nats'),
    credsFile: auth.credsFile,
    caFile: certificates?.caFile,
    nodeSigningFile: auth.nodeSigningFile,
    accountSigningFile: auth.accountSigningFile,
  };
};

/** URLs for agents: first the services' one, then websockets. */
const agentUrlsOf = (url: string, websocketPort: number | undefined): string => {
  if (websocketPort === undefined) return url;
  const { protocol, hostname } = new URL(url);
  return `${url},${protocol === 'tls:' ? 'wss' : 'ws'}://${hostname}:${websocketPort}`;
};

/** An external server: its creds files, and beside them the file that signs credentials for nodes. */
const foundNats = async (
  url: string,
  { credsDir, caFile }: { readonly credsDir: string | undefined; readonly caFile: string | undefined },
): Promise<NatsAccess> => {
  const credsFile = (name: CredentialName): string | undefined =>
    credsDir === undefined ? undefined : join(credsDir, `${name}.creds`);
  const adminFile = credsFile('admin');
  await checkFound(url, { credsFile: adminFile, caFile });
  const ifThere = (name: string): string | undefined => {
    const file = credsDir === undefined ? undefined : join(credsDir, name);
    return file !== undefined && existsSync(file) ? file : undefined;
  };
  const [nodeSigningFile, accountSigningFile] = [ifThere(NODE_SIGNING_FILE), ifThere(ACCOUNT_SIGNING_FILE)];
  return {
    url,
    agentUrls: url,
    monitorUrl: undefined,
    storeDir: undefined,
    credsFile,
    caFile,
    nodeSigningFile,
    accountSigningFile,
  };
};

const checkFound = async (url: string, identity: NatsIdentity): Promise<void> => {
  try {
    await checkWith(url, identity);
  } catch (error) {
    if (error instanceof EnvironmentFault) throw error;
    const { credsFile, caFile } = identity;
    const credentials =
      credsFile === undefined ? 'without credentials (NATS_CREDS_DIR is not set)' : `with ${credsFile}`;
    const trust = caFile === undefined ? '' : `, trusting ${caFile}`;
    throw new EnvironmentFault('nats-refused', {
      operation: 'connect to NATS',
      target: url,
      message: `NATS at ${url} cannot be used ${credentials}${trust}: ${wordsOf(error)}. Start it, correct NATS_URL, NATS_CREDS_DIR and NATS_CA_FILE, or unset NATS_URL to let Fairlead run its own.`,
      cause: error,
    });
  }
};

const provideDatabases = async (
  settled: Settled,
  ports: Ports,
): Promise<Pick<Environment, 'databases' | 'databaseAdminUrl'>> => {
  const databaseAdminUrl = settled.databaseUrl ?? (await ownPostgres(settled, ports.postgres));
  const passwords = ensureServicePasswords(settled.dataDir);
  const databases = await ensureServiceDatabases(databaseAdminUrl, SERVICES, (service) => passwords[service]);
  return { databases, databaseAdminUrl };
};

const ownPostgres = async ({ dataDir, cacheDir, log, supervisor, durable }: Settled, port: number): Promise<string> => {
  const major = postgresMajorOfData(dataDir);
  const binaries = await resolvePostgres({ cacheDir, log, ...(major === undefined ? {} : { major }) });
  const { adminUrl } = await startPostgres({ dataDir, binaries, port, supervisor, durable });
  return adminUrl;
};

/** Waits for both even if one fails: only then is it known what must be stopped. */
const bothOrNone = async <First, Second>(
  first: Promise<First>,
  second: Promise<Second>,
): Promise<readonly [First, Second]> => {
  await Promise.allSettled([first, second]);
  return Promise.all([first, second]);
};

/** The URL with the services' TLS settings: their URLs derive from it. */
const trustedUrl = (given: string | undefined, env: NodeJS.ProcessEnv): string | undefined => {
  if (given === undefined) return undefined;
  const over = databaseUrlOver(given, databaseTrustOf(env));
  if ('url' in over) return over.url;
  throw new EnvironmentFault('database-refused', {
    operation: 'connect to PostgreSQL',
    target: 'DATABASE_URL',
    message: `DATABASE_URL ${over.fault}.`,
  });
};

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICES } from '@fairlead/contracts';
import {
  ensureServiceDatabases,
  ensureServicePasswords,
  openDataFolder,
  readIfAny,
  superuserPasswordFile,
  untilNatsAnswers,
  untilPostgresAnswers,
  writeWhole,
} from '@fairlead/embedded';
import type { StoreReport } from '@fairlead/event-sourcing/streams';
import { CliFailure } from '../failures.js';
import { provideStreams } from '../up/streams.effects.js';
import { handOut } from './holders.store.js';
import type { StoresSettings } from './provision.settings.js';

export interface ProvidedStores {
  readonly stores: readonly StoreReport[];
  /** A summary of the result. */
  readonly sentence: string;
}

/** Creates what is missing in NATS and PostgreSQL. Throws an `EnvironmentFault` or a `CliFailure`. */
export const provideStores = async (settings: StoresSettings): Promise<ProvidedStores> => {
  const { dataDir, secretsDir, nats, postgres, timeoutMs } = settings;
  const caFile = caFileOf(settings);
  const credsFile = join(dataDir, 'creds', 'admin.creds');
  if (!existsSync(credsFile)) throw withoutKeys(credsFile, dataDir);
  const adminUrl = withPassword(postgres, dataDir);
  const folder = openDataFolder(dataDir);
  try {
    await untilNatsAnswers(nats, { credsFile, caFile }, timeoutMs);
    await untilPostgresAnswers(adminUrl, timeoutMs);
    const admin = { url: nats, credsFile: () => credsFile, caFile };
    const { stores } = await provideStreams(admin, dataDir, settings.replicas);
    const passwords = ensureServicePasswords(dataDir);
    const urls = await ensureServiceDatabases(adminUrl, SERVICES, (service) => passwords[service]);
    for (const service of SERVICES)
      keepUrl(join(dataDir, 'keys', `${service}.database-url`), withoutFile(urls[service]));
    handOut(settings, SERVICES);
    const sentence = `NATS has its streams, and PostgreSQL a database for each of ${SERVICES.join(', ')}; the URL of each is in its folder in ${secretsDir}.`;
    return { stores, sentence };
  } finally {
    folder.release();
  }
};

const caFileOf = ({ dataDir, nats, natsCa }: StoresSettings): string | undefined => {
  if (natsCa !== undefined || !nats.startsWith('tls:')) return natsCa;
  const own = join(dataDir, 'keys', 'nats-ca.pem');
  return existsSync(own) ? own : undefined;
};

/** Removes the path of this machine's file; services use DATABASE_CA_FILE. */
const withoutFile = (text: string): string => {
  const url = new URL(text);
  if (!url.searchParams.has('sslrootcert')) return text;
  url.searchParams.delete('sslrootcert');
  return url.href;
};

const keepUrl = (file: string, url: string): void => {
  if (readIfAny(file) !== `${url}\n`) writeWhole(file, `${url}\n`);
};

const withPassword = (postgres: string, dataDir: string): string => {
  const url = new URL(postgres);
  if (url.password !== '') return postgres;
  const file = superuserPasswordFile(dataDir);
  const password = readIfAny(file)?.trim();
  if (password === undefined) throw withoutKeys(file, dataDir);
  url.password = encodeURIComponent(password);
  return url.href;
};

const withoutKeys = (file: string, dataDir: string): CliFailure =>
  new CliFailure('not-found', {
    code: 'cli.not-provisioned',
    message: `There is no ${file}`,
    help: `Make it first: fairlead provision keys --data ${dataDir}`,
  });

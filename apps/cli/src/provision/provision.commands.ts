import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { databaseTrustOf, databaseUrlOver } from '@fairlead/embedded/trust';
import { addCommand, addGroup, runs } from '../command/command.js';
import { collected, duration, port } from '../command/parsers.js';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { KeysSettings, StoresSettings } from './provision.settings.js';

type Given<Settings> = Settings & { readonly data: string; readonly secrets?: string };

export const SECRETS_OPTION = '--secrets <dir>';
export const SECRETS_HELP =
  'where each service, NATS and PostgreSQL get a folder of their own (default: secrets in the data folder)';

const foldersOf = (io: Io, { data, secrets }: Given<unknown>): Pick<KeysSettings, 'dataDir' | 'secretsDir'> => {
  const dataDir = resolve(io.cwd, data);
  return { dataDir, secretsDir: resolve(io.cwd, secrets ?? join(dataDir, 'secrets')) };
};

const DEFAULT_TIMEOUT_MS = 120_000;

/** What "fairlead up" does by itself, as steps for those who run NATS, PostgreSQL and the services their own way. */
export const addProvisionCommands = (program: Command, io: Io): void => {
  const provision = addGroup(program, 'provision', 'Prepare NATS and PostgreSQL for services that you run');
  addKeys(provision, io);
  addStores(provision, io);
};

const addKeys = (provision: Command, io: Io): void => {
  addCommand(provision, {
    usage: 'keys',
    summary: 'Create the keys, the NATS credentials and the NATS configuration',
    description:
      'Make the master key, the password of PostgreSQL, a NATS credential per service, a certificate for NATS, and nats.conf, each in a file that only its owner may read. The data folder has all of them; each service, NATS and PostgreSQL get a folder with copies of what they need, and nothing else. What exists is kept, so it may run before every start.',
    shared: 'none',
    examples: [
      [
        'fairlead provision keys --data /srv/fairlead',
        'Then: nats-server --config /srv/fairlead/secrets/nats/nats.conf',
      ],
      [
        'fairlead provision keys --data /srv/fairlead --nats-host 127.0.0.1 --store-dir /srv/nats',
        'NATS on loopback only, with its data elsewhere',
      ],
      [
        'fairlead provision keys --data /srv/fairlead --nats-name nats.example.org --nats-name 192.0.2.1',
        'With a certificate of these names, by which agents call it',
      ],
    ],
  })
    .requiredOption('--data <dir>', 'data folder')
    .option(SECRETS_OPTION, SECRETS_HELP)
    .option('--nats-host <address>', 'address that NATS listens on', '0.0.0.0')
    .option('--nats-port <port>', 'port that NATS listens on', port, 4222)
    .option(
      '--nats-name <name>',
      'DNS name or address by which services or agents call NATS, may be given several times; its certificate carries it',
      collected,
    )
    .option('--monitor-port <port>', 'port of the monitoring of NATS', port, 8222)
    .option(
      '--monitor-host <address>',
      'address of the monitoring of NATS, which asks for no credentials (default: 127.0.0.1); the gateway asks there how much the log may grow',
      '127.0.0.1',
    )
    .option('--store-dir <dir>', 'where NATS keeps its streams', '/nats')
    .action(
      runs(io, async (_session, given: Given<KeysSettings> & { readonly natsName?: readonly string[] }) => {
        const { provideKeys } = await import('./keys.effects.js');
        const settings = { ...given, ...foldersOf(io, given), natsNames: given.natsName ?? [] };
        await inSentences(async () => io.err(`${await provideKeys(settings)}\n`));
      }),
    );
};

const addStores = (provision: Command, io: Io): void => {
  addCommand(provision, {
    usage: 'stores',
    summary: 'Create the streams and the databases of the services',
    description:
      'Wait for NATS and PostgreSQL, make the streams, a database and a role per service, and write the URL of each database to <service>/database-url in the folder of the secrets. What exists is kept and brought up to date, so it may run before every start.',
    shared: 'none',
    examples: [
      [
        'fairlead provision stores --data /srv/fairlead --nats tls://127.0.0.1:4222 --postgres postgres://postgres@127.0.0.1:5432/postgres',
        'With the password from keys/postgres.password',
      ],
    ],
  })
    .requiredOption('--data <dir>', 'data folder, in which "fairlead provision keys" has run')
    .option(SECRETS_OPTION, SECRETS_HELP)
    .requiredOption('--nats <url>', 'address of NATS')
    .option(
      '--nats-ca <file>',
      'authority of the certificate of a tls:// address (default: keys/nats-ca.pem of the data folder)',
    )
    .requiredOption(
      '--postgres <url>',
      'PostgreSQL, as a role that may create roles and databases; its password is read from keys/postgres.password unless the URL has one',
    )
    .option(
      '--postgres-ca <file>',
      'authority of the certificate of PostgreSQL (DATABASE_CA_FILE), which is called by TLS beyond loopback',
    )
    .option(
      '--postgres-plain-text',
      'call PostgreSQL on another machine without TLS, where the URL does not ask for it (DATABASE_PLAIN_TEXT=allow)',
    )
    .option('--timeout <duration>', 'how long to wait for each server (default: 2m)', duration)
    .action(
      runs(io, async (_session, given: Given<StoresSettings> & GivenStores) => {
        refuseMalformed('--nats', given.nats, ['nats:', 'tls:']);
        refuseMalformed('--postgres', given.postgres, ['postgres:', 'postgresql:']);
        const { provideStores } = await import('./stores.effects.js');
        const settings = {
          ...given,
          ...foldersOf(io, given),
          natsCa: given.natsCa === undefined ? undefined : resolve(io.cwd, given.natsCa),
          postgres: trustedUrl(given, io),
          timeoutMs: given.timeout ?? DEFAULT_TIMEOUT_MS,
        };
        await inSentences(async () => io.err(`${await provideStores(settings)}\n`));
      }),
    );
};

interface GivenStores {
  readonly timeout?: number;
  readonly postgresCa?: string;
  readonly postgresPlainText?: true;
}

/** With the parameters by which services call PostgreSQL, too; only the file of the authority is a matter of each machine. */
const trustedUrl = ({ postgres, postgresCa, postgresPlainText }: StoresSettings & GivenStores, io: Io): string => {
  const said = databaseTrustOf(io.env);
  const over = databaseUrlOver(postgres, {
    caFile: postgresCa === undefined ? said.caFile : resolve(io.cwd, postgresCa),
    plainText: postgresPlainText === true || said.plainText,
  });
  if ('fault' in over) throw usageFailure(`--postgres ${over.fault}`);
  return over.url;
};

/** A URL may carry a password: it is not repeated. */
const refuseMalformed = (option: string, url: string, protocols: readonly string[]): void => {
  if (URL.canParse(url) && protocols.includes(new URL(url).protocol)) return;
  throw usageFailure(`${option} is not a URL that begins with ${protocols.map((name) => `${name}//`).join(' or ')}`);
};

/** What the machine refuses is a sentence already; it only needs its exit class. */
export const inSentences = async (work: () => Promise<void>): Promise<void> => {
  const { EnvironmentFault } = await import('@fairlead/embedded');
  try {
    await work();
  } catch (error) {
    if (!(error instanceof EnvironmentFault)) throw error;
    const exit = EXITS[error.code] ?? 'failed';
    throw new CliFailure(exit, { code: `environment.${error.code}`, message: error.message, cause: error });
  }
};

const EXITS: Readonly<Record<string, 'conflict' | 'unreachable'>> = {
  'folder-in-use': 'conflict',
  'not-ready': 'unreachable',
};

import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { databaseTrustOf, databaseUrlOver, natsServers } from '@fairlead/embedded/trust';
import { addCommand, addGroup, runs } from '../command/command.js';
import { collected, duration, port } from '../command/parsers.js';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { replicasOf, replicasOption } from '../up/replicas.option.js';
import { storesAnswer } from '../up/stores.text.js';
import type { KeysSettings, StoresSettings } from './provision.settings.js';

type Given<Settings> = Settings & { readonly data: string; readonly secrets?: string };

export const SECRETS_OPTION = '--secrets <dir>';
export const SECRETS_HELP =
  'folder with one subfolder of secrets for each service, NATS and PostgreSQL (default: secrets in the data folder)';

const foldersOf = (io: Io, { data, secrets }: Given<unknown>): Pick<KeysSettings, 'dataDir' | 'secretsDir'> => {
  const dataDir = resolve(io.cwd, data);
  return { dataDir, secretsDir: resolve(io.cwd, secrets ?? join(dataDir, 'secrets')) };
};

const DEFAULT_TIMEOUT_MS = 120_000;

/** The automatic steps of "fairlead up" as commands, for users who run NATS, PostgreSQL and the services themselves. */
export const addProvisionCommands = (program: Command, io: Io): void => {
  const provision = addGroup(program, 'provision', 'Prepare NATS and PostgreSQL for an installation of your own');
  addKeys(provision, io);
  addStores(provision, io);
  addSecrets(provision, io);
};

const WEBSOCKET_HELP =
  'port on which NATS takes websockets as well, for agents that pass only where HTTPS does (default: none)';
const MONITOR_HELP =
  'address of the NATS monitoring endpoint, which requires no credentials; the gateway reads the limits of the log there';

const addKeys = (provision: Command, io: Io): void => {
  addCommand(provision, {
    usage: 'keys',
    summary: 'Create the keys, the NATS credentials and the NATS configuration',
    description:
      'Create the master key, the password of PostgreSQL, a NATS credential for each service, a certificate for NATS, and nats.conf, each in a file readable only by its owner. The data folder contains all of them; each service, NATS and PostgreSQL get a folder with copies of only what they need. Existing files are kept, so the command can run before every start.',
    shared: 'none',
    examples: [
      [
        'fairlead provision keys --data /srv/fairlead',
        'Create the keys; then run: nats-server --config /srv/fairlead/secrets/nats/nats.conf',
      ],
      [
        'fairlead provision keys --data /srv/fairlead --nats-host 127.0.0.1 --store-dir /srv/nats',
        'Let NATS listen on loopback only, with another data folder',
      ],
      [
        'fairlead provision keys --data /srv/fairlead --nats-name nats.example.org --nats-name 192.0.2.1',
        'Add the names by which agents connect to the certificate of NATS',
      ],
      [
        'fairlead provision keys --data /srv/fairlead --nats-cluster nats-1 --nats-cluster nats-2 --nats-cluster nats-3',
        'Configure a cluster of three servers; then run on the first one: nats-server --config /srv/fairlead/secrets/nats/nats.conf --name nats-1',
      ],
    ],
  })
    .requiredOption('--data <dir>', 'data folder')
    .option(SECRETS_OPTION, SECRETS_HELP)
    .option('--nats-host <address>', 'address that NATS listens on', '0.0.0.0')
    .option('--nats-port <port>', 'port that NATS listens on', port, 4222)
    .option('--nats-websocket-port <port>', WEBSOCKET_HELP, port)
    .option(
      '--nats-name <name>',
      'DNS name or address for the certificate of NATS, by which services or agents connect (repeatable)',
      collected,
    )
    .option(
      '--nats-cluster <host>',
      'DNS name or address of a server of a NATS cluster, by which the others reach it (repeatable; FAIRLEAD_NATS_CLUSTER, separated by commas); nats.conf is then the same for all, and each is started with a --name of its own',
      collected,
    )
    .option('--nats-cluster-port <port>', 'port at which the servers of the cluster reach each other', port, 6222)
    .option('--monitor-port <port>', 'port of the NATS monitoring endpoint', port, 8222)
    .option('--monitor-host <address>', MONITOR_HELP, '127.0.0.1')
    .option('--store-dir <dir>', 'folder in which NATS stores its streams', '/nats')
    .option('--administrator-token', "create the administrator's token too, for a gateway that cannot write its file")
    .action(
      runs(
        io,
        async (
          _session,
          given: Given<KeysSettings> & {
            readonly natsName?: readonly string[];
            readonly natsCluster?: readonly string[];
            readonly administratorToken?: true;
          },
        ) => {
          const { provideKeys } = await import('./keys.effects.js');
          const settings = {
            ...given,
            ...foldersOf(io, given),
            natsNames: given.natsName ?? [],
            natsCluster: given.natsCluster ?? clusterIn(io),
            administratorToken: given.administratorToken ?? false,
          };
          await inSentences(async () => io.err(`${await provideKeys(settings)}\n`));
        },
      ),
    );
};

const clusterIn = ({ env }: Io): readonly string[] =>
  (env['FAIRLEAD_NATS_CLUSTER'] ?? '')
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== '');

const addStores = (provision: Command, io: Io): void => {
  addCommand(provision, {
    usage: 'stores',
    summary: 'Create the streams and the databases of the services',
    description:
      'Wait for NATS and PostgreSQL, create the streams and a database and role for each service, and write the URL of each database to <service>/database-url in the folder of secrets. What exists is kept and updated, so the command can run before every start. Prints each stream, bucket and object store with its replicas, and what differs from what was asked for.',
    shared: 'output',
    examples: [
      [
        'fairlead provision stores --data /srv/fairlead --nats tls://127.0.0.1:4222 --postgres postgres://postgres@127.0.0.1:5432/postgres',
        'Create streams and databases, with the password from keys/postgres.password',
      ],
      [
        'fairlead provision stores --data /srv/fairlead --nats tls://nats-1:4222,tls://nats-2:4222,tls://nats-3:4222 --replicas 3 --postgres postgres://postgres@127.0.0.1:5432/postgres',
        'Keep each stream, bucket and object store on three servers of a NATS cluster',
      ],
    ],
  })
    .requiredOption('--data <dir>', 'data folder prepared by "fairlead provision keys"')
    .option(SECRETS_OPTION, SECRETS_HELP)
    .requiredOption('--nats <urls>', 'address of NATS; several servers of a cluster separated by commas')
    .addOption(replicasOption())
    .option('--nats-ca <file>', 'CA certificate for a tls:// address (default: keys/nats-ca.pem in the data folder)')
    .requiredOption(
      '--postgres <url>',
      'URL of PostgreSQL, for a role that can create roles and databases; the password is read from keys/postgres.password unless the URL has one',
    )
    .option(
      '--postgres-ca <file>',
      'CA certificate of PostgreSQL (DATABASE_CA_FILE); connections beyond loopback use TLS',
    )
    .option(
      '--postgres-plain-text',
      'allow connections to PostgreSQL on other machines without TLS (DATABASE_PLAIN_TEXT=allow)',
    )
    .option('--timeout <duration>', 'how long to wait for each server (default: 2m)', duration)
    .action(
      runs(io, async (_session, given: Given<StoresSettings> & GivenStores) => {
        for (const url of natsServers(given.nats)) refuseMalformed('--nats', url, ['nats:', 'tls:']);
        refuseMalformed('--postgres', given.postgres, ['postgres:', 'postgresql:']);
        const { provideStores } = await import('./stores.effects.js');
        const settings = {
          ...given,
          ...foldersOf(io, given),
          natsCa: given.natsCa === undefined ? undefined : resolve(io.cwd, given.natsCa),
          postgres: trustedUrl(given, io),
          replicas: replicasOf(given.replicas, io),
          timeoutMs: given.timeout ?? DEFAULT_TIMEOUT_MS,
        };
        return inSentences(async () => {
          const { stores, sentence } = await provideStores(settings);
          io.err(`${sentence}\n`);
          return storesAnswer(stores);
        });
      }),
    );
};

const SERVICE_ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';

const addSecrets = (provision: Command, io: Io): void => {
  addCommand(provision, {
    usage: 'kubernetes-secrets',
    summary: 'Create the Secrets of an installation that runs on Kubernetes',
    description:
      'In a pod, write the folder of each service, NATS and PostgreSQL, as "fairlead provision keys" and "stores" prepared them, as a Secret of the namespace of the pod. The service account of the pod must be allowed to create and patch Secrets, and NODE_EXTRA_CA_CERTS must name the CA certificate of the Kubernetes API. Other Secrets stay as they are, so the command can run before every start.',
    shared: 'none',
    examples: [
      [
        'fairlead provision kubernetes-secrets --secrets /srv/fairlead/secrets --prefix fairlead',
        'Create the Secrets fairlead-gateway, fairlead-nats and so on',
      ],
    ],
  })
    .requiredOption(SECRETS_OPTION, 'folder with one subfolder of secrets for each service, NATS and PostgreSQL')
    .option('--prefix <name>', 'how the name of each Secret begins', 'fairlead')
    .option('--kubernetes-api <url>', 'URL of the Kubernetes API', 'https://kubernetes.default.svc')
    .option('--service-account <dir>', 'folder with the files "namespace" and "token"', SERVICE_ACCOUNT_DIR)
    .action(
      runs(io, async (_session, given: GivenSecrets) => {
        refuseMalformed('--kubernetes-api', given.kubernetesApi, ['https:']);
        const { provideSecrets } = await import('./secrets.effects.js');
        const settings = {
          prefix: given.prefix,
          server: given.kubernetesApi,
          secretsDir: resolve(io.cwd, given.secrets),
          serviceAccountDir: resolve(io.cwd, given.serviceAccount),
        };
        await inSentences(async () => io.err(`${await provideSecrets(settings)}\n`));
      }),
    );
};

interface GivenSecrets {
  readonly secrets: string;
  readonly prefix: string;
  readonly kubernetesApi: string;
  readonly serviceAccount: string;
}

interface GivenStores {
  readonly timeout?: number;
  readonly postgresCa?: string;
  readonly postgresPlainText?: true;
}

/**
 * Includes the parameters with which services connect to PostgreSQL; only the path of the authority differs between
 * machines.
 */
const trustedUrl = ({ postgres, postgresCa, postgresPlainText }: StoresSettings & GivenStores, io: Io): string => {
  const said = databaseTrustOf(io.env);
  const over = databaseUrlOver(postgres, {
    caFile: postgresCa === undefined ? said.caFile : resolve(io.cwd, postgresCa),
    plainText: postgresPlainText === true || said.plainText,
  });
  if ('fault' in over) throw usageFailure(`--postgres ${over.fault}`);
  return over.url;
};

/** A URL may contain a password, so it is not printed. */
const refuseMalformed = (option: string, url: string, protocols: readonly string[]): void => {
  if (URL.canParse(url) && protocols.includes(new URL(url).protocol)) return;
  throw usageFailure(`${option} is not a URL that begins with ${protocols.map((name) => `${name}//`).join(' or ')}`);
};

/** An EnvironmentFault already has a sentence; it only needs an exit class. */
export const inSentences = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  const { EnvironmentFault } = await import('@fairlead/embedded');
  try {
    return await work();
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

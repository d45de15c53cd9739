import { networkInterfaces } from 'node:os';
import { resolve, join } from 'node:path';
import { isLoopback } from '@fairlead/embedded/trust';
import { Option, type Command } from 'commander';
import { controlPlanesBeside } from '../cluster/cluster.request.js';
import { addCommand, runs } from '../command/command.js';
import { controlPlaneCount, dnsName, integerBetween, ipAddress, kubernetesVersion, port } from '../command/parsers.js';
import { CliFailure, usageFailure } from '../failures.js';
import { CHECKOUT } from '../checkout.js';
import { DATA_FOLDER, findInstance } from '../instance/instance.store.js';
import { refuseUntrusted } from '../instance/instance.trust.js';
import type { Io } from '../io/io.js';
import { replicasOf, replicasOption } from './replicas.option.js';
import { detachedArguments } from './detached.arguments.js';
import {
  DEBUGGABLE_SERVICES,
  DEFAULT_PORT,
  ETCDS,
  LAB_DELAYS,
  PROVIDERS,
  SITES,
  TUNNEL_PORTS,
  type DebuggableService,
  type DemoSettings,
  type Etcd,
  type HttpSettings,
  type LabDelays,
  type Provider,
  type PublishSettings,
  type UpSettings,
} from './up.settings.js';

interface UpOptions {
  readonly demo?: true;
  readonly once?: true;
  readonly detach?: true;
  readonly data?: string;
  readonly provider: string;
  readonly controlPlanes?: number;
  readonly workers: number;
  readonly kubernetesVersion?: string;
  readonly etcd: Etcd;
  readonly port: number;
  readonly delays: LabDelays;
  readonly light?: true;
  readonly without?: DebuggableService;
  readonly natsAddress?: string;
  readonly natsWebsocketPort?: number;
  readonly publishDomain?: string;
  readonly publishAddress: string;
  readonly tunnelSshPort: number;
  readonly tunnelTlsPort: number;
  readonly replicas?: number;
  readonly address: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsCa?: string;
  readonly plainText?: true;
}

const WORKERS_MAX = 100;
const LOOPBACK_ADDRESS = '127.0.0.1';

export const addUpCommands = (program: Command, io: Io): void => {
  addUp(program, io);
  addDown(program, io);
};

const addUp = (program: Command, io: Io): void => {
  const command = addCommand(program, {
    usage: 'up',
    summary: 'Start Fairlead on this machine',
    description:
      'Start everything on this machine: nats-server, PostgreSQL, the services and the lab (a simulated cloud with its hosts), with all data in one folder. Press Ctrl-C to stop; the next start continues where it left off.',
    shared: 'none',
    examples: [
      ['fairlead up --demo', 'Start Fairlead, and create a cluster with 3 control planes and 2 workers'],
      ['fairlead up --demo --once', 'As a test: stop when the cluster is Ready, with exit code 0'],
      ['fairlead up --detach', 'Run in the background, until "fairlead down"'],
      ['fairlead up --data /srv/fairlead --port 8080', 'With another data folder and port'],
      [
        'fairlead up --address 192.0.2.1 --tls-cert cert.pem --tls-key key.pem',
        'Serve the REST API to other machines, over TLS',
      ],
      ['fairlead up --nats-address 192.0.2.1', 'Let agents on your own hosts (provider ssh) reach NATS'],
    ],
  })
    .option('--demo', 'create the cluster "demo" unless it exists, and show its progress')
    .option('--once', 'with --demo: stop everything and exit when the cluster is Ready')
    .addOption(new Option('--detach', 'run in the background').conflicts('once'))
    .option('--data <dir>', 'data folder (default: .fairlead in the checkout)')
    .option('--provider <name>', `provider of the machines (${PROVIDERS.join(', ')})`, 'lab');
  addDemoOptions(command)
    .option('--port <port>', 'port of the REST API', port, DEFAULT_PORT)
    .option('--address <address>', 'address that the REST API listens on', ipAddress, LOOPBACK_ADDRESS)
    .option('--tls-cert <file>', 'certificate chain of the REST API (PEM); reloaded when it changes')
    .option('--tls-key <file>', 'private key of the certificate (PEM)')
    .option('--tls-ca <file>', 'CA certificate of --tls-cert (PEM), for commands on this machine')
    .option(
      '--plain-text',
      'serve the REST API to other machines without TLS, for use behind a proxy that terminates TLS',
    )
    .addOption(
      new Option('--delays <kind>', 'whether simulated hosts take as long as real ones')
        .choices(LAB_DELAYS)
        .default('real'),
    )
    .option('--light', 'run all simulated hosts in one process, without shells, to simulate thousands')
    .addOption(
      new Option(
        '--without <service>',
        'start everything except this service, and print the command that runs it under the Node.js inspector',
      ).choices(DEBUGGABLE_SERVICES),
    )
    .option(
      '--nats-address <address>',
      'address of this machine at which agents on your own hosts reach NATS, always over TLS (default: loopback only)',
      ipAddress,
    )
    .option(
      '--nats-websocket-port <port>',
      'port on which NATS takes websockets as well, e.g. 443, for hosts that pass only where HTTPS does (default: none)',
      port,
    )
    .option(
      '--publish-domain <domain>',
      'start the tunnel: APIs of clusters that declare it are reached as api.<cluster>.<domain> (default: none)',
      dnsName,
    )
    .option('--publish-address <address>', 'address that the tunnel listens on', ipAddress, LOOPBACK_ADDRESS)
    .option('--tunnel-ssh-port <port>', 'port of the tunnel for control planes', port, TUNNEL_PORTS.ssh)
    .option('--tunnel-tls-port <port>', 'port of the tunnel for clients', port, TUNNEL_PORTS.tls)
    .addOption(replicasOption())
    .action(runs(io, (_session, options: UpOptions) => up(options, detachedArguments(command), io)));
};

const addDemoOptions = (command: Command): Command =>
  command
    .option(
      '--control-planes <count>',
      'number of control planes of the demo cluster: 1, 3 or 5 (default: 3, or 1 without workers)',
      controlPlaneCount,
    )
    .option(
      '--workers <count>',
      'number of workers of the demo cluster; 0 creates a single-node cluster',
      integerBetween(0, WORKERS_MAX),
      2,
    )
    .option(
      '--kubernetes-version <version>',
      "Kubernetes version of the demo cluster (default: the server's)",
      kubernetesVersion,
    )
    .addOption(
      new Option('--etcd <kind>', 'etcd of the demo cluster, in static pods or in systemd units')
        .choices(ETCDS)
        .default('local'),
    );

const up = async (options: UpOptions, detached: readonly string[], io: Io): Promise<void> => {
  const settings = settingsOf(options, io);
  refuseUntrusted([settings.dataDir]); // Before anything is started that no command would then trust.
  // Loaded here, because no other command needs NATS and PostgreSQL.
  const { runHere, apiOf } = await import('./up.effects.js');
  const { welcome } = await import('./welcome.effects.js');
  const { startInBackground } = await import('./detach.effects.js');
  await friendly(async () => {
    if (options.detach !== true) return runHere(settings, io, { once: options.once === true });
    const instance = await startInBackground(settings, detached, io);
    const { failure } = await welcome(apiOf(instance, io), settings, io, { serves: 'in the background' });
    if (failure !== undefined) throw failure;
  });
};

const settingsOf = (options: UpOptions, io: Io): UpSettings => {
  if (options.once === true && options.demo !== true)
    throw usageFailure('--once needs --demo: it waits for the demo cluster');
  return {
    dataDir: options.data === undefined ? join(CHECKOUT, DATA_FOLDER) : resolve(io.cwd, options.data),
    port: options.port,
    provider: providerOf(options.provider),
    delays: options.delays,
    light: options.light === true,
    http: httpOf(options, io),
    natsAddress: natsAddressOf(options),
    natsWebsocketPort: options.natsWebsocketPort,
    publish: publishOf(options),
    without: options.without,
    replicas: upReplicasOf(options, io),
    demo: options.demo === true ? demoOf(options) : undefined,
  };
};

const publishOf = ({
  publishDomain: domain,
  publishAddress: address,
  tunnelSshPort: sshPort,
  tunnelTlsPort: tlsPort,
}: UpOptions): PublishSettings | undefined =>
  domain === undefined ? undefined : { domain, address, sshPort, tlsPort };

/** This command itself starts one nats-server. */
const upReplicasOf = ({ replicas: given }: UpOptions, io: Io): number | undefined => {
  const replicas = replicasOf(given, io);
  if (replicas === undefined || replicas === 1 || (io.env['NATS_URL'] ?? '') !== '') return replicas;
  throw usageFailure(
    `--replicas ${replicas} needs a NATS cluster of at least ${replicas} servers: "fairlead up" starts a single one`,
    'Set NATS_URL to the servers of a cluster (docs/running.md, "Replicas of the log"), or leave the option out.',
  );
};

const httpOf = ({ address, tlsCert, tlsKey, tlsCa, plainText }: UpOptions, { cwd }: Io): HttpSettings => {
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw usageFailure('--tls-cert and --tls-key need each other');
  if (tlsCert === undefined && tlsCa !== undefined) throw usageFailure('--tls-ca needs --tls-cert');
  if (tlsCert === undefined && plainText !== true && !isLoopback(address))
    throw usageFailure(
      `Other machines reach ${address}: their tokens would come in plain text`,
      'Give --tls-cert and --tls-key, or --plain-text if a proxy in front of it speaks TLS.',
    );
  const file = (name: string): string => resolve(cwd, name);
  const tls =
    tlsCert === undefined || tlsKey === undefined
      ? undefined
      : { certFile: file(tlsCert), keyFile: file(tlsKey), caFile: tlsCa === undefined ? undefined : file(tlsCa) };
  return { address, tls, plainText: plainText === true };
};

/** What the server would refuse is refused before anything is started. */
const demoOf = ({ workers, controlPlanes, kubernetesVersion, etcd }: UpOptions): DemoSettings => {
  if (workers === 0 && controlPlanes !== undefined && controlPlanes > 1)
    throw usageFailure(
      `${controlPlanes} control planes need workers: only a single node goes without`,
      'Ask for --workers 1 or more, or for --control-planes 1, which then runs workloads too.',
    );
  return { controlPlanes: controlPlanes ?? controlPlanesBeside(workers), workers, kubernetesVersion, etcd };
};

/** Local hosts reach NATS on their own network, and it listens on one address. */
const natsAddressOf = ({ natsAddress, provider }: UpOptions): string | undefined => {
  if (natsAddress !== undefined && SITES[providerOf(provider)].hosts === 'local')
    throw usageFailure(
      '--nats-address is for your own hosts: with --provider nspawn, NATS listens where the local hosts are',
    );
  if (natsAddress !== undefined) refuseForeign(natsAddress);
  return natsAddress;
};

const refuseForeign = (address: string): void => {
  const own = Object.values(networkInterfaces()).flatMap((entries) => (entries ?? []).map((entry) => entry.address));
  // All of 127.0.0.0/8 is this machine's.
  if (own.includes(address) || address.startsWith('127.')) return;
  throw usageFailure(`--nats-address: ${address} is not an address of this machine`, `It has ${own.join(', ')}.`);
};

const providerOf = (name: string): Provider => {
  const known = PROVIDERS.find((provider) => provider === name);
  if (known !== undefined) return known;
  throw usageFailure(`The provider '${name}' is unknown`, `Known: ${PROVIDERS.join(', ')}.`);
};

/** What is in the way of an embedded environment is a sentence already; it only needs its exit class. */
const friendly = async (work: () => Promise<void>): Promise<void> => {
  const { EnvironmentFault } = await import('@fairlead/embedded');
  try {
    await work();
  } catch (error) {
    if (!(error instanceof EnvironmentFault)) throw error;
    const exit = error.code === 'folder-in-use' || error.code === 'port-taken' ? 'conflict' : 'failed';
    throw new CliFailure(exit, { code: `environment.${error.code}`, message: error.message, cause: error });
  }
};

const addDown = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'down',
    summary: 'Stop Fairlead on this machine',
    description: 'Stop the instance of a data folder. Its data is kept, and clusters on real machines keep running.',
    shared: 'none',
    examples: [
      ['fairlead down', 'Stop the local instance'],
      ['fairlead down --data /srv/fairlead', 'Stop the instance of another data folder'],
    ],
  })
    .option('--data <dir>', 'data folder (default: .fairlead in this folder, a parent, or the checkout)')
    .action(
      runs(io, async (_session, { data }: { readonly data?: string }) => {
        const instance = findInstance(io.cwd, data);
        if (instance === undefined) return void io.err('Fairlead is not running here.\n');
        const { bringDown } = await import('./detach.effects.js');
        io.err(`${await bringDown(instance)}\n`);
      }),
    );
};

import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inboxPrefix, SERVICES, type ServiceName } from '@fairlead/contracts';
import {
  cacheFolder,
  freePorts,
  NATS_MEMORY,
  natsTrustIn,
  resolveNatsServer,
  resolvePostgres,
  startPostgres,
  Supervisor,
  type NatsAccess,
} from '@fairlead/embedded';
import { authenticatorOf } from '@fairlead/embedded/credentials';
import type { TestEnvironment } from '@fairlead/embedded/testing';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';

const run = promisify(execFile);
const CLI = fileURLToPath(new URL('../../apps/cli/bin/fairlead.mjs', import.meta.url));
/** Addresses of this machine on which no other program listens. */
const NATS_SERVERS = {
  'nats-1': '127.254.254.1',
  'nats-2': '127.254.254.2',
  'nats-3': '127.254.254.3',
} as const;
export type NatsServerName = keyof typeof NATS_SERVERS;
const NAMES = Object.keys(NATS_SERVERS) as NatsServerName[];
const READY_TIMEOUT_MS = 60_000;
const COMMAND_TIMEOUT_MS = 120_000;

/** A store in the output of `fairlead provision stores -o json`. */
export interface ShownStore {
  readonly name: string;
  readonly replicas: number;
  readonly inSync: number;
  readonly notes: readonly string[];
}

/**
 * Three servers of a NATS cluster and a PostgreSQL, prepared by `fairlead provision` as described in docs/running.md.
 * Servers differ only in their addresses and data folders, because all are on one machine.
 */
export class NatsCluster {
  private readonly connections: NatsConnection[] = [];
  private readonly supervisor: Supervisor;
  private postgresUrl = '';

  private constructor(
    readonly folder: string,
    private readonly ports: { readonly nats: number; readonly cluster: number; readonly monitor: number },
  ) {
    this.supervisor = new Supervisor({ dataDir: join(folder, 'processes'), runName: 'servers' });
  }

  static async start(folder: string): Promise<NatsCluster> {
    const [nats = 0, cluster = 0, monitor = 0, postgres = 0] = await freePorts(folder, 4);
    const started = new NatsCluster(folder, { nats, cluster, monitor });
    try {
      await started.provisionKeys();
      await Promise.all([started.startPostgres(postgres), ...NAMES.map((name) => started.startServer(name))]);
      return started;
    } catch (error) {
      await started.supervisor.stop();
      throw error;
    }
  }

  get data(): string {
    return join(this.folder, 'data');
  }

  get url(): string {
    return NAMES.map((name) => this.urlOf(name)).join(',');
  }

  urlOf(name: NatsServerName): string {
    return `tls://${NATS_SERVERS[name]}:${this.ports.nats}`;
  }

  monitorUrlOf(name: NatsServerName): string {
    return `http://${NATS_SERVERS[name]}:${this.ports.monitor}`;
  }

  /** SIGKILL; it stays down until it is started again. */
  async kill(name: NatsServerName): Promise<void> {
    await this.supervisor.hold(name, 'SIGKILL');
  }

  async resume(name: NatsServerName): Promise<void> {
    await this.supervisor.resume(name);
  }

  /** Loses its disk, including the claims of accounts. */
  wipe(name: NatsServerName): void {
    rmSync(this.storeOf(name), { recursive: true });
  }

  async provisionStores(...more: string[]): Promise<readonly ShownStore[]> {
    const { stdout } = await this.cli('provision', 'stores', '-o', 'json', ...this.storesArguments(), ...more);
    return (JSON.parse(stdout) as { readonly stores: readonly ShownStore[] }).stores;
  }

  /** The table that an operator sees. */
  async provisionStoresTable(...more: string[]): Promise<string> {
    return (await this.cli('provision', 'stores', ...this.storesArguments(), ...more)).stdout;
  }

  async manager(): Promise<JetStreamManager> {
    return jetstreamManager(await this.connect());
  }

  /** Of that server, where it is given; otherwise of whichever is up. */
  async connect(
    name: ServiceName | 'admin' | 'revoker' | 'revoker-system' | 'tunnel' = 'admin',
    server?: NatsServerName,
  ) {
    const urls = server === undefined ? NAMES.map((one) => this.urlOf(one)) : [this.urlOf(server)];
    const connection = await connect({
      servers: urls,
      name,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      ignoreAuthErrorAbort: true,
      authenticator: authenticatorOf(readFileSync(join(this.data, 'creds', `${name}.creds`), 'utf8')),
      ...natsTrustIn(join(this.data, 'keys', 'nats-ca.pem'), urls),
      ...(name === 'admin' ? {} : { inboxPrefix: inboxPrefix(name) }),
    });
    this.connections.push(connection);
    return connection;
  }

  get databaseAdminUrl(): string {
    return this.postgresUrl;
  }

  /** The environment of a system that is started on it. */
  environment(): TestEnvironment {
    const refuse = (): Promise<never> => Promise.reject(new Error('a server of the cluster is killed by its name'));
    const databaseUrl = (service: ServiceName): string =>
      readFileSync(join(this.data, 'secrets', service, 'database-url'), 'utf8').trim();
    return {
      nats: this.access(),
      databases: Object.fromEntries(SERVICES.map((service) => [service, databaseUrl(service)])) as Readonly<
        Record<ServiceName, string>
      >,
      databaseAdminUrl: this.postgresUrl,
      supervisor: this.supervisor,
      dataDir: this.data,
      connect: (name = 'admin') => this.connect(name),
      killNats: refuse,
      startNats: refuse,
      killPostgres: refuse,
      startPostgres: refuse,
      stop: () => this.stop(),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.connections.map((connection) => connection.close()));
    await this.supervisor.stop();
  }

  private access(): NatsAccess {
    const key = (name: string): string => join(this.data, 'keys', name);
    return {
      url: this.url,
      agentUrls: this.url,
      monitorUrl: undefined,
      storeDir: undefined,
      credsFile: (name) => join(this.data, 'creds', `${name}.creds`),
      caFile: key('nats-ca.pem'),
      nodeSigningFile: key('node-signing.json'),
      accountSigningFile: key('account-signing.json'),
    };
  }

  private storesArguments(): readonly string[] {
    return ['--data', this.data, '--nats', this.url, '--postgres', this.postgresUrl];
  }

  private cli(...args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
    const { PATH, HOME } = process.env;
    return run(process.execPath, [CLI, ...args], { env: { PATH, HOME }, timeout: COMMAND_TIMEOUT_MS });
  }

  private storeOf(name: NatsServerName): string {
    return join(this.folder, name);
  }

  private async provisionKeys(): Promise<void> {
    const { nats, cluster, monitor } = this.ports;
    const hosts = Object.values(NATS_SERVERS).flatMap((host) => ['--nats-cluster', host]);
    const ports = { '--nats-port': nats, '--nats-cluster-port': cluster, '--monitor-port': monitor };
    await this.cli(
      ...['provision', 'keys', '--data', this.data, '--nats-host', '0.0.0.0', '--store-dir', '/nats', ...hosts],
      ...Object.entries(ports).flatMap(([option, port]) => [option, String(port)]),
    );
  }

  private async startServer(name: NatsServerName): Promise<void> {
    const config = join(this.folder, `${name}.conf`);
    const text = readFileSync(join(this.data, 'secrets', 'nats', 'nats.conf'), 'utf8');
    writeFileSync(
      config,
      text
        .replaceAll('"0.0.0.0:', `"${NATS_SERVERS[name]}:`)
        .replace(`"127.0.0.1:${this.ports.monitor}"`, `"${NATS_SERVERS[name]}:${this.ports.monitor}"`)
        .replaceAll('"/nats', `"${this.storeOf(name)}`),
    );
    const cacheDir = cacheFolder(process.env, this.folder);
    const { path } = await resolveNatsServer({ cacheDir, env: process.env, log: () => undefined });
    await this.supervisor.start({
      name,
      command: path,
      args: ['--config', config, '--name', name],
      env: { ...process.env, ...NATS_MEMORY },
      readyUrl: `${this.monitorUrlOf(name)}/healthz`,
      readyTimeoutMs: READY_TIMEOUT_MS,
    });
  }

  private async startPostgres(port: number): Promise<void> {
    const binaries = await resolvePostgres({ cacheDir: cacheFolder(process.env, this.folder), log: () => undefined });
    const { supervisor } = this;
    const { adminUrl } = await startPostgres({ dataDir: this.data, binaries, port, durable: false, supervisor });
    this.postgresUrl = adminUrl;
  }
}

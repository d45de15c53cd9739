import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePorts, LOOPBACK, Supervisor } from '@fairlead/embedded';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { clusterFilter, type StoredEvent } from '@fairlead/contracts';
import { decode, ensureStreams, makeTail, readAll } from '@fairlead/event-sourcing/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  isReadyLine,
  planPrograms,
  SERVICE_NAMES,
  type ProgramPlan,
  type ServiceName,
} from '../../apps/cli/src/up/programs.planner.js';
import { findHelm } from '@fairlead/mirror';
import { ensureKeys, ensureTunnelAuthority } from '../../apps/cli/src/up/keys.store.js';

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;

type Variables = Readonly<Record<string, string>>;

export interface SystemOptions {
  /** Hosts in the lab's own process, thousands of them, instead of real shells. */
  readonly light?: boolean;
  readonly delays?: 'real' | 'none';
  readonly durable?: boolean;
  /** False: no simulated cloud and no connection to one; the caller provides another provider. */
  readonly lab?: boolean;
  /** True: the lab has a simulated identity provider, to which infra-svc may connect. */
  readonly identity?: boolean;
  /**
   * An environment with streams and keys: its log already has everything, so nothing is registered. `stop` ends it,
   * too.
   */
  readonly environment?: TestEnvironment;
  /** Address on which NATS listens instead of the loopback address, by TLS. */
  readonly natsHost?: string;
  /** The tunnel runs, and names of clusters are below this domain. */
  readonly publish?: string;
  /** Additional variables for every service, or what makes them of the address of the gateway. */
  readonly env?: Variables | ((server: string) => Promise<Variables>);
}

export interface ApiResponse<Body = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface ClusterView {
  readonly name: string;
  readonly uid: string;
  readonly status: { readonly phase: string; readonly reason: string; readonly message: string };
}

/**
 * The whole product as run by a user: real NATS, real PostgreSQL, every service as a separate process, the lab as the
 * cloud.
 */
export interface System {
  readonly environment: TestEnvironment;
  readonly supervisor: Supervisor;
  readonly server: string;
  readonly token: string;
  readonly admin: NatsConnection;
  readonly plans: readonly ProgramPlan[];
  /** Where each program serves, by its name; another port after a restart. */
  readonly ports: ReadonlyMap<string, number>;
  call<Body = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ApiResponse<Body>>;
  /** Access to the lab's API, for additional connections of a story. */
  readonly labAccess: { readonly url: string; readonly token: string };
  lab<Body = unknown>(method: string, path: string, body?: unknown): Promise<ApiResponse<Body>>;
  /** Existing objects in the simulated cloud, by kind. */
  standing(): Promise<Readonly<Record<string, number>>>;
  /** Objects ever created there, by kind. */
  made(): Promise<Readonly<Record<string, number>>>;
  /** Every event of a cluster so far, in order. */
  events(cluster: string, namespace?: string): Promise<StoredEvent[]>;
  /** Waits until the cluster has such an event; throws with the story so far at the deadline. */
  until(cluster: string, desired: (event: StoredEvent) => boolean, timeoutMs: number): Promise<StoredEvent>;
  kill(service: ServiceName | 'lab' | 'tunnel', signal?: NodeJS.Signals): void;
  /** Ends everything. Throws if a program crashed: the supervisor restarts it, so the story itself may have passed. */
  stop(): Promise<void>;
}

const entryOf = ({ bundle, main, name }: ProgramPlan): string => {
  const newest = [bundle, main]
    .filter((entry) => existsSync(entry))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0];
  if (newest === undefined) throw new Error(`${name} is not built: npm run build`);
  return newest;
};

const request = async <Body>(url: string, init: RequestInit): Promise<ApiResponse<Body>> => {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(630_000) });
  const text = await response.text();
  const body = (response.headers.get('content-type') ?? '').includes('json') && text !== '' ? JSON.parse(text) : text;
  return { status: response.status, headers: response.headers, body: body as Body };
};

const story = (events: readonly StoredEvent[]): string =>
  events.map((event) => `${event.meta.seq} ${event.type} ${JSON.stringify(event.data).slice(0, 300)}`).join('\n');

/** For profiling: FAIRLEAD_NODE_ARGUMENTS='--cpu-prof --cpu-prof-dir=profiles' npm run bench -- hundred */
const nodeArguments = (): readonly string[] =>
  (process.env['FAIRLEAD_NODE_ARGUMENTS'] ?? '').split(' ').filter(Boolean);

export const startSystem = async (options: SystemOptions = {}): Promise<System> => {
  const environment =
    options.environment ??
    (await testEnvironment({
      durable: options.durable ?? false,
      ...(options.natsHost === undefined ? {} : { natsHost: options.natsHost }),
    }));
  const crashes: string[] = [];
  const ports = new Map<string, number>();
  const supervisor = new Supervisor({
    dataDir: environment.dataDir,
    runName: 'programs',
    onState: (name, state) => {
      // Zero if the story sent the signal, or if the program reported an unavailable dependency.
      if (state.status === 'waiting' && state.crashes > 0) crashes.push(`${name}: ${state.reason}`);
    },
  });
  try {
    const admin = await environment.connect('admin');
    await ensureStreams(admin);
    const keys = ensureKeys(environment.dataDir);
    const [labPort = 0, gatewayPort = 0, identityPort = 0, sshPort = 0, tlsPort = 0] = await freePorts(
      `${environment.dataDir}/ports`,
      5,
    );
    const server = `http://${LOOPBACK}:${gatewayPort}`;
    const env = typeof options.env === 'function' ? await options.env(server) : options.env;
    const plans = planPrograms({
      checkout: CHECKOUT,
      nodeBinary: process.execPath,
      dataDir: environment.dataDir,
      nats: environment.nats,
      databases: environment.databases,
      masterKeyFile: keys.masterKeyFile,
      localTokenFile: keys.localTokenFile,
      gatewayPort,
      helmProgram: findHelm(process.env),
      http: { address: LOOPBACK, tls: undefined, plainText: false },
      tunnel:
        options.publish === undefined
          ? undefined
          : {
              ...{ domain: options.publish, address: LOOPBACK, sshPort, tlsPort },
              ...{ keyFile: keys.tunnelKeyFile, publicKeyFile: keys.tunnelPublicKeyFile },
              authorityFile: await ensureTunnelAuthority(environment.dataDir),
            },
      lab: {
        port: labPort,
        ...(options.identity === true ? { identityPort } : {}),
        token: keys.labToken,
        delays: options.delays ?? 'none',
        light: options.light ?? true,
      },
    });
    const withLab = options.lab ?? options.environment === undefined;
    await Promise.all(
      plans
        .filter(({ name }) => withLab || name !== 'lab')
        .map((plan) =>
          supervisor.start({
            name: plan.name,
            command: process.execPath,
            args: [...nodeArguments(), entryOf(plan), ...plan.args],
            env: {
              PATH: process.env['PATH'],
              HOME: environment.dataDir,
              LOG_LEVEL: 'warn',
              ...plan.runtime,
              ...plan.env,
              ...env,
            },
            ready: (line) => {
              const isReady = isReadyLine(plan.name, line);
              if (isReady) ports.set(plan.name, Number(line.trim().split(' ').at(-1)));
              return isReady;
            },
            readyTimeoutMs: READY_TIMEOUT_MS,
            stopTimeoutMs: STOP_TIMEOUT_MS,
            restart: { delayMs: 10, delayMaxMs: 50, startTriesMax: 10_000, forgiveMs: 5_000 },
          }),
        ),
    );
    const token = readFileSync(keys.localTokenFile, 'utf8').trim();
    const system = systemOf({
      plans,
      ports,
      environment,
      supervisor,
      crashes,
      admin,
      token,
      server,
      labUrl: `http://${LOOPBACK}:${labPort}`,
      labToken: keys.labToken,
    });
    if (options.environment === undefined) await registerNamespace(system);
    if (withLab) await registerLab(system, `http://${LOOPBACK}:${labPort}`, keys.labToken);
    return system;
  } catch (error) {
    await supervisor.stop();
    await environment.stop();
    throw error;
  }
};

interface LabStats {
  readonly now: Readonly<Record<string, number>>;
  readonly created: Readonly<Record<string, number>>;
}

interface Parts {
  readonly plans: readonly ProgramPlan[];
  readonly ports: ReadonlyMap<string, number>;
  readonly environment: TestEnvironment;
  readonly supervisor: Supervisor;
  readonly crashes: readonly string[];
  readonly admin: NatsConnection;
  readonly token: string;
  readonly server: string;
  readonly labUrl: string;
  readonly labToken: string;
}

const systemOf = ({
  plans,
  ports,
  environment,
  supervisor,
  crashes,
  admin,
  token,
  server,
  labUrl,
  labToken,
}: Parts): System => {
  const send = <Body>(
    base: string,
    bearer: string,
    [method, path, body, headers]: readonly [string, string, unknown, Readonly<Record<string, string>> | undefined],
  ) =>
    request<Body>(`${base}${path}`, {
      method,
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const events = async (cluster: string, namespace = 'default'): Promise<StoredEvent[]> => {
    const found: StoredEvent[] = [];
    for await (const batch of readAll(admin, clusterFilter(namespace, cluster), 0)) {
      found.push(...batch.flatMap(({ subject, seq, bytes }) => decode(subject, seq, bytes) ?? []));
    }
    return found;
  };
  const stats = async (): Promise<LabStats> =>
    (await send<LabStats>(labUrl, labToken, ['GET', '/v1/stats', undefined, undefined])).body;
  return {
    plans,
    ports,
    environment,
    supervisor,
    admin,
    token,
    server,
    events,
    call: (method, path, body, headers) => send(server, token, [method, path, body, headers]),
    labAccess: { url: labUrl, token: labToken },
    lab: (method, path, body) => send(labUrl, labToken, [method, path, body, undefined]),
    standing: async () => (await stats()).now,
    made: async () => (await stats()).created,
    until: async (cluster, desired, timeoutMs) => {
      const seen: StoredEvent[] = [];
      const stop = AbortSignal.timeout(timeoutMs);
      for await (const event of makeTail(admin)(clusterFilter('default', cluster), 0, stop)) {
        seen.push(event);
        if (desired(event)) return event;
      }
      throw new Error(`${cluster}: not within ${timeoutMs} ms. The story so far:\n${story(seen)}`);
    },
    kill: (service, signal = 'SIGKILL') => supervisor.kill(service, signal),
    stop: async () => {
      await supervisor.stop();
      await environment.stop();
      if (crashes.length > 0) throw new Error(`programs crashed:\n${crashes.join('\n')}`);
    },
  };
};

const registerNamespace = async (system: System): Promise<void> => {
  const namespace = await system.call('POST', '/ns', { name: 'default', description: 'For tests' });
  if (namespace.status >= 300) throw new Error(`cannot make the namespace: ${JSON.stringify(namespace.body)}`);
};

const registerLab = async (system: System, endpoint: string, token: string): Promise<void> => {
  const connection = await system.call('PUT', '/connections/lab', {
    provider: 'lab',
    region: 'lab-1',
    zone: 'lab-1a',
    namespaces: ['*'],
    settings: { endpoint, token },
  });
  if (connection.status >= 300) throw new Error(`cannot make the connection: ${JSON.stringify(connection.body)}`);
};

/** The command of a program of the system, for running it again with another verb. */
export const programOf = (
  system: System,
  name: ServiceName,
): { readonly entry: string; readonly env: NodeJS.ProcessEnv } => {
  const plan = system.plans.find((candidate) => candidate.name === name);
  if (plan === undefined) throw new Error(`there is no program ${name}`);
  return { entry: entryOf(plan), env: { PATH: process.env['PATH'], LOG_LEVEL: 'warn', ...plan.env } };
};

/** CB-Ladybug's body for this many machines of the lab. */
export const clusterBody = (
  name: string,
  size: { readonly controlPlanes: number; readonly workers: number; readonly version?: string },
): object => ({
  name,
  controlPlane: [{ connection: 'lab', count: size.controlPlanes, spec: 'lab.medium' }],
  ...(size.workers === 0
    ? { singleNode: true, worker: [] }
    : { worker: [{ connection: 'lab', count: size.workers, spec: 'lab.medium' }] }),
  serviceType: 'single',
  config: { kubernetes: { networkCni: 'flannel', ...(size.version === undefined ? {} : { version: size.version }) } },
});

export { SERVICE_NAMES, type ServiceName };

import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Machine, StoredEvent } from '@fairlead/contracts';
import { cacheFolder, localMirror } from '@fairlead/mirror';
import { addressPlanOf, openLocal, type Local } from '@fairlead/nspawn';
import { newFolder, removeFolder } from '@fairlead/testing';
import { startSystem, type System } from '../system/system.js';
import { kubectlOf, type Kubectl } from './kubectl.js';

export const VERSION = process.env['FAIRLEAD_REAL_VERSION'] ?? 'v1.34.4';
export const CONNECTION = 'local';
const NETWORK = '198.18.64.0/24';
const CREATE_TIMEOUT_MS = 900_000;

/** The whole product with real hosts on this machine, in an isolated network namespace. */
export interface RealSystem extends System {
  /** The hosts, as their provider sees them. */
  readonly local: Local;
  /** Requests the cluster, and resolves when it is ready; otherwise throws with the story so far. */
  create(
    name: string,
    size?: { readonly controlPlanes: number; readonly workers: number },
    version?: string,
    kubernetes?: object,
  ): Promise<readonly StoredEvent[]>;
  /** kubectl with the administrator's kubeconfig, as users get it. */
  kubectl(cluster: string): Promise<Kubectl>;
  /** The output of a command in the host; throws if it fails. */
  onHost(host: string, ...words: readonly string[]): Promise<string>;
  /** Leftovers of the hosts, found by inspecting the machine. */
  leftovers(hosts: readonly string[]): Promise<readonly string[]>;
}

export const machinesOf = (events: readonly StoredEvent[]): readonly Machine[] =>
  events.flatMap((event) => (event.type === 'VmsCreated' ? event.data.machines : []));

export const bodyOf = (
  name: string,
  size: { readonly controlPlanes: number; readonly workers: number },
  version = VERSION,
  kubernetes: object = {},
): object => ({
  name,
  controlPlane: [{ connection: CONNECTION, count: size.controlPlanes, spec: 'nspawn.large' }],
  ...(size.workers === 0
    ? { singleNode: true, worker: [] }
    : { worker: [{ connection: CONNECTION, count: size.workers, spec: 'nspawn.large' }] }),
  serviceType: 'single',
  config: { kubernetes: { networkCni: 'flannel', version, ...kubernetes } },
});

/** Hosts reach NATS through this proxy: the server of a test listens only on the loopback device. */
export const forward = async (to: {
  readonly host: string;
  readonly port: number;
}): Promise<{ port: number; server: Server }> => {
  const server = createServer((client: Socket) => {
    const upstream = connect(to.port, to.host);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '0.0.0.0', resolve));
  return { port: (server.address() as AddressInfo).port, server };
};

const uplinkOf = (cidr: string): string => {
  const plan = addressPlanOf(cidr);
  if (plan === undefined) throw new Error(`${cidr} is no network of local hosts`);
  return plan.uplink;
};

/**
 * Starts everything, with additional variables for every service, and registers the connection; stopping it also
 * deletes the hosts.
 */
export const startRealSystem = async (env: Readonly<Record<string, string>> = {}): Promise<RealSystem> => {
  const stateDir = newFolder('real');
  const local = openLocal({ stateDir: join(stateDir, CONNECTION), cacheDir: cacheFolder(process.env) });
  // The port of NATS is only known once it runs, but the agents' route to it is needed before: it is opened first.
  const target = { host: '127.0.0.1', port: 0 };
  const { port, server } = await forward(target);
  const system = await startSystem({
    lab: false,
    durable: true,
    env: { AGENT_NATS_URLS: `nats://${uplinkOf(NETWORK)}:${port}`, LOG_LEVEL: 'warn', ...env },
  });
  target.port = Number(new URL(system.environment.nats.url).port);
  const stop = async (): Promise<void> => {
    await system.stop();
    await local.clear();
    server.close();
    removeFolder(stateDir);
  };
  const registered = await system.call('PUT', `/connections/${CONNECTION}`, {
    provider: 'nspawn',
    region: 'local',
    zone: 'local-1',
    settings: {
      stateDir,
      networkCidr: NETWORK,
      cacheDir: cacheFolder(process.env),
      mirror: localMirror(process.env),
    },
  });
  if (registered.status >= 300) {
    await stop();
    throw new Error(`the connection is refused: ${JSON.stringify(registered.body)}`);
  }
  const networks = (): readonly string[] => local.networks.all().map(({ name }) => name);
  const onHost = async (host: string, ...words: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await local.hosts.execute(host, words);
    if (code !== 0) throw new Error(`${words.join(' ')} on ${host} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  };
  return {
    ...system,
    local,
    stop,
    onHost,
    create: async (name, size = { controlPlanes: 3, workers: 2 }, version = VERSION, kubernetes = {}) => {
      const answer = await system.call('POST', '/ns/default/clusters', bodyOf(name, size, version, kubernetes));
      if (answer.status !== 202) throw new Error(`the request is refused: ${JSON.stringify(answer.body)}`);
      const over = (event: StoredEvent): boolean =>
        ['ClusterReady', 'ClusterFailed', 'ClusterRejected'].includes(event.type);
      const last = await system.until(name, over, CREATE_TIMEOUT_MS);
      if (last.type !== 'ClusterReady') throw new Error(`${last.type}: ${JSON.stringify(last.data)}`);
      return system.events(name);
    },
    kubectl: (cluster) => kubectlOf(system, cluster, VERSION),
    leftovers: async (hosts) => {
      const found = await local.leftovers({ networks: networks(), hosts });
      return found.map(({ kind, what }) => `${kind}: ${what}`);
    },
  };
};

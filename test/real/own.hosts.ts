import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  mirrorPaths,
  type ConnectionView,
  type HostProfile,
  type SoftwareSource,
  type StoredEvent,
} from '@fairlead/contracts';
import { cacheFolder, localMirror } from '@fairlead/mirror';
import { addressPlanOf, machineIsUnified, openLocal, type Host, type HostSystem, type Local } from '@fairlead/nspawn';
import { newFolder, removeFolder } from '@fairlead/testing';
import ssh2 from 'ssh2';
import { startSystem, type System } from '../system/system.js';
import { eventually, kubectlOf, type Kubectl } from './kubectl.js';
import { forward, VERSION } from './real.system.js';

const MINUTE_MS = 60_000;
const CONNECTION = 'site';

export type FoundHost = NonNullable<ConnectionView['hosts']>[number];

/** The product, and hosts that it did not create and that share only a network with this machine. */
export interface OwnHosts {
  readonly system: System;
  readonly local: Local;
  /** Address of this machine for hosts. */
  readonly uplink: string;
  /** The output of a command on the host; throws if it fails. */
  onHost(host: string, ...words: readonly string[]): Promise<string>;
  /** In their state after the boot, ordered by name. */
  readonly hosts: readonly Host[];
  /**
   * Registers an inventory, by default all hosts, with these additional settings; resolves to the findings about each.
   */
  register(source: SoftwareSource, inventory?: readonly object[], more?: object): Promise<readonly FoundHost[]>;
  /** Inspects the hosts of the inventory again. */
  verify(): Promise<readonly FoundHost[]>;
  /** Requests a cluster of one control plane and workers, with these additional fields. */
  request(cluster: string, workers: number, more?: object): Promise<void>;
  /** The same; resolves once it is ready. */
  create(cluster: string, workers: number, more?: object): Promise<readonly StoredEvent[]>;
  /** Resolves once all hosts of the cluster are returned. */
  remove(cluster: string): Promise<void>;
  /**
   * Registers the hosts with this source of their software, the first as a control plane, and requests a cluster of
   * all.
   */
  become(cluster: string, source: SoftwareSource): Promise<readonly StoredEvent[]>;
  kubectl(cluster: string): Promise<Kubectl>;
  stop(): Promise<void>;
}

/** Differences from real machines: hosts share a kernel, and pull no images. */
export const profileOf = (source: SoftwareSource): HostProfile => ({
  source,
  cgroupDriver: machineIsUnified() ? 'systemd' : 'cgroupfs',
  failSwapOn: false,
  kubeProxyMode: 'nftables',
  tuneConntrack: false,
  imagePullPolicy: 'Never',
  resolvConf: '/etc/resolv.conf',
  ignorePreflightErrors: ['SystemVerification', 'FileContent--proc-sys-net-bridge-bridge-nf-call-iptables', 'Swap'],
  ...(machineIsUnified() ? {} : { failCgroupV1: false }),
});

/** Copies the archive to bootstrap-svc's folder of bundles, and names it. */
const bundled = (dataDir: string, given: Extract<SoftwareSource, { kind: 'bundle' }>): SoftwareSource => {
  const folder = join(dataDir, 'bundles');
  const name = basename(given.path);
  mkdirSync(folder, { recursive: true });
  copyFileSync(given.path, join(folder, name));
  return { ...given, path: name };
};

const OVER: readonly StoredEvent['type'][] = [
  'ClusterReady',
  'ClusterFailed',
  'ClusterRejected',
  'InfrastructureFailed',
];

export interface OwnHostsOptions {
  readonly names: readonly string[];
  /** Operating systems other than the default. */
  readonly systems?: Readonly<Record<string, HostSystem>>;
  /** Within 198.18.0.0/15. */
  readonly cidr: string;
  /** Folders of this machine that hosts see: path there to path here. */
  readonly readOnly?: Readonly<Record<string, string>>;
  /** Run on each host before it is registered. */
  readonly before?: string;
}

/** The pin of this machine's mirror in a connection. */
export const localCatalogueSha256 = (): string =>
  createHash('sha256')
    .update(readFileSync(join(localMirror(process.env), mirrorPaths.catalogue)))
    .digest('hex');

/** Path of a mirror on hosts, if they have one. */
export const MIRROR_AT = '/opt/fairlead/mirror';

/** A cluster of one control plane and workers on existing hosts. */
export const startOwnHosts = async (options: OwnHostsOptions): Promise<OwnHosts> => {
  const { names, systems = {}, cidr, readOnly = {}, before = ':' } = options;
  const stateDir = newFolder('own-hosts');
  const key = ssh2.utils.generateKeyPairSync('ed25519', { comment: 'ops' });
  const local = openLocal({ stateDir: join(stateDir, 'hosts'), cacheDir: cacheFolder(process.env) });
  const onHost = async (host: string, ...words: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await local.hosts.execute(host, words, MINUTE_MS);
    if (code !== 0) throw new Error(`${words.join(' ')} on ${host} ended with ${code}: ${stderr}${stdout}`);
    return stdout.trim();
  };
  const network = (await local.networks.ensure('site', cidr)).name;
  const hosts = await Promise.all(
    names.map(async (name) => {
      const system = systems[name];
      await local.hosts.ensure({
        name,
        network,
        ...(system === undefined ? {} : { system }),
        authorizedKeys: [key.public],
        cpus: null,
        memoryMiB: null,
        readOnly,
        labels: {},
      });
      const host = await local.hosts.untilReachable(name, AbortSignal.timeout(2 * MINUTE_MS));
      await onHost(name, 'sh', '-ec', before);
      return host;
    }),
  );
  const target = { host: '127.0.0.1', port: 0 };
  const { port, server } = await forward(target);
  const uplink = addressPlanOf(cidr)?.uplink ?? '';
  const env = { AGENT_NATS_URLS: `nats://${uplink}:${port}`, LOG_LEVEL: 'warn' };
  const system = await startSystem({ lab: false, durable: true, env });
  target.port = Number(new URL(system.environment.nats.url).port);
  const entryOf = ({ name, address, hostKey }: Host): object => ({ name, address, user: 'ops', hostKey });
  const foundSince = async (askedAt: number): Promise<readonly FoundHost[]> => {
    const look = async () => (await system.call<ConnectionView>('GET', `/connections/${CONNECTION}`)).body;
    const isAnswered = ({ checkedTime }: ConnectionView) => checkedTime !== null && Date.parse(checkedTime) > askedAt;
    return (await eventually('the look at the hosts', look, isAnswered, MINUTE_MS)).hosts ?? [];
  };
  const register: OwnHosts['register'] = async (given, inventory = hosts.map(entryOf), more = {}) => {
    const source = given.kind === 'bundle' ? bundled(system.environment.dataDir, given) : given;
    const askedAt = Date.now();
    const own = { hosts: inventory, networkCidr: cidr, profile: profileOf(source), secret: key.private };
    const settings = { ...own, ...more };
    const registered = await system.call('PUT', `/connections/${CONNECTION}`, { provider: 'ssh', settings });
    if (registered.status >= 300) throw new Error(`the inventory is refused: ${JSON.stringify(registered.body)}`);
    return foundSince(askedAt);
  };
  const request: OwnHosts['request'] = async (cluster, workers, more = {}) => {
    const pool = (count: number) => [{ connection: CONNECTION, count, spec: 'ssh.any' }];
    const answer = await system.call('POST', '/ns/default/clusters', {
      name: cluster,
      controlPlane: pool(1),
      ...(workers === 0 ? { singleNode: true, worker: [] } : { worker: pool(workers) }),
      serviceType: 'single',
      config: { kubernetes: { networkCni: 'flannel', version: VERSION } },
      ...more,
    });
    if (answer.status !== 202) throw new Error(`the request is refused: ${JSON.stringify(answer.body)}`);
  };
  const create: OwnHosts['create'] = async (cluster, workers, more) => {
    await request(cluster, workers, more);
    const last = await system.until(cluster, ({ type }) => OVER.includes(type), 10 * MINUTE_MS);
    if (last.type !== 'ClusterReady') throw new Error(`${last.type}: ${JSON.stringify(last.data)}`);
    return system.events(cluster);
  };
  return {
    system,
    local,
    uplink,
    hosts,
    onHost,
    register,
    verify: async () => {
      const askedAt = Date.now();
      await system.call('POST', `/connections/${CONNECTION}/verify`);
      return foundSince(askedAt);
    },
    request,
    create,
    remove: async (cluster) => {
      const answer = await system.call('DELETE', `/ns/default/clusters/${cluster}`);
      if (answer.status !== 202) throw new Error(`the deletion is refused: ${JSON.stringify(answer.body)}`);
      await system.until(cluster, ({ type }) => type === 'ClusterDeleted', 5 * MINUTE_MS);
    },
    kubectl: (cluster) => kubectlOf(system, cluster, VERSION),
    become: async (cluster, source) => {
      await register(source);
      return create(cluster, names.length - 1);
    },
    stop: async () => {
      await system.stop();
      await local.clear();
      server.close();
      removeFolder(stateDir);
    },
  };
};

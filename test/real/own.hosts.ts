import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { mirrorPaths, type HostProfile, type SoftwareSource, type StoredEvent } from '@fairlead/contracts';
import { cacheFolder, localMirror } from '@fairlead/mirror';
import { addressPlanOf, machineIsUnified, openLocal, type HostSystem, type Local } from '@fairlead/nspawn';
import { newFolder, removeFolder } from '@fairlead/testing';
import ssh2 from 'ssh2';
import { startSystem, type System } from '../system/system.js';
import { kubectlOf, type Kubectl } from './kubectl.js';
import { forward, VERSION } from './real.system.js';

const MINUTE_MS = 60_000;
const CONNECTION = 'site';

/** The product, and hosts that it did not make and that see nothing of this machine but its network. */
export interface OwnHosts {
  readonly system: System;
  readonly local: Local;
  /** Where hosts find what listens on this machine. */
  readonly uplink: string;
  /** What a command on the host prints; throws when it fails. */
  onHost(host: string, ...words: readonly string[]): Promise<string>;
  /** Registers the hosts with this source of their software, the first to be a control plane, and asks for a cluster of all. */
  become(cluster: string, source: SoftwareSource): Promise<readonly StoredEvent[]>;
  kubectl(cluster: string): Promise<Kubectl>;
  stop(): Promise<void>;
}

/** What differs from real machines: hosts that share a kernel, and that pull no images. */
const profileOf = (source: SoftwareSource): HostProfile => ({
  source,
  cgroupDriver: machineIsUnified() ? 'systemd' : 'cgroupfs',
  failSwapOn: false,
  kubeProxyMode: 'nftables',
  tuneConntrack: false,
  imagePullPolicy: 'Never',
  resolvConf: '/etc/resolv.conf',
  ignorePreflightErrors: ['SystemVerification', 'FileContent--proc-sys-net-bridge-bridge-nf-call-iptables', 'Swap'],
});

/** Puts the archive where bootstrap-svc takes bundles from, and names it. */
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
  /** Of those that are not of the default one. */
  readonly systems?: Readonly<Record<string, HostSystem>>;
  /** Within 198.18.0.0/15. */
  readonly cidr: string;
  /** Folders of this machine that hosts see: path there to path here. */
  readonly readOnly?: Readonly<Record<string, string>>;
  /** Done to each host before it is registered. */
  readonly before?: string;
}

/** What a connection pins of the mirror of this machine. */
export const localCatalogueSha256 = (): string =>
  createHash('sha256')
    .update(readFileSync(join(localMirror(process.env), mirrorPaths.catalogue)))
    .digest('hex');

/** Where hosts see a mirror, if they do. */
export const MIRROR_AT = '/opt/fairlead/mirror';

/** One control plane and workers of hosts that were there before. */
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
  return {
    system,
    local,
    uplink,
    onHost,
    kubectl: (cluster) => kubectlOf(system, cluster, VERSION),
    become: async (cluster, given) => {
      const source = given.kind === 'bundle' ? bundled(system.environment.dataDir, given) : given;
      const inventory = hosts.map(({ name, address, hostKey }) => ({ name, address, user: 'ops', hostKey }));
      const settings = { hosts: inventory, networkCidr: cidr, profile: profileOf(source), secret: key.private };
      const registered = await system.call('PUT', `/connections/${CONNECTION}`, { provider: 'ssh', settings });
      if (registered.status >= 300) throw new Error(`the inventory is refused: ${JSON.stringify(registered.body)}`);
      const pool = (count: number) => [{ connection: CONNECTION, count, spec: 'ssh.any' }];
      const workers = names.length - 1;
      const answer = await system.call('POST', '/ns/default/clusters', {
        name: cluster,
        controlPlane: pool(1),
        ...(workers === 0 ? { singleNode: true, worker: [] } : { worker: pool(workers) }),
        serviceType: 'single',
        config: { kubernetes: { networkCni: 'flannel', version: VERSION } },
      });
      if (answer.status !== 202) throw new Error(`the request is refused: ${JSON.stringify(answer.body)}`);
      const last = await system.until(cluster, ({ type }) => OVER.includes(type), 10 * MINUTE_MS);
      if (last.type !== 'ClusterReady') throw new Error(`${last.type}: ${JSON.stringify(last.data)}`);
      return system.events(cluster);
    },
    stop: async () => {
      await system.stop();
      await local.clear();
      server.close();
      removeFolder(stateDir);
    },
  };
};

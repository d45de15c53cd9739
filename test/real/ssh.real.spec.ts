import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionView, StoredEvent } from '@fairlead/contracts';
import { cacheFolder, localMirror } from '@fairlead/mirror';
import { addressPlanOf, machineIsUnified, openLocal, type Host, type Local } from '@fairlead/nspawn';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import ssh2 from 'ssh2';
import { startSystem, type System } from '../system/system.js';
import { eventually, kubectlOf } from './kubectl.js';
import { probeApi } from './traffic.js';

const MINUTE_MS = 60_000;
const NETWORK = '198.18.66.0/24';
const API_ADDRESS = '198.18.66.200';
const VERSION = process.env['FAIRLEAD_REAL_VERSION'] ?? 'v1.34.4';
const HOSTS = ['rack-1', 'rack-2', 'rack-3', 'rack-4', 'rack-5'];
/** ORBITER's limit, measured by a client. */
const BACK_WITHIN_MS = 15_000;
/** How long the API is probed before and after each event. */
const WATCHED_MS = 20_000;
const MIRROR_AT = '/opt/fairlead/mirror';

/** Hosts reach NATS through this proxy: the server of a test listens only on the loopback device. */
const forward = async (to: { port: number }): Promise<{ readonly port: number; readonly server: Server }> => {
  const server = createServer((client: Socket) => {
    const upstream = connect(to.port, '127.0.0.1');
    for (const [one, other] of [[client, upstream] as const, [upstream, client] as const]) {
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '0.0.0.0', resolve));
  return { port: (server.address() as AddressInfo).port, server };
};

/** Differences from real machines: hosts share a kernel, and Kubernetes' files are in a folder. */
const profile = {
  source: { kind: 'files', location: MIRROR_AT, unsigned: true },
  nodeBinary: '/opt/fairlead/node',
  cgroupDriver: machineIsUnified() ? 'systemd' : 'cgroupfs',
  failSwapOn: false,
  kubeProxyMode: 'nftables',
  tuneConntrack: false,
  imagePullPolicy: 'Never',
  resolvConf: '/etc/resolv.conf',
  ignorePreflightErrors: ['SystemVerification', 'FileContent--proc-sys-net-bridge-bridge-nf-call-iptables', 'Swap'],
  ...(machineIsUnified() ? {} : { failCgroupV1: false }),
};

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const body = (name: string): object => ({
  name,
  controlPlane: [{ connection: 'site', count: 3, spec: 'ssh.any' }],
  worker: [{ connection: 'site', count: 2, spec: 'ssh.any' }],
  serviceType: 'single',
  config: { kubernetes: { networkCni: 'flannel', version: VERSION } },
});

// Requires an isolated network namespace: npm run e2e:real -- ssh.
const inOwnNetwork = process.env['FAIRLEAD_OWN_NETWORK'] === 'yes';

(inOwnNetwork ? describe : describe.skip)('five hosts that Fairlead did not make', () => {
  const stateDir = newFolder('real-ssh');
  const key = ssh2.utils.generateKeyPairSync('ed25519', { comment: 'ops' });
  const target = { port: 0 };
  let local: Local;
  let system: System;
  let forwarder: Server;

  const inventory = async (): Promise<readonly Host[]> => {
    const network = (await local.networks.ensure('site', NETWORK)).name;
    return Promise.all(
      HOSTS.map(async (name) => {
        const readOnly = { [MIRROR_AT]: localMirror(process.env) };
        const desired = {
          name,
          network,
          authorizedKeys: [key.public],
          cpus: null,
          memoryMiB: null,
          readOnly,
          labels: {},
        };
        await local.hosts.ensure(desired);
        return local.hosts.untilReachable(name, AbortSignal.timeout(2 * MINUTE_MS));
      }),
    );
  };

  const over = (event: StoredEvent): boolean =>
    ['ClusterReady', 'ClusterFailed', 'ClusterRejected', 'InfrastructureFailed'].includes(event.type);

  const create = async (name: string): Promise<readonly StoredEvent[]> => {
    const answer = await system.call('POST', '/ns/default/clusters', body(name));
    expect([answer.status, answer.body]).toEqual([202, expect.anything()]);
    const last = await system.until(name, over, 10 * MINUTE_MS);
    expect([last.type, last.data]).toEqual(['ClusterReady', expect.anything()]);
    return system.events(name);
  };

  const remove = async (name: string): Promise<void> => {
    expect((await system.call('DELETE', `/ns/default/clusters/${name}`)).status).toBe(202);
    await system.until(name, ({ type }) => type === 'ClusterDeleted', 5 * MINUTE_MS);
  };

  const statesOf = async (): Promise<readonly string[]> => {
    const { body: view } = await system.call<ConnectionView>('GET', '/connections/site');
    return (view.hosts ?? []).map(({ state, problem }) => [state, problem].join(' ').trim());
  };

  const onHost = async (host: string, ...words: readonly string[]): Promise<string> =>
    (await local.hosts.execute(host, words)).stdout.trim();

  /** The holder of the shared address; a host without power has none. */
  const holder = async (): Promise<readonly string[]> => {
    const shown = await Promise.all(
      HOSTS.map((host) => onHost(host, 'ip', '-o', '-4', 'address', 'show').catch(() => '')),
    );
    return HOSTS.filter((_host, at) => shown[at]?.includes(` ${API_ADDRESS}/`));
  };

  beforeAll(async () => {
    local = openLocal({ stateDir: join(stateDir, 'hosts'), cacheDir: cacheFolder(process.env) });
    const hosts = await inventory();
    const way = await forward(target);
    forwarder = way.server;
    const uplink = addressPlanOf(NETWORK)?.uplink;
    system = await startSystem({
      durable: true,
      env: { AGENT_NATS_URLS: `nats://${uplink}:${way.port}`, LOG_LEVEL: 'warn' },
    });
    target.port = Number(new URL(system.environment.nats.url).port);
    const settings = {
      hosts: hosts.map(({ name, address, hostKey }) => ({ name, address, user: 'ops', hostKey })),
      apiAddress: API_ADDRESS,
      networkCidr: NETWORK,
      profile,
      secret: key.private,
    };
    const registered = await system.call('PUT', '/connections/site', { provider: 'ssh', settings });
    expect([registered.status, registered.body]).toEqual([200, expect.anything()]);
  }, 5 * MINUTE_MS);

  afterAll(async () => {
    await system?.stop();
    await local?.clear();
    forwarder?.close();
    removeFolder(stateDir);
  }, 3 * MINUTE_MS);

  it(
    'become a cluster whose control planes load-balance the API at the shared address',
    async () => {
      const events = await create('first');
      const story = events.map(({ type }) => type);
      expect(story.filter((type) => type === 'ApiBalanced')).toHaveLength(3);
      expect(story.indexOf('ApiBalanced')).toBeLessThan(story.indexOf('ControlPlaneInitialized'));
      expect(await holder()).toHaveLength(1);
      expect(await statesOf()).toEqual(HOSTS.map(() => 'in-use'));
    },
    12 * MINUTE_MS,
  );

  it(
    'keep the API at its address when its holder loses power, and recover',
    async () => {
      const [first] = await holder();
      const api = probeApi(await kubectlOf(system, 'first', VERSION));
      await sleep(WATCHED_MS);
      const cutAt = Date.now();
      await local.hosts.powerCut(first!);
      await eventually(
        'another host to have the address',
        holder,
        (now) => now.length === 1 && now[0] !== first,
        MINUTE_MS,
      );
      await sleep(WATCHED_MS);
      await api.end();
      const gapMs = api.longestGapSince(cutAt);
      const failures = api.failuresSince(0).map(({ at, words }) => `${((at - cutAt) / 1_000).toFixed(1)} s ${words}`);
      say(`the holder of the API's address lost its power: no answer for ${(gapMs / 1_000).toFixed(1)} s`);
      say(`API: ${api.requestsSince(0)} reads, ${failures.length} failed`);
      failures.forEach((line) => say(`    ${line}`));
      expect(gapMs).toBeLessThan(BACK_WITHIN_MS);
      // No failures before, nor once the other haproxies have noticed the loss.
      expect(api.failuresSince(0).filter(({ at }) => at < cutAt || at >= cutAt + BACK_WITHIN_MS)).toEqual([]);
      await local.hosts.start(first!);
      await local.hosts.untilReachable(first!, AbortSignal.timeout(MINUTE_MS));
    },
    4 * MINUTE_MS,
  );

  it(
    'are returned clean when the cluster is deleted, and become another one',
    async () => {
      await remove('first');
      expect(await statesOf()).toEqual(HOSTS.map(() => 'free'));
      for (const host of HOSTS) {
        expect([host, await onHost(host, 'find', '/etc/kubernetes', '/var/lib/etcd', '-mindepth', '1')]).toEqual([
          host,
          '',
        ]);
        expect([host, await onHost(host, 'systemctl', 'is-active', 'fairlead-agent')]).toEqual([host, 'inactive']);
        expect(await onHost(host, 'nft', 'list', 'tables')).not.toContain('kube-proxy');
        expect([host, await onHost(host, 'ctr', '--namespace', 'k8s.io', 'images', 'list', '--quiet')]).toEqual([
          host,
          '',
        ]);
        expect([host, await onHost(host, 'find', '/usr/bin/kubelet', '/var/log/pods', '-type', 'f')]).toEqual([
          host,
          '',
        ]);
      }
      await create('second');
      expect(await statesOf()).toEqual(HOSTS.map(() => 'in-use'));
      await remove('second');
      expect(await statesOf()).toEqual(HOSTS.map(() => 'free'));
    },
    18 * MINUTE_MS,
  );
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, nodesOf, rolledOut, type Kubectl } from './kubectl.js';
import { profileText } from './profile.js';
import { machinesOf, startRealSystem, VERSION, type RealSystem } from './real.system.js';
import { addressesOfPods, talks, webManifests } from './workload.js';

const MINUTE_MS = 60_000;
const CLUSTER = 'demo';

describe('one request becomes a real cluster on real hosts', () => {
  let system: RealSystem;
  let events: readonly StoredEvent[];
  let machines: readonly Machine[];
  let kubectl: Kubectl;

  const hostOf = (machine: Machine): string => machine.providerId.split('/').at(-1) ?? '';
  const leader = (): Machine => machines.find((machine) => machine.leader) as Machine;
  const workers = (): readonly Machine[] => machines.filter(({ role }) => role === 'worker');
  const controlPlanes = (): readonly Machine[] => machines.filter(({ role }) => role === 'control-plane');
  const allReady = async (timeoutMs: number): Promise<void> => {
    await eventually(
      'five Ready nodes',
      () => nodesOf(kubectl),
      (nodes) => nodes.length === 5 && nodes.every(({ ready }) => ready),
      timeoutMs,
    );
  };
  const said = (
    type: StoredEvent['type'],
    node: string,
    after: number,
    timeoutMs = 3 * MINUTE_MS,
  ): Promise<StoredEvent> =>
    system.until(
      CLUSTER,
      (event) => event.meta.seq > after && event.type === type && 'node' in event.data && event.data.node === node,
      timeoutMs,
    );
  const now = async (): Promise<number> => (await system.events(CLUSTER)).at(-1)?.meta.seq ?? 0;

  beforeAll(async () => {
    system = await startRealSystem();
    events = await system.create(CLUSTER);
    machines = machinesOf(events);
    kubectl = await system.kubectl(CLUSTER);
    process.stdout.write(`${profileText(events)}\n`);
  }, 20 * MINUTE_MS);

  afterAll(() => system?.stop(), 2 * MINUTE_MS);

  it('has five Ready nodes of the requested version', async () => {
    const nodes = await nodesOf(kubectl);
    expect(nodes.map(({ name }) => name).sort()).toEqual(machines.map(({ name }) => name).sort());
    expect(nodes.every(({ ready, version }) => ready && version === VERSION)).toBe(true);
  });

  it('has an endpoint of the service `kubernetes` for each control plane, with its own address [CB-Ladybug 17]', async () => {
    const path = 'jsonpath={.items[*].endpoints[*].addresses[*]}';
    const addresses = (
      await kubectl('get', 'endpointslices', '--selector', 'kubernetes.io/service-name=kubernetes', '-o', path)
    ).split(' ');
    expect(addresses.toSorted()).toEqual(
      controlPlanes()
        .map(({ privateIp }) => privateIp)
        .toSorted(),
    );
  });

  it(
    'has pods that reach each other across nodes and resolve names',
    async () => {
      const manifest = join(system.environment.dataDir, 'web.json');
      writeFileSync(manifest, JSON.stringify(webManifests));
      await kubectl('apply', '-f', manifest);
      await rolledOut(kubectl, 'deployment/web');
      const pods = await addressesOfPods(kubectl);
      expect(new Set(pods.map(({ node }) => node))).toEqual(new Set(workers().map(({ name }) => name)));
      for (const from of pods) expect(await talks(kubectl, from.name, pods)).toEqual([]);
    },
    6 * MINUTE_MS,
  );

  it(
    "is healthy according to other tools: kubeadm, etcdctl, the API servers' own checks",
    async () => {
      for (const machine of controlPlanes()) {
        const certificates = await system.onHost(hostOf(machine), 'kubeadm', 'certs', 'check-expiration');
        const residual = [...certificates.matchAll(/\s(\d+)([dy])\s+/g)].map(([, count, unit]) =>
          unit === 'y' ? Number(count) * 365 : Number(count),
        );
        expect(residual.length).toBeGreaterThanOrEqual(10);
        expect(Math.min(...residual)).toBeGreaterThan(300);
        const verbose = await kubectl(
          ...['--server', `https://${machine.privateIp}:6443`, 'get', '--raw', '/readyz?verbose'],
        );
        expect(verbose).toMatch(/readyz check passed/);
        expect(verbose).not.toMatch(/^\[-\]/m);
      }
      const status = JSON.parse(
        await kubectl(
          ...['--namespace', 'kube-system', 'exec', `etcd-${leader().name}`, '--', 'etcdctl'],
          ...['--cacert', '/etc/kubernetes/pki/etcd/ca.crt', '--cert', '/etc/kubernetes/pki/etcd/server.crt'],
          ...['--key', '/etc/kubernetes/pki/etcd/server.key', 'endpoint', 'status', '--cluster', '--write-out=json'],
        ),
      ) as readonly { readonly Status: { readonly leader: number; readonly errors?: readonly string[] } }[];
      expect(status).toHaveLength(3);
      expect(new Set(status.map(({ Status }) => Status.leader)).size).toBe(1);
      expect(status.flatMap(({ Status }) => Status.errors ?? [])).toEqual([]);
    },
    2 * MINUTE_MS,
  );

  it(
    'answers at the load-balanced address while the host of its initial control plane is off, which recovers [CB-Ladybug 15]',
    async () => {
      await system.local.hosts.powerCut(hostOf(leader()));
      await eventually(
        'the API',
        () => kubectl('get', '--raw', '/readyz'),
        (text) => text === 'ok',
        MINUTE_MS,
      );
      const others = await nodesOf(kubectl);
      expect(others).toHaveLength(5);
      await system.local.hosts.start(hostOf(leader()));
      await allReady(3 * MINUTE_MS);
    },
    6 * MINUTE_MS,
  );

  it(
    'has a host that recovers from a reboot without intervention',
    async () => {
      const [machine] = workers() as readonly [Machine];
      const before = await now();
      await system.onHost(hostOf(machine), 'systemctl', 'reboot', '--no-block');
      await said('NodeRebooted', machine.name, before);
      await allReady(2 * MINUTE_MS);
    },
    6 * MINUTE_MS,
  );

  it(
    'records that a host is cut off, and that it is back',
    async () => {
      const machine = workers()[1] as Machine;
      const before = await now();
      await system.local.hosts.partition(hostOf(machine));
      await said('NodeLost', machine.name, before);
      await eventually(
        'Kubernetes to see it',
        () => nodesOf(kubectl),
        (nodes) => nodes.some(({ name, ready }) => name === machine.name && !ready),
        2 * MINUTE_MS,
      );
      await system.local.hosts.heal(hostOf(machine));
      await said('NodeRecovered', machine.name, before);
      await allReady(2 * MINUTE_MS);
      const after = (await system.events(CLUSTER)).filter(
        (event) => event.meta.seq > before && 'node' in event.data && event.data.node === machine.name,
      );
      expect(after.map(({ type }) => type)).toEqual(expect.arrayContaining(['NodeLost', 'NodeRecovered']));
    },
    8 * MINUTE_MS,
  );

  it(
    'leaves no process, mount, namespace or group of its hosts when it is deleted',
    async () => {
      expect((await system.call('DELETE', `/ns/default/clusters/${CLUSTER}`)).status).toBe(202);
      await system.until(CLUSTER, ({ type }) => type === 'ClusterDeleted', 3 * MINUTE_MS);
      expect(system.local.hosts.all()).toEqual([]);
      expect(system.local.balancers.all()).toEqual([]);
      const networks = system.local.networks.all().map(({ name }) => name);
      const left = await system.leftovers(machines.map(hostOf));
      // The connection's network is shared by all its clusters, and is kept.
      expect(left.filter((what) => !/^(namespace|device|file: .*\/networks\/)/.test(what))).toEqual([]);
      await system.local.clear();
      expect(await system.local.leftovers({ networks, hosts: machines.map(hostOf) })).toEqual([]);
    },
    5 * MINUTE_MS,
  );
});

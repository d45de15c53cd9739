import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ClusterManifestView, EventType, NodeList, StoredEvent } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CHECKOUT } from '../apps/cli/src/checkout.js';
import { startSystem, type System } from './system/system.js';

const run = promisify(execFile);
const TIMEOUT_MS = 240_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const path = '/ns/default/clusters/shop';
/** Long enough to detect the silence of two machines that fail at once. */
const soon = { unhealthyAfter: '5s', retryPeriod: '0s', minHealthyPeriod: '0s' };

interface LabMachine {
  readonly id: string;
  readonly name: string;
}
interface Audited {
  readonly type: string;
  readonly because: readonly { readonly type: string }[];
}

describe('a cluster whose pools have health checks', () => {
  let system: System;

  const log = (): Promise<readonly StoredEvent[]> => system.events('shop');
  const lastSeq = async (): Promise<number> => (await log()).at(-1)!.meta.seq;
  const until = <T extends EventType>(type: T, after: number, node?: string): Promise<StoredEvent<T>> =>
    system.until(
      'shop',
      ({ type: found, data, meta }) =>
        found === type && meta.seq > after && (node === undefined || ('node' in data && data.node === node)),
      TIMEOUT_MS,
    ) as Promise<StoredEvent<T>>;
  const since = async (after: number, ...types: readonly EventType[]): Promise<readonly StoredEvent[]> =>
    (await log()).filter(({ type, meta }) => meta.seq > after && types.includes(type));
  const fairlead = async (...args: string[]): Promise<string> => {
    const env = { ...process.env, FAIRLEAD_SERVER: system.server, FAIRLEAD_TOKEN: system.token, NODE_OPTIONS: '' };
    const main = join(CHECKOUT, 'apps', 'cli', 'dist', 'main.js');
    return (await run(process.execPath, [main, ...args], { env, timeout: 60_000 })).stdout;
  };
  const nodes = async (): Promise<NodeList['items']> =>
    (await system.call<NodeList>('GET', `${path}/nodes?minSeq=${await lastSeq()}`)).body.items;
  const readyNodes = async (pool: string): Promise<readonly string[]> =>
    (await nodes()).filter((node) => node.pool === pool && node.ready).map(({ name }) => name);
  const idOf = async (name: string): Promise<string> => {
    const { items } = (await system.lab<{ items: readonly LabMachine[] }>('GET', '/v1/machines')).body;
    return items.find((machine) => machine.name === name)!.id;
  };
  const exec = (node: string, ...command: string[]): Promise<string> =>
    fairlead('node', 'exec', 'shop', node, '--', ...command);
  const faults = async (...items: readonly object[]): Promise<void> => {
    expect((await system.lab('PUT', '/v1/faults', { items })).status).toBe(200);
  };
  /** As shown by pools, nodes and conditions. */
  const shown = async (
    name: string,
  ): Promise<{ readonly ready: boolean; readonly line: string; readonly pool: number }> => {
    const list = await nodes();
    const { pool = '', ready = true } = list.find((one) => one.name === name) ?? {};
    const lines = (await fairlead('node', 'list', 'shop')).split('\n');
    const { body } = await system.call<ClusterManifestView>('GET', `${path}/manifest`);
    return {
      ready,
      line: lines.find((line) => line.startsWith(name)) ?? '',
      pool: body.status?.pools.find((one) => one.name === pool)?.readyReplicas ?? -1,
    };
  };
  const untilReady = (name: string): Promise<unknown> =>
    eventually(nodes, (list) => list.find((one) => one.name === name)?.ready === true, { withinMs: TIMEOUT_MS });
  const power = async (name: string, action: 'power-cut' | 'start' | 'reboot'): Promise<void> => {
    expect((await system.lab('POST', `/v1/machines/${await idOf(name)}/power`, { action })).status).toBe(200);
  };

  beforeAll(async () => {
    const env = {
      NODE_LOST_AFTER_MS: '2000',
      AGENT_HEARTBEAT_INTERVAL_MS: '300',
      // Other stories cover provider lists.
      INFRA_WATCH_INTERVAL_MS: '3600000',
      NODES_WATCH_INTERVAL_MS: '400',
      NODE_WITHOUT_MACHINE_LIMIT_MS: '20000',
      LAB_NODE_MONITOR_GRACE_MS: '3000',
    };
    system = await startSystem({ light: true, env });
    const spec = {
      serviceType: 'single',
      // The health checks must handle a stopped kubelet, not its agent.
      drift: 'report',
      controlPlane: { replicas: 1, ...machines },
      pools: [
        { name: 'web', replicas: 3, ...machines, health: { ...soon, maxUnhealthy: '40%' } },
        { name: 'batch', replicas: 1, ...machines, health: { ...soon, remediation: 'reboot-then-replace' } },
        { name: 'plain', replicas: 1, ...machines },
      ],
    };
    const manifest = { apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'shop' }, spec };
    expect((await system.call('PUT', `${path}/manifest`, manifest)).status).toBe(202);
    await until('ClusterReady', 0);
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'replaces a node whose host was destroyed, despite kill -9 of upgrade-svc',
    async () => {
      const [victim = ''] = await readyNodes('web');
      const before = await lastSeq();
      expect((await system.lab('DELETE', `/v1/machines/${await idOf(victim)}`)).status).toBe(204);
      const lost = await until('NodeLost', before, victim);
      const requested = await until('RemediationRequested', lost.meta.seq);
      system.kill('upgrade-svc');
      expect(requested.data).toMatchObject({
        node: victim,
        pool: 'web',
        action: 'replace',
        order: 'remove-first',
        attempt: 1,
        reason: { condition: 'Lost', unhealthy: 1, total: 3, limit: 1 },
      });
      const done = await until('RemediationSucceeded', requested.meta.seq);
      expect(done.data).toMatchObject({ node: victim, requestId: requested.data.requestId });
      const ready = await readyNodes('web');
      expect(ready).toHaveLength(3);
      expect(ready).toContain(done.data.replacement);
      expect(ready).not.toContain(victim);
      const story = await since(before, 'RemediationRequested', 'NodeRemoved', 'VmDeleted', 'VmsPlanned');
      expect(story.map(({ type }) => type)).toEqual(['RemediationRequested', 'NodeRemoved', 'VmDeleted', 'VmsPlanned']);
    },
    TIMEOUT_MS,
  );

  it(
    'has in its audit the causes of the replacement, back to the silence of the node [Cluster API 35]',
    async () => {
      const stated = JSON.parse(await fairlead('audit', 'shop', '--output', 'json')) as { items: readonly Audited[] };
      const causes = (type: EventType): readonly string[] =>
        stated.items.findLast((one) => one.type === type)!.because.map((cause) => cause.type);
      expect(causes('RemediationRequested')).toContain('NodeLost');
      for (const type of ['NodeRemoved', 'VmsPlanned', 'RemediationSucceeded'] as const)
        expect(causes(type)).toEqual(expect.arrayContaining(['RemediationRequested', 'NodeLost']));
    },
    TIMEOUT_MS,
  );

  it(
    'repairs none of two nodes if only one may be unhealthy, and reports that; when one recovers, the other is replaced [Cluster API 26]',
    async () => {
      const [first = '', second = ''] = await readyNodes('web');
      const before = await lastSeq();
      await Promise.all([power(first, 'power-cut'), power(second, 'power-cut')]);
      const suspended = await until('RemediationSuspended', before);
      expect(suspended.data).toMatchObject({
        pool: 'web',
        reason: 'TooManyUnhealthy',
        unhealthy: 2,
        total: 3,
        limit: 1,
      });
      const sentence = '2 unhealthy of 3, limit 1: remediation of pool web is suspended';
      await nodes();
      expect(await fairlead('cluster', 'describe', 'shop')).toContain(sentence);
      const list = await fairlead('node', 'list', 'shop');
      for (const name of [first, second]) expect(list).toMatch(new RegExp(`^${name} .*${sentence}`, 'mu'));
      expect(await since(before, 'RemediationRequested')).toEqual([]);

      await power(first, 'start');
      const requested = await until('RemediationRequested', suspended.meta.seq);
      expect(requested.data).toMatchObject({ node: second, reason: { unhealthy: 1, total: 3, limit: 1 } });
      await until('RemediationSucceeded', requested.meta.seq);
      const ready = await readyNodes('web');
      expect([ready.length, ready.includes(first), ready.includes(second)]).toEqual([3, true, false]);
      expect(await since(before, 'RemediationSuspended', 'RemediationResumed')).toHaveLength(2);
      expect(await fairlead('cluster', 'describe', 'shop')).not.toContain('Remediation:');
    },
    TIMEOUT_MS,
  );

  it(
    'reboots a node whose agent answers before replacing it',
    async () => {
      const [sick = ''] = await readyNodes('batch');
      const before = await lastSeq();
      await system.lab('PUT', '/v1/faults', { items: [{ kind: 'runtime-hung', machine: sick, times: 1 }] });
      await until('NodeNotReady', before, sick);
      const requested = await until('RemediationRequested', before);
      expect(requested.data).toMatchObject({ node: sick, action: 'reboot', reason: { condition: 'NotReady' } });
      const done = await until('RemediationSucceeded', requested.meta.seq);
      expect(done.data).toMatchObject({ node: sick, action: 'reboot' });
      expect(await since(before, 'NodeRebooted')).toHaveLength(1);
      expect(await readyNodes('batch')).toEqual([sick]);
      const withdrawn = await eventually(async () =>
        (await since(done.meta.seq, 'DesiredVersionsSet')).find(({ data }) => 'node' in data && data.node === sick),
      );
      expect(withdrawn.data).toMatchObject({ changesAllowed: false });
    },
    TIMEOUT_MS,
  );

  it(
    'reboots a node whose kubelet was stopped after another difference of its software, and shows it NotReady meanwhile',
    async () => {
      const [victim = ''] = await readyNodes('batch');
      const before = await lastSeq();
      await exec(victim, 'apt-mark', 'unhold', 'kubelet');
      await exec(victim, 'systemctl', 'restart', 'fairlead-agent');
      await until('NodeDiverged', before, victim);
      await exec(victim, 'systemctl', 'stop', 'kubelet');
      const down = await until('NodeNotReady', before, victim);
      expect(down.data).toMatchObject({ reason: 'KubernetesNotReady' });
      const requested = await until('RemediationRequested', down.meta.seq);
      expect(requested.data).toMatchObject({ node: victim, action: 'reboot', reason: { condition: 'NotReady' } });
      const done = await until('RemediationSucceeded', requested.meta.seq);
      expect(done.data).toMatchObject({ node: victim, action: 'reboot' });
      await untilReady(victim);
    },
    TIMEOUT_MS,
  );

  it(
    'shows a node with a stopped kubelet as NotReady in every view, until the kubelet runs again',
    async () => {
      const [plain = ''] = await readyNodes('plain');
      const before = await lastSeq();
      await exec(plain, 'systemctl', 'stop', 'kubelet');
      await until('NodeNotReady', before, plain);
      expect(await shown(plain)).toMatchObject({ ready: false, line: expect.stringContaining('NotReady'), pool: 0 });
      const stated = await fairlead('cluster', 'describe', 'shop');
      expect(stated).toContain('NodesReady is False since');
      expect(stated).toContain(plain);
      await exec(plain, 'systemctl', 'start', 'kubelet');
      await untilReady(plain);
      expect(await shown(plain)).toMatchObject({ ready: true, pool: 1 });
      expect(await since(before, 'NodeNotReady')).toHaveLength(1);
    },
    TIMEOUT_MS,
  );

  it(
    'shows a node with a stopped container runtime as NotReady, and Ready again when that runs',
    async () => {
      const [plain = ''] = await readyNodes('plain');
      const before = await lastSeq();
      await exec(plain, 'systemctl', 'stop', 'containerd');
      const down = await until('NodeNotReady', before, plain);
      expect(down.data).toMatchObject({
        reason: 'KubernetesNotReady',
        message: expect.stringContaining('container runtime is down'),
      });
      expect(await shown(plain)).toMatchObject({ ready: false, pool: 0 });
      await exec(plain, 'systemctl', 'start', 'containerd');
      await untilReady(plain);
    },
    TIMEOUT_MS,
  );

  it(
    'shows a node whose kubelet crashes at each start, without a container runtime, as NotReady until it starts',
    async () => {
      const [plain = ''] = await readyNodes('plain');
      const before = await lastSeq();
      await exec(plain, 'systemctl', 'stop', 'containerd');
      await exec(plain, 'systemctl', 'restart', 'kubelet');
      const down = await until('NodeNotReady', before, plain);
      expect(down.data).toMatchObject({ reason: 'KubernetesNotReady' });
      expect(await shown(plain)).toMatchObject({ ready: false, pool: 0 });
      await exec(plain, 'systemctl', 'start', 'containerd');
      await untilReady(plain);
      expect(await since(before, 'NodeNotReady')).toHaveLength(1);
    },
    TIMEOUT_MS,
  );

  it(
    'reboots a node that has lost its pod network',
    async () => {
      const [victim = ''] = await readyNodes('batch');
      const before = await lastSeq();
      await faults({ kind: 'network-lost', machine: victim, times: 1 });
      const down = await until('NodeNotReady', before, victim);
      expect(down.data).toMatchObject({ message: expect.stringContaining('cni plugin not initialized') });
      const done = await until('RemediationSucceeded', down.meta.seq);
      expect(done.data).toMatchObject({ node: victim, action: 'reboot' });
      await untilReady(victim);
    },
    TIMEOUT_MS,
  );

  it(
    'shows a node with a full disk like Kubernetes does: Ready, with DiskPressure, until space is freed',
    async () => {
      const [plain = ''] = await readyNodes('plain');
      const before = await lastSeq();
      await faults({ kind: 'disk-full', machine: plain });
      const full = await until('NodePressureChanged', before, plain);
      expect(full.data).toMatchObject({ conditions: ['DiskPressure'] });
      expect(await shown(plain)).toMatchObject({ ready: true, line: expect.stringContaining('DiskPressure') });
      await faults();
      const freed = await until('NodePressureChanged', full.meta.seq, plain);
      expect(freed.data).toMatchObject({ conditions: [] });
      expect((await shown(plain)).line).not.toContain('DiskPressure');
    },
    TIMEOUT_MS,
  );

  it(
    'contradicts the last report of an agent if only the list of Nodes shows that its kubelet is stopped',
    async () => {
      const [plain = ''] = await readyNodes('plain');
      const before = await lastSeq();
      await exec(plain, 'systemctl', 'stop', 'fairlead-agent', 'kubelet');
      const contradicted = await until('NodeReadinessContradicted', before, plain);
      expect(contradicted.data).toMatchObject({ message: expect.stringContaining('stopped posting node status') });
      expect(await shown(plain)).toMatchObject({ ready: false, pool: 0 });
      expect(await since(before, 'NodeNotReady')).toEqual([]);
      await power(plain, 'reboot');
      await until('NodeReadinessConfirmed', contradicted.meta.seq, plain);
      await untilReady(plain);
    },
    TIMEOUT_MS,
  );

  it(
    'replaces a node whose Node object was deleted externally, although its agent reports Ready',
    async () => {
      const [victim = ''] = await readyNodes('web');
      const before = await lastSeq();
      const { body } = await system.call<string>('GET', `${path}/kubeconfig/administrator`);
      const kubernetes = new KubernetesClient('shop', body, () => undefined);
      try {
        await kubernetes.core.deleteNode({ name: victim });
      } finally {
        kubernetes.close();
      }
      const missing = await until('NodeMissing', before, victim);
      const requested = await until('RemediationRequested', missing.meta.seq);
      expect(requested.data).toMatchObject({
        node: victim,
        action: 'replace',
        order: 'remove-first',
        reason: { condition: 'Missing', unhealthy: 1, total: 3, limit: 1 },
      });
      await until('RemediationSucceeded', requested.meta.seq);
      const ready = await readyNodes('web');
      expect([ready.length, ready.includes(victim)]).toEqual([3, false]);
    },
    TIMEOUT_MS,
  );

  it(
    'shows an addon that was deleted externally as failed until it runs again [azimuth 20]',
    async () => {
      const before = await lastSeq();
      const { body } = await system.call<string>('GET', `${path}/kubeconfig/administrator`);
      const kubernetes = new KubernetesClient('shop', body, () => undefined);
      const { apps } = kubernetes;
      const dns = { name: 'coredns', namespace: 'kube-system' };
      try {
        const { metadata, spec } = await apps.readNamespacedDeployment(dns);
        await apps.deleteNamespacedDeployment(dns);
        const degraded = await until('AddonDegraded', before);
        expect(degraded.data).toMatchObject({
          addon: 'coredns',
          message: 'there is no Deployment kube-system/coredns',
        });
        await nodes();
        expect(await fairlead('cluster', 'describe', 'shop')).toContain('AddonsFailed');
        const again = { metadata: { ...dns, labels: metadata?.labels ?? {} }, ...(spec === undefined ? {} : { spec }) };
        await apps.createNamespacedDeployment({ namespace: dns.namespace, body: again });
        await until('AddonRecovered', degraded.meta.seq);
        await nodes();
        expect(await fairlead('cluster', 'describe', 'shop')).not.toContain('AddonsFailed');
      } finally {
        kubernetes.close();
      }
    },
    TIMEOUT_MS,
  );

  it(
    "gives a control plane whose Node was deleted and registered again kubeadm's labels and taint",
    async () => {
      const name = (await nodes()).find(({ role }) => role === 'control-plane')?.name ?? '';
      const before = await lastSeq();
      const { body } = await system.call<string>('GET', `${path}/kubeconfig/administrator`);
      const kubernetes = new KubernetesClient('shop', body, () => undefined);
      try {
        const { status: reported } = await kubernetes.core.readNode({ name });
        await kubernetes.core.deleteNode({ name });
        await until('NodeMissing', before, name);
        // Like its kubelet, which may set neither itself.
        const registered = { metadata: { name }, spec: {}, status: { nodeInfo: reported!.nodeInfo! } };
        await kubernetes.core.createNode({ body: registered });
        await until('NodeReturned', before, name);
        await until('NodeLabelsSet', before, name);
        const { metadata, spec } = await kubernetes.core.readNode({ name });
        expect(metadata?.labels).toMatchObject({
          'node-role.kubernetes.io/control-plane': '',
          'node.kubernetes.io/exclude-from-external-load-balancers': '',
        });
        expect(spec?.taints).toContainEqual(
          expect.objectContaining({ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }),
        );
      } finally {
        kubernetes.close();
      }
    },
    TIMEOUT_MS,
  );

  it(
    'shows a Node without a machine, and a node missing in Kubernetes, until both are resolved; the first is deleted [ORBITER 23]',
    async () => {
      const { body: kubeconfig } = await system.call<string>('GET', `${path}/kubeconfig/administrator`);
      const kubernetes = new KubernetesClient('shop', kubeconfig, () => undefined);
      const described = async (): Promise<string> => {
        await nodes();
        return fairlead('cluster', 'describe', 'shop');
      };
      try {
        const [plain = ''] = await readyNodes('plain');
        expect(plain).not.toBe('');
        const before = await lastSeq();
        await kubernetes.core.createNode({ body: { metadata: { name: 'stray.example.org' }, spec: {} } });
        const { status } = await kubernetes.core.readNode({ name: plain });
        await kubernetes.core.deleteNode({ name: plain });
        await until('NodeMissing', before, plain);
        const found = await until('NodeWithoutMachineFound', before);
        expect(found.data).toMatchObject({ name: 'stray.example.org', ready: false });
        const stated = await described();
        expect(stated).toContain('State: Degraded');
        expect(stated).toContain(`NodesPresent is False since`);
        expect(stated).toContain(`Kubernetes has no Node object of ${plain}`);
        expect(stated).toContain('no machine is recorded of stray.example.org');

        // Like its kubelet's registration, which is NotReady at first.
        const body = { metadata: { name: plain }, spec: {}, status: { nodeInfo: status!.nodeInfo! } };
        await kubernetes.core.createNode({ body });
        await until('NodeReturned', before, plain);
        await eventually(
          () => readyNodes('plain'),
          (ready) => ready.includes(plain),
          { withinMs: TIMEOUT_MS },
        );
        await until('NodeWithoutMachineExpired', before);
        await until('NodeWithoutMachineGone', before);
        const left = (await kubernetes.core.listNode()).items.map(({ metadata }) => metadata?.name);
        expect([left.includes('stray.example.org'), left.includes(plain)]).toEqual([false, true]);
        expect(await described()).not.toContain('NodesPresent');
        expect(await since(before, 'NodeMissing', 'NodeWithoutMachineFound')).toHaveLength(2);
        expect(await since(before, 'NodeRemoved', 'NodeRemovalRequested', 'VmDeleted', 'RemediationRequested')).toEqual(
          [],
        );
      } finally {
        kubernetes.close();
      }
    },
    TIMEOUT_MS,
  );

  it(
    'restores a node whose Node object was deleted once its host is rebooted, and replaces nothing without a health check',
    async () => {
      const [plain = ''] = await readyNodes('plain');
      expect(plain).not.toBe('');
      const before = await lastSeq();
      const { body } = await system.call<string>('GET', `${path}/kubeconfig/administrator`);
      const kubernetes = new KubernetesClient('shop', body, () => undefined);
      try {
        await kubernetes.core.deleteNode({ name: plain });
        await until('NodeMissing', before, plain);
        await nodes();
        expect(await fairlead('cluster', 'describe', 'shop')).toContain(`Kubernetes has no Node object of ${plain}`);
        const action = { action: 'reboot' };
        expect((await system.lab('POST', `/v1/machines/${await idOf(plain)}/power`, action)).status).toBe(200);
        await until('NodeReturned', before, plain);
        // Its kubelet has registered the same node, which a poll matches by this.
        const { spec } = await kubernetes.core.readNode({ name: plain });
        expect(spec?.providerID).toBe(`lab://${await idOf(plain)}`);
        await eventually(
          () => readyNodes('plain'),
          (ready) => ready.includes(plain),
          { withinMs: TIMEOUT_MS },
        );
        expect(await since(before, 'NodeMissing', 'NodeReturned')).toHaveLength(2);
        expect(
          await since(before, 'RemediationRequested', 'NodeRemovalRequested', 'NodeRemoved', 'VmsPlanned', 'VmDeleted'),
        ).toEqual([]);
        await nodes();
        expect(await fairlead('cluster', 'describe', 'shop')).not.toContain('NodesPresent');
      } finally {
        kubernetes.close();
      }
    },
    TIMEOUT_MS,
  );
});

import type { ClusterView, NodeList, StoredEvent, VirtualAddressView } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 120_000;
const WITHIN = { withinMs: TIMEOUT_MS, everyMs: 200 };
const machines = { connection: 'wired', machineType: 'lab.medium' };
const CLUSTER = '/ns/default/clusters/shop';
const INGRESS = {
  name: 'ingress',
  address: '198.18.7.5',
  holders: ['edge'],
  transports: [{ name: 'http', frontendPort: 80, backendPort: 30080, backends: ['web'] }],
};

interface LabMachine {
  readonly id: string;
  readonly name: string;
}

// Light hosts simulate VRRP and haproxy: libs/node-scripts/src/balancer and npm run e2e:real -- day-two run the real
// programs.
describe('a virtual address of a cluster', () => {
  let system: System;

  const manifest = (virtualAddresses: readonly object[]) => ({
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'shop' },
    spec: {
      serviceType: 'single',
      controlPlane: { replicas: 1, ...machines },
      pools: ['edge', 'web'].map((name) => ({ name, replicas: 2, ...machines })),
      virtualAddresses,
    },
  });
  const apply = async (virtualAddresses: readonly object[]): Promise<number> =>
    (await system.call('PUT', `${CLUSTER}/manifest`, manifest(virtualAddresses))).status;
  const log = (): Promise<readonly StoredEvent[]> => system.events('shop');
  const view = async (): Promise<ClusterView> => {
    const minSeq = (await log()).at(-1)?.meta.seq ?? 0;
    return (await system.call<ClusterView>('GET', `${CLUSTER}?minSeq=${minSeq}`)).body;
  };
  const condition = async () => (await view()).conditions.find(({ type }) => type === 'VirtualAddressesReady');
  const address = async (): Promise<VirtualAddressView | undefined> => (await view()).virtualAddresses?.[0];
  const whenAddress = (isSo: (seen: VirtualAddressView) => boolean): Promise<VirtualAddressView | undefined> =>
    eventually(address, (seen) => seen !== undefined && isSo(seen), WITHIN);
  const namesIn = async (pool: string): Promise<readonly string[]> =>
    (await system.call<NodeList>('GET', `${CLUSTER}/nodes`)).body.items
      .filter((node) => node.pool === pool)
      .map(({ name }) => name);
  const other = async (name: string): Promise<string> => (await namesIn('edge')).find((one) => one !== name)!;
  const power = async (name: string, action: 'power-cut' | 'start'): Promise<void> => {
    const { items } = (await system.lab<{ items: readonly LabMachine[] }>('GET', '/v1/machines')).body;
    const { id } = items.find((machine) => machine.name === name)!;
    expect((await system.lab('POST', `/v1/machines/${id}/power`, { action })).status).toBe(200);
  };
  const gauges = async (name: string): Promise<readonly string[]> =>
    (await (await fetch(`${system.server}/metrics`)).text()).split('\n').filter((line) => line.startsWith(`${name}{`));
  const whenGauge = (name: string, label: string, value: 0 | 1): Promise<readonly string[]> =>
    eventually(
      () => gauges(name),
      (lines) => lines.some((line) => line.includes(label) && line.endsWith(` ${value}`)),
      WITHIN,
    );

  beforeAll(async () => {
    const env = {
      NODE_LOST_AFTER_MS: '2000',
      AGENT_HEARTBEAT_INTERVAL_MS: '300',
      // Other stories cover provider lists.
      INFRA_WATCH_INTERVAL_MS: '3600000',
      METRICS_NAMES: 'show',
    };
    system = await startSystem({ light: true, env });
    const { url: endpoint, token } = system.labAccess;
    const settings = { endpoint, token, virtualAddresses: true };
    const lab = { provider: 'lab', region: 'lab-1', zone: 'lab-1a', namespaces: ['*'] };
    expect((await system.call('PUT', '/connections/wired', { ...lab, settings })).status).toBeLessThan(300);
    expect(await apply([])).toBe(202);
    await system.until('shop', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'is held by one of its holders once it is declared, and reports which upstream nodes answer [ORBITER 32]',
    async () => {
      expect(await apply([INGRESS])).toBe(200);
      const seen = await whenAddress(({ holder, transports }) => holder !== null && transports[0]?.up === 2);
      expect(await namesIn('edge')).toContain(seen?.holder);
      expect(seen).toMatchObject({ address: INGRESS.address, transports: [{ reached: true, up: 2, of: 2, down: [] }] });
      expect(await condition()).toMatchObject({ status: 'True' });
      await whenGauge('fairlead_virtual_address_up', 'ingress', 1);
      for (const node of await namesIn('web')) await whenGauge('fairlead_upstream_up', node, 1);
    },
    TIMEOUT_MS,
  );

  it(
    'moves when its holder stops, and is not moved back when that returns',
    async () => {
      const { holder } = (await address())!;
      await power(holder!, 'power-cut');
      const next = await other(holder!);
      await whenAddress((seen) => seen.holder === next);
      await power(holder!, 'start');
      await system.until(
        'shop',
        ({ type, data }) => type === 'NodeRecovered' && 'node' in data && data.node === holder,
        TIMEOUT_MS,
      );
      expect((await address())?.holder).toBe(next);
      await eventually(condition, (seen) => seen?.status === 'True', WITHIN);
    },
    TIMEOUT_MS,
  );

  it(
    'is handed over by a drained holder, which takes it again when it is schedulable and no other node can',
    async () => {
      const { holder } = (await address())!;
      const asked = await system.call('POST', `${CLUSTER}/nodes/actions`, {
        action: 'drain',
        select: { nodes: [holder] },
      });
      expect([asked.status, asked.body]).toEqual([202, expect.anything()]);
      const next = await other(holder!);
      await whenAddress((seen) => seen.holder === next);
      expect(
        (await system.call('POST', `${CLUSTER}/nodes/actions`, { action: 'uncordon', select: { nodes: [holder] } }))
          .status,
      ).toBe(202);
      await power(next, 'power-cut');
      await whenAddress((seen) => seen.holder === holder);
      await power(next, 'start');
    },
    TIMEOUT_MS,
  );

  it(
    'reports which upstream node does not answer, that none does, and that all recovered',
    async () => {
      const [first = '', second = ''] = await namesIn('web');
      await power(first, 'power-cut');
      const seen = await whenAddress(({ transports }) => transports[0]?.up === 1);
      expect(seen?.transports[0]).toMatchObject({ reached: true, of: 2, down: [first] });
      await whenGauge('fairlead_upstream_up', first, 0);
      await whenGauge('fairlead_virtual_address_up', 'ingress', 1);
      await power(second, 'power-cut');
      await eventually(condition, (found) => found?.reason === 'UpstreamsDown', WITHIN);
      await whenGauge('fairlead_virtual_address_up', 'ingress', 0);
      await Promise.all([power(first, 'start'), power(second, 'start')]);
      await whenAddress(({ transports }) => transports[0]?.up === 2);
      expect(await condition()).toMatchObject({ status: 'True', reason: '' });
    },
    TIMEOUT_MS,
  );

  it(
    'is removed from all nodes when it is no longer declared',
    async () => {
      const { holder } = (await address())!;
      const before = (await log()).at(-1)!.meta.seq;
      expect(await apply([])).toBe(200);
      await system.until(
        'shop',
        ({ type, data, meta }) =>
          type === 'VirtualAddressesProbed' &&
          meta.seq > before &&
          'addresses' in data &&
          data.node === holder &&
          data.addresses.length === 0,
        TIMEOUT_MS,
      );
      expect([await address(), await condition()]).toEqual([undefined, undefined]);
      expect(await gauges('fairlead_virtual_address_up')).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

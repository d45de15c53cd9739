import type {
  AuditView,
  ClusterManifestView,
  ClusterView,
  NodeList,
  NodeView,
  OrphanList,
  StoredEvent,
} from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { looksMore } from './system/looks.js';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const INTERVAL_MS = 400;
const machines = { connection: 'lab', machineType: 'lab.medium' };

interface LabMachine {
  readonly id: string;
  readonly name: string;
  readonly group: string;
}

const isAdopted = (event: StoredEvent): boolean =>
  event.type === 'VmsPlanned' && event.data.machines.some(({ adopts }) => adopts !== undefined);

describe('the machines of a connection', () => {
  let system: System;
  const path = '/ns/default/clusters/shop';
  const log = (): Promise<readonly StoredEvent[]> => system.events('shop');
  const labMachines = async () =>
    (await system.lab<{ items: readonly LabMachine[] }>('GET', '/v1/machines')).body.items;
  const orphans = async () => (await system.call<OrphanList>('GET', '/connections/lab/orphans')).body.items;

  const looked = (outcome: 'answered' | 'failed', count: number) => looksMore(system, outcome, count, TIMEOUT_MS);

  beforeAll(async () => {
    const env = { INFRA_WATCH_INTERVAL_MS: String(INTERVAL_MS), INFRA_WATCH_TIMEOUT_MS: '1000' };
    system = await startSystem({ light: true, env });
    const spec = {
      serviceType: 'single',
      controlPlane: { replicas: 1, ...machines },
      pools: [{ name: 'web', replicas: 3, ...machines }],
    };
    const manifest = { apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'shop' }, spec };
    expect((await system.call('PUT', `${path}/manifest`, manifest)).status).toBe(202);
    await system.until('shop', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'are polled repeatedly, and nothing is recorded while nothing changes',
    async () => {
      await looked('answered', 3);
      const before = (await log()).filter(({ meta }) => meta.context === 'machines').length;
      await looked('answered', 5);
      expect((await log()).filter(({ meta }) => meta.context === 'machines')).toHaveLength(before);
      expect(await orphans()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'are not considered gone while the provider does not answer',
    async () => {
      const before = (await log()).filter(({ meta }) => meta.context === 'machines').length;
      await system.lab('PUT', '/v1/faults', { items: [{ kind: 'api-slow', delayMs: 3_000 }] });
      await looked('failed', 4);
      await system.lab('DELETE', '/v1/faults');
      await looked('answered', 3);
      expect((await log()).filter(({ meta }) => meta.context === 'machines')).toHaveLength(before);
    },
    TIMEOUT_MS,
  );

  it(
    'are replaced when one is destroyed outside Fairlead: the pool regains its declared size [Cluster API 17]',
    async () => {
      const victim = (await labMachines()).find(({ name }) => name.includes('-w-'))!;
      const destroyedAtMs = performance.now();
      expect((await system.lab('DELETE', `/v1/machines/${victim.id}`)).status).toBe(204);
      const gone = await system.until('shop', ({ type }) => type === 'VmGone', TIMEOUT_MS);
      const took = Math.round(performance.now() - destroyedAtMs);
      process.stdout.write(`from machine gone to replacement requested: ${took} ms, interval ${INTERVAL_MS} ms\n`);
      expect(gone.data).toMatchObject({ node: victim.name, repair: 'replace', providerId: `lab://${victim.id}` });
      const view = await system.call<ClusterView>('GET', `${path}?minSeq=${gone.meta.seq}`);
      const node = view.body.nodes.find(({ name }) => name === victim.name);
      if (node !== undefined) expect(node.reason).toContain('the machine no longer exists at its provider since 20');
      await system.until('shop', ({ type, meta }) => type === 'ClusterReady' && meta.seq > gone.meta.seq, TIMEOUT_MS);
      const { seq } = (await log()).at(-1)!.meta;
      const { body } = await system.call<ClusterManifestView>('GET', `${path}/manifest?minSeq=${seq}`);
      expect(body.spec.pools.map(({ name, replicas }) => [name, replicas])).toEqual([['web', 3]]);
      const nodes = (await system.call<NodeList>('GET', `${path}/nodes?minSeq=${seq}`)).body.items;
      expect(nodes.filter(({ ready }) => ready)).toHaveLength(4);
      expect(nodes.map(({ name }) => name)).not.toContain(victim.name);
      const stated = (await log()).filter(({ type }) => type === 'VmGone' || type === 'NodeRemoved');
      expect(stated.map(({ type }) => type)).toEqual(['VmGone', 'NodeRemoved']);
      const status = async () => (await system.call<ClusterView>('GET', path)).body;
      const { conditions } = await eventually(status, ({ status: { state } }) => state === 'Running', {
        withinMs: TIMEOUT_MS,
        everyMs: 100,
      });
      expect(conditions.find(({ type }) => type === 'MachinesPresent')).toMatchObject({ status: 'True' });
    },
    TIMEOUT_MS,
  );

  it(
    'have in their audit the causes of the replacement, back to the poll of the provider [Cluster API 35]',
    async () => {
      const { body } = await system.call<AuditView>('GET', `${path}/audit`);
      const gone = body.items.find(({ type }) => type === 'VmGone')!;
      for (const type of ['NodeRemoved', 'VmDeleted', 'VmsPlanned', 'WorkerJoined']) {
        const { because } = body.items.findLast((item) => item.type === type)!;
        expect([type, because.at(-1)]).toEqual([type, { seq: gone.seq, type: 'VmGone', id: gone.id }]);
      }
      expect(gone).toMatchObject({ actor: 'system/infra-svc', because: [] });
    },
    TIMEOUT_MS,
  );

  it(
    'with another address after a boot are shown with both until their nodes are replaced by a health check [CB-Ladybug 35]',
    async () => {
      const nodesNow = async () =>
        (await system.call<NodeList>('GET', `${path}/nodes?minSeq=${(await log()).at(-1)!.meta.seq}`)).body.items;
      const present = async () => {
        const minSeq = (await log()).at(-1)!.meta.seq;
        const { conditions } = (await system.call<ClusterView>('GET', `${path}?minSeq=${minSeq}`)).body;
        return conditions.find(({ type }) => type === 'MachinesPresent');
      };
      const moved = (await labMachines()).find(({ name }) => name.includes('-w-'))!;
      const before = (await log()).at(-1)!.meta.seq;
      const power = await system.lab('POST', `/v1/machines/${moved.id}/power`, { action: 'move' });
      expect(power.status).toBe(200);
      const { data } = await system.until('shop', ({ type }) => type === 'VmAddressChanged', TIMEOUT_MS);
      expect(data).toMatchObject({ node: moved.name });
      expect(await present()).toMatchObject({
        status: 'False',
        reason: 'MachinesMoved',
        message: expect.stringContaining(`fairlead node replace`),
      });
      // Its agent answers, and its kubelet works with the address from its join.
      const isReady = ({ name, ready }: NodeList['items'][number]): boolean => name === moved.name && ready;
      await eventually(nodesNow, (items) => items.some(isReady), { withinMs: TIMEOUT_MS, everyMs: 100 });
      await looked('answered', 3);
      const since = async (...types: readonly StoredEvent['type'][]) =>
        (await log()).filter(({ type, meta }) => meta.seq > before && types.includes(type)).map(({ type }) => type);
      expect(await since('VmAddressChanged', 'VmGone', 'RemediationRequested', 'VmsPlanned', 'NodeRemoved')).toEqual([
        'VmAddressChanged',
      ]);

      const web = { name: 'web', replicas: 3, ...machines };
      const declare = async (pool: object): Promise<number> =>
        (await system.call('PATCH', `${path}/manifest`, { spec: { pools: [pool] } })).status;
      const health = { unhealthyAfter: '5s', retryPeriod: '0s', minHealthyPeriod: '0s' };
      expect(await declare({ ...web, health })).toBe(200);
      const requested = await system.until('shop', ({ type }) => type === 'RemediationRequested', TIMEOUT_MS);
      expect(requested.data).toMatchObject({
        node: moved.name,
        action: 'replace',
        order: 'create-first',
        reason: { condition: 'Moved' },
      });
      await system.until('shop', ({ type }) => type === 'RemediationSucceeded', TIMEOUT_MS);
      await eventually(present, (found) => found?.status === 'True', { withinMs: TIMEOUT_MS, everyMs: 100 });
      const left = await nodesNow();
      expect([left.length, left.some(({ name }) => name === moved.name)]).toEqual([4, false]);
      // The rest of this story has no health checks.
      expect(await declare(web)).toBe(200);
    },
    TIMEOUT_MS,
  );

  const stray = async (name: string, sshKey = 'lab-sshkey'): Promise<void> => {
    const shared = { image: 'debian-12', network: 'lab-vpc', firewall: 'lab-sg', sshKey };
    const machines = [{ name, spec: 'lab.medium', ...shared }];
    const body = { cluster: 'stray', namespace: 'default', uid: '11111111-1111-4111-8111-111111111111' };
    const made = await system.lab('PUT', '/v1/groups/default.stray.lab', { ...body, machines });
    expect(made.status).toBe(200);
  };

  it(
    'planned by no cluster are adopted by command: a pool grows by one, which is Ready and deleted with its node',
    async () => {
      await stray('stray-w-2-zzzzz');
      const [found] = await eventually(orphans, (items) => items.length > 0, { withinMs: TIMEOUT_MS, everyMs: 100 });
      expect(found).toMatchObject({ spec: 'lab.medium', zone: expect.stringMatching(/^lab-1/) });
      const adopt = `/connections/lab/orphans/${found!.id}/adopt`;
      const into = { namespace: 'default', cluster: 'shop', pool: 'web' };
      const asked = await system.call('POST', adopt, into);
      expect([asked.status, asked.body]).toEqual([202, expect.anything()]);
      const planned = await system.until('shop', isAdopted, TIMEOUT_MS);
      const [plan] = planned.type === 'VmsPlanned' ? planned.data.machines : [];
      await system.until(
        'shop',
        ({ type, meta }) => type === 'ClusterReady' && meta.seq > planned.meta.seq,
        TIMEOUT_MS,
      );
      await eventually(orphans, (items) => items.length === 0, { withinMs: TIMEOUT_MS, everyMs: 100 });
      const { seq } = (await log()).at(-1)!.meta;
      const manifest = await system.call<ClusterManifestView>('GET', `${path}/manifest?minSeq=${seq}`);
      expect(manifest.body.spec.pools.map(({ name, replicas }) => [name, replicas])).toEqual([['web', 4]]);
      const node = await system.call<NodeView>('GET', `${path}/nodes/${plan?.name}?minSeq=${seq}`);
      expect(node.body).toMatchObject({ ready: true, pool: 'web' });
      expect((await labMachines()).find(({ id }) => id === found!.id)).toMatchObject({ name: plan?.name });
      const created = (await log()).filter(
        ({ type, data }) => type === 'VmCreated' && 'machine' in data && data.machine.name === plan?.name,
      );
      expect(created).toMatchObject([{ data: { machine: { providerId: `lab://${found!.id}` } } }]);
      const stated = (await system.events('_', '_')).filter(({ type }) => type === 'OrphanVmAdopted');
      expect(stated).toMatchObject([{ data: { connection: 'lab', id: found!.id, cluster: 'shop', node: plan?.name } }]);
      const again = await system.call<{ reason: string }>('POST', adopt, into);
      expect([again.status, again.body.reason]).toEqual([404, 'connection.orphan-unknown']);
      await system.call('DELETE', `${path}/nodes/${plan?.name}`);
      await system.until(
        'shop',
        ({ type, data }) => type === 'VmDeleted' && 'name' in data && data.name === plan?.name,
        TIMEOUT_MS,
      );
      expect((await labMachines()).map(({ id }) => id)).not.toContain(found!.id);
    },
    TIMEOUT_MS,
  );

  it(
    'with the SSH key of another installation are not adopted, and nothing is changed',
    async () => {
      // Its private key is unknown: the format only needs 32 bytes.
      const publicKey = `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${'A'.repeat(43)} other`;
      expect((await system.lab('PUT', '/v1/ssh-keys/other', { publicKey })).status).toBe(200);
      await stray('stray-w-3-zzzzz', 'other');
      const [found] = await eventually(orphans, (items) => items.length > 0, { withinMs: TIMEOUT_MS, everyMs: 100 });
      const adopt = `/connections/lab/orphans/${found!.id}/adopt`;
      await system.call('POST', adopt, { namespace: 'default', cluster: 'shop', pool: 'web' });
      const { data, meta } = await system.until('shop', ({ type }) => type === 'NodesRejected', TIMEOUT_MS);
      expect(data).toMatchObject({ code: 'connection.orphan-unclean', message: expect.stringContaining('SSH') });
      const manifest = await system.call<ClusterManifestView>('GET', `${path}/manifest?minSeq=${meta.seq}`);
      expect(manifest.body.spec.pools.map(({ replicas }) => replicas)).toEqual([3]);
      expect((await labMachines()).find(({ id }) => id === found!.id)).toMatchObject({ name: 'stray-w-3-zzzzz' });
      await system.call('DELETE', `/connections/lab/orphans/${found!.id}`);
      await eventually(orphans, (items) => items.length === 0, { withinMs: TIMEOUT_MS, everyMs: 100 });
    },
    TIMEOUT_MS,
  );

  it(
    'planned by no cluster are listed, kept, and deleted by command',
    async () => {
      const machine = { name: 'stray-w-1-zzzzz' };
      await stray(machine.name);
      const [found] = await eventually(orphans, (items) => items.length > 0, { withinMs: TIMEOUT_MS, everyMs: 100 });
      expect(found).toMatchObject({ name: machine.name, group: 'default.stray.lab', deletion: 'none' });
      await looked('answered', 3);
      expect((await labMachines()).map(({ name }) => name)).toContain(machine.name);
      const unknown = await system.call<{ reason: string }>('DELETE', '/connections/lab/orphans/i-unknown');
      expect([unknown.status, unknown.body.reason]).toEqual([404, 'connection.orphan-unknown']);
      const count = (await labMachines()).length;
      expect((await system.call('DELETE', `/connections/lab/orphans/${found!.id}`)).status).toBe(202);
      await eventually(orphans, (items) => items.length === 0, { withinMs: TIMEOUT_MS, everyMs: 100 });
      const left = await labMachines();
      expect([left.length, left.map(({ name }) => name).includes(machine.name)]).toEqual([count - 1, false]);
    },
    TIMEOUT_MS,
  );
});

import type { ConnectionView, NodeList, OrphanList, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { looksMore } from '../system/looks.js';
import { eventually, nodesOf, type Kubectl } from './kubectl.js';
import { CONNECTION, startRealSystem, VERSION, type RealSystem } from './real.system.js';

const MINUTE_MS = 60_000;
const CLUSTER = 'swap';
const PATH = `/ns/default/clusters/${CLUSTER}`;
const WATCH_INTERVAL_MS = 1_000;
/** Events that a poll of a provider can cause for a cluster. */
const SIGHTS = ['VmGone', 'VmsMissing', 'VmReturned', 'VmStopped', 'VmStarted', 'VmAddressChanged'];
/** Events after which an awaited step will not happen. */
const FAILURES = ['NodesRejected', 'VmsFailed', 'NodesFailed', 'ClusterFailed'];

describe('the hosts of a real cluster that are monitored and replaced', () => {
  let system: RealSystem;
  let kubectl: Kubectl;
  /** Replaced hosts, of which nothing may be left. */
  const replaced: string[] = [];

  const log = (): Promise<readonly StoredEvent[]> => system.events(CLUSTER);
  const now = async (): Promise<number> => (await log()).at(-1)?.meta.seq ?? 0;
  const until = async (type: StoredEvent['type'], after: number, timeoutMs = 5 * MINUTE_MS): Promise<StoredEvent> => {
    const ends = [type, ...FAILURES];
    const isEnd = (event: StoredEvent): boolean => event.meta.seq > after && ends.includes(event.type);
    const end = await system.until(CLUSTER, isEnd, timeoutMs);
    if (end.type !== type) throw new Error(`${end.type} instead of ${type}: ${JSON.stringify(end.data)}`);
    return end;
  };
  const sights = async (): Promise<readonly string[]> =>
    (await log()).map(({ type }) => type).filter((type) => SIGHTS.includes(type));
  const looked = (): Promise<void> => looksMore(system, 'answered', 3, MINUTE_MS);
  const orphans = async (): Promise<OrphanList['items']> =>
    (await system.call<OrphanList>('GET', `/connections/${CONNECTION}/orphans`)).body.items;
  const hostNames = (): readonly string[] =>
    system.local.hosts
      .all()
      .map(({ name }) => name)
      .sort();
  /** The only worker that Fairlead currently shows. */
  const worker = async (): Promise<string> => {
    const { items } = (await system.call<NodeList>('GET', `${PATH}/nodes?minSeq=${await now()}`)).body;
    const workers = items.filter(({ role }) => role === 'worker').map(({ name }) => name);
    expect(workers).toHaveLength(1);
    return workers[0] ?? '';
  };
  const authorizedKeys = async (host: string): Promise<readonly string[]> =>
    (await system.onHost(host, 'cat', '/root/.ssh/authorized_keys')).split('\n').filter(Boolean);
  const sshKey = async (): Promise<ConnectionView['sshKey']> =>
    (await system.call<ConnectionView>('GET', `/connections/${CONNECTION}`)).body.sshKey;

  /** Kubernetes has a Ready node of the requested version for each host, and no other node. */
  const nodesAreHosts = async (without: string): Promise<void> => {
    const nodes = await eventually(
      `two Ready nodes, without ${without}`,
      () => nodesOf(kubectl),
      (found) => found.length === 2 && found.every(({ name, ready }) => ready && name !== without),
      2 * MINUTE_MS,
    );
    expect(nodes.map(({ name }) => name).sort()).toEqual(hostNames());
    expect(nodes.map(({ version }) => version)).toEqual([VERSION, VERSION]);
  };

  beforeAll(async () => {
    system = await startRealSystem({ INFRA_WATCH_INTERVAL_MS: String(WATCH_INTERVAL_MS) });
    await system.create(CLUSTER, { controlPlanes: 1, workers: 1 });
    kubectl = await system.kubectl(CLUSTER);
  }, 15 * MINUTE_MS);

  afterAll(() => system?.stop(), 2 * MINUTE_MS);

  it(
    'are all listed: none is missing, and none is an orphan',
    async () => {
      await looked();
      expect(await sights()).toEqual([]);
      expect(await orphans()).toEqual([]);
    },
    2 * MINUTE_MS,
  );

  it(
    'include an orphan with their labels: it is listed, kept, and deleted by command',
    async () => {
      const [host] = system.local.hosts.all();
      if (host === undefined) throw new Error('there is no host');
      const stray = 'stray-w-1-zzzzz';
      const labels = { ...host.labels, 'fairlead.dev/group': `default.stray.${CONNECTION}` };
      const { network, cpus, memoryMiB } = host;
      await system.local.hosts.ensure({
        ...{ name: stray, network, cpus, memoryMiB, labels },
        ...{ authorizedKeys: [], readOnly: {} },
      });
      const [found] = await eventually('the orphan', orphans, (items) => items.length > 0, MINUTE_MS);
      expect(found).toMatchObject({ id: stray, name: stray, deletion: 'none' });
      await looked();
      expect(hostNames()).toContain(stray);
      expect((await system.call('DELETE', `/connections/${CONNECTION}/orphans/${stray}`)).status).toBe(202);
      await eventually('no orphan', orphans, (items) => items.length === 0, MINUTE_MS);
      expect(hostNames()).not.toContain(stray);
      expect(await sights()).toEqual([]);
    },
    3 * MINUTE_MS,
  );

  it(
    'accept only the new SSH key of their connection after a rotation',
    async () => {
      const former = await sshKey();
      const keysBefore = await Promise.all(hostNames().map(authorizedKeys));
      expect((await system.call('POST', `/connections/${CONNECTION}/ssh-key/rotate`, {})).status).toBe(202);
      const after = await eventually(
        'the rotated key',
        sshKey,
        (key) => key?.rotation === null && key.name !== former?.name,
        3 * MINUTE_MS,
      );
      expect(after).toMatchObject({ rotated: { replaced: 2, leftOut: 0 } });
      const [one, other] = await Promise.all(hostNames().map(authorizedKeys));
      expect(one).toHaveLength(1);
      expect(other).toEqual(one);
      expect(keysBefore.flat()).not.toContain(one?.[0]);
    },
    5 * MINUTE_MS,
  );

  it(
    'are replaced by command: the new worker is Ready before the old one leaves, with its host',
    async () => {
      const [old, before] = [await worker(), await now()];
      const answer = await system.call('POST', `${PATH}/nodes/${old}/replace`, { reason: 'its disk is slow' });
      expect(answer).toMatchObject({ status: 202 });
      const ready = await until('NodeReplacementReady', before);
      expect(hostNames()).toHaveLength(3);
      await until('VmDeleted', ready.meta.seq);
      replaced.push(old);
      await nodesAreHosts(old);
      expect(await worker()).not.toBe(old);
      expect(await authorizedKeys(await worker())).toEqual(
        await authorizedKeys(hostNames().find((name) => name.includes('-cp-')) ?? ''),
      );
      await looked();
      expect(await sights()).toEqual([]);
      expect(await orphans()).toEqual([]);
    },
    8 * MINUTE_MS,
  );

  it(
    'are reported and replaced when one is destroyed outside Fairlead',
    async () => {
      const [old, before] = [await worker(), await now()];
      await system.local.hosts.delete(old);
      const gone = await until('VmGone', before, MINUTE_MS);
      expect(gone.data).toMatchObject({ node: old, repair: 'replace', reason: '' });
      replaced.push(old);
      await until('ClusterReady', gone.meta.seq);
      await nodesAreHosts(old);
      expect(await worker()).not.toBe(old);
      await looked();
      expect(await sights()).toEqual(['VmGone']);
    },
    8 * MINUTE_MS,
  );

  it(
    'leave nothing when the cluster is deleted, including those replaced before',
    async () => {
      const hosts = [...replaced, ...hostNames()];
      expect((await system.call('DELETE', PATH)).status).toBe(202);
      await until('ClusterDeleted', 0, 3 * MINUTE_MS);
      expect(hostNames()).toEqual([]);
      const left = await system.leftovers(hosts);
      // The connection's network is shared by all its clusters, and is kept.
      expect(left.filter((what) => !/^(namespace|device|file: .*\/networks\/)/.test(what))).toEqual([]);
      await looked();
      expect([await sights(), await orphans()]).toEqual([['VmGone'], []]);
    },
    5 * MINUTE_MS,
  );
});

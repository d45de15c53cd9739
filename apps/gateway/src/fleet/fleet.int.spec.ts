import type {
  ClusterUid,
  ClusterView,
  CreatedTokenView,
  ErrorView,
  EventList,
  FleetActivity,
  FleetCauses,
  FleetDurations,
  FleetList,
  LogPage,
} from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { request, useGateway } from '../gateway.fixtures.js';

/** What one of the two has. */
type FleetOrError = Omit<FleetList, 'kind'> & Omit<ErrorView, 'kind'>;

const CLUSTERS = ['alpha', 'beta', 'gamma'] as const;

const gateway = useGateway(async () => {
  await gateway.ask('POST', '/ns', { body: { name: 'team' } });
  for (const name of CLUSTERS) await gateway.ask('POST', '/ns/default/clusters', { body: request(name) });
  const last = await gateway.ask('POST', '/ns/team/clusters', { body: request('delta') });
  await fleet(`minSeq=${last.headers.get('x-fairlead-seq')}`);
});

const fleet = async (query = '', token?: string) =>
  gateway.ask<FleetOrError>('GET', `/fleet${query === '' ? '' : `?${query}`}`, token === undefined ? {} : { token });
const namesOf = ({ body }: { readonly body: FleetOrError }): readonly string[] => body.items.map(({ name }) => name);

const viewerOf = async (namespace: string): Promise<string> =>
  (
    await gateway.ask<CreatedTokenView>('POST', '/tokens', {
      body: { name: 'viewer', roles: [{ namespace, role: 'viewer' }] },
    })
  ).body.token;

describe('the fleet', () => {
  it('is each cluster in one line, as its own view has it', async () => {
    const { status, body } = await fleet('search=alpha');
    const view = (await gateway.ask<ClusterView>('GET', '/ns/default/clusters/alpha')).body;
    expect([status, body.total, body.items[0]]).toMatchObject([
      200,
      1,
      {
        ...{ name: 'alpha', namespace: 'default', uid: view.uid, state: view.status.state, version: view.k8sVersion },
        ...{ nodesReady: 0, nodesTotal: view.nodes.length, lastSeq: view.lastSeq, operation: { kind: 'create' } },
      },
    ]);
  });

  it('has the clusters of namespaces that the caller may see, and no others', async () => {
    expect(namesOf(await fleet())).toEqual([...CLUSTERS, 'delta']);
    expect(namesOf(await fleet('', await viewerOf('team')))).toEqual(['delta']);
    expect((await gateway.ask('GET', '/fleet', { token: null })).status).toBe(401);
  });

  it('is filtered, sorted and answered in pages here', async () => {
    expect(namesOf(await fleet('namespace=team'))).toEqual(['delta']);
    expect(namesOf(await fleet('state=Running'))).toEqual([]);
    expect((await fleet('state=Running')).body.counts).toEqual({ Provisioning: 4 });
    expect(namesOf(await fleet('order=descending'))).toEqual(['delta', ...CLUSTERS.toReversed()]);
    const first = await fleet('limit=2&sort=state');
    const next = first.body.metadata?.continue ?? '';
    expect([namesOf(first), namesOf(await fleet(`limit=2&sort=state&continue=${next}`))]).toEqual([
      ['alpha', 'beta'],
      ['gamma', 'delta'],
    ]);
    expect((await fleet(`sort=name&continue=${next}`)).body.reason).toBe('list.continue-invalid');
    for (const wrong of ['sort=color', 'limit=0', 'at=yesterday', 'unknown=1'])
      expect([wrong, (await fleet(wrong)).status]).toEqual([wrong, 400]);
  });

  it('shows a change as soon as the rows do', async () => {
    const { headers } = await gateway.ask('DELETE', '/ns/default/clusters/gamma');
    const { body } = await fleet(`search=gamma&minSeq=${headers.get('x-fairlead-seq')}`);
    expect(body.items.map(({ state }) => state)).toEqual(['Deleting']);
  });
});

describe('the fleet at an earlier moment', () => {
  it('is what the views of its clusters at that moment say', async () => {
    const { body } = await gateway.ask<EventList>('GET', '/events?type=ClusterRequested');
    for (const { seq } of body.items) {
      const then = await fleet(`at=${seq}`);
      expect(namesOf(then)).toHaveLength(body.items.filter((one) => one.seq <= seq).length);
      for (const row of then.body.items) {
        const view = (await gateway.ask<ClusterView>('GET', `/ns/${row.namespace}/clusters/${row.name}?at=${seq}`))
          .body;
        expect([row.name, row.state, row.version, row.nodesTotal, row.uid]).toEqual([
          ...[row.name, view.status.state, view.k8sVersion, view.nodes.length, view.uid],
        ]);
      }
    }
    const [first] = body.items;
    expect(namesOf(await fleet(`at=${encodeURIComponent(first!.time)}`))).toEqual(['alpha']);
    expect(namesOf(await fleet('at=2020-01-01T00:00:00Z'))).toEqual([]);
    expect(namesOf(await fleet(`at=${first!.seq}`, await viewerOf('team')))).toEqual([]);
  });
});

describe('the activity of the fleet', () => {
  it('counts the events of clusters that the caller may see, by class and time', async () => {
    const { body } = await gateway.ask<FleetActivity>('GET', '/fleet/activity');
    const total = body.items.reduce((sum, { request: count }) => sum + count, 0);
    expect(total).toBeGreaterThanOrEqual(5); // Four requests and a deletion.
    const team = await gateway.ask<FleetActivity>('GET', '/fleet/activity', { token: await viewerOf('team') });
    expect(team.body.items.reduce((sum, one) => sum + one.request, 0)).toBe(1);
    const none = await gateway.ask<FleetActivity>('GET', '/fleet/activity?to=2020-01-01T00:00:00Z');
    expect(none.body.items).toEqual([]);
  });
});

describe('the durations of operations', () => {
  it('are those of operations that succeeded in namespaces that the caller may see', async () => {
    const { uid } = (await gateway.ask<ClusterView>('GET', '/ns/default/clusters/beta')).body;
    const { meta } = await gateway.state(
      { type: 'ClusterReady', data: { uid: uid as ClusterUid } },
      { cluster: 'beta' },
    );
    await fleet(`minSeq=${meta.seq}`);
    const durations = async (token?: string) =>
      (await gateway.ask<FleetDurations>('GET', '/fleet/durations', token === undefined ? {} : { token })).body.items;
    const [creation, ...others] = await durations();
    expect([creation, others]).toEqual([
      { operation: 'create', count: 1, medianMs: expect.any(Number), longMs: creation?.medianMs },
      [],
    ]);
    expect(creation?.medianMs).toBeGreaterThan(0);
    expect(await durations(await viewerOf('team'))).toEqual([]);
  });

  it('are those of each cause on nodes, folded from the log, for those who may see the cluster', async () => {
    const causes = async (token?: string) =>
      (await gateway.ask<FleetCauses>('GET', '/fleet/causes?operation=create', token === undefined ? {} : { token }))
        .body;
    expect((await causes()).operations).toBe(1);
    expect(await causes(await viewerOf('team'))).toEqual({ kind: 'FleetCauses', operations: 0, items: [] });
    const { status } = await gateway.ask('GET', '/fleet/causes?operation=nothing');
    expect(status).toBe(400);
  });
});

describe('the log of a cluster as it is stored', () => {
  const log = async (query: string, token?: string) =>
    (await gateway.ask<LogPage>('GET', `/ns/default/clusters/alpha/log?${query}`, token === undefined ? {} : { token }))
      .body;

  it('can be hashed by its reader: each message names the one before it in its context', async () => {
    const { items, next } = await log('limit=1000');
    expect([items.length > 0, next]).toEqual([true, null]);
    const ends = new Map<string, string>();
    for (const { context, sha256, prevHash, message } of items) {
      expect(
        createHash('sha256')
          .update(message ?? '')
          .digest('hex'),
      ).toBe(sha256);
      expect(prevHash).toBe(ends.get(context) ?? '0'.repeat(64));
      ends.set(context, sha256);
    }
  });

  it('is in pages, and holds no settings of connections for those who may not see them', async () => {
    const machine = { uid: (await gateway.ask<ClusterView>('GET', '/ns/default/clusters/alpha')).body.uid };
    expect(machine.uid).not.toBe('');
    const [first] = (await log('limit=1')).items;
    expect((await log(`limit=1&after=${first!.seq}`)).items.every(({ seq }) => seq > first!.seq)).toBe(true);
    const theirs = await log('limit=1000', await viewerOf('default'));
    for (const { message } of theirs.items) expect(message ?? '').not.toContain('"keyRef"');
  });
});

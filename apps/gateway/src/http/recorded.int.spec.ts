import type { ClusterView, ConnectionView, EtcdRequestView, Fact, UpgradeView } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { prepareWorld, request, startTestGateway, type ApiResponse, type TestGateway } from '../gateway.fixtures.js';
import { CREATE, uid as storyUid } from '../story.fixtures.js';

let gateway: TestGateway;
let holder: pg.Client;

const clusters = '/ns/default/clusters';

/** A cluster that went through the story of a create. */
const built = async (name: string): Promise<void> => {
  const { body } = await gateway.ask<ClusterView>('POST', clusters, { body: request(name) });
  for (const fact of CREATE.slice(1))
    await gateway.state(JSON.parse(JSON.stringify(fact).replaceAll(storyUid, body.uid)) as Fact, { cluster: name });
};

const failed = async (name: string): Promise<void> => {
  const { body } = await gateway.ask<ClusterView>('POST', clusters, { body: request(name) });
  const cause = { operation: 'kubeadm init', target: 'cp', message: 'no' };
  const data = { uid: body.uid, reason: 'InitControlPlaneFailedReason', step: 'init', cause };
  await gateway.state({ type: 'ClusterFailed', data } as unknown as Fact, { cluster: name });
};

/** From here on the gateway records commands, and its projections stand still. */
const holdProjections = () => holder.query('begin; select * from positions for update');

const isRecorded = ({ status, headers }: ApiResponse<unknown>, expected: number): void => {
  expect([status, Number(headers.get('x-fairlead-seq')) > 0, headers.get('location')]).toEqual([
    expected,
    true,
    expect.stringMatching(/^\//),
  ]);
};

beforeAll(async () => {
  gateway = await startTestGateway();
  await prepareWorld(gateway);
  for (const name of ['demo', 'grown', 'saved', 'changed', 'ending']) await built(name);
  await failed('broken');
  for (const name of ['demo', 'broken']) expect((await gateway.ask('GET', `${clusters}/${name}`)).status).toBe(200);
  holder = new pg.Client({ connectionString: gateway.environment.databases.gateway });
  await holder.connect();
  await holdProjections();
}, 90_000);

afterAll(async () => {
  await holder?.end();
  await gateway?.stop();
});

describe('a command that was recorded while the projections stand still', () => {
  it('is answered with 202, and so is its repetition: a cluster', async () => {
    for (let time = 0; time < 2; time += 1) {
      const answer = await gateway.ask<ClusterView>('POST', clusters, { body: request('late') });
      isRecorded(answer, 202);
      expect([answer.body.name, answer.body.status.phase]).toEqual(['late', 'Pending']);
    }
    expect(await gateway.log('evt.*.default.late.>')).toHaveLength(1);
  });

  it('is answered with 202: a retry, more nodes, an upgrade and its pause, the end of a cluster', async () => {
    const retried = await gateway.ask<ClusterView>('POST', `${clusters}/broken/retry`);
    isRecorded(retried, 202);
    expect(retried.body.status.phase).toBe('Provisioning');
    const worker = [{ connection: 'lab', count: 1, spec: 'lab.small' }];
    isRecorded(await gateway.ask('POST', `${clusters}/grown/nodes`, { body: { worker } }), 202);
    const upgrade = await gateway.ask<UpgradeView>('POST', `${clusters}/changed/upgrades`, {
      body: { version: 'v1.35.4' },
    });
    isRecorded(upgrade, 202);
    expect(upgrade.body.phase).toBe('Planning');
    const aborted = await gateway.ask<UpgradeView>('POST', `${clusters}/changed/upgrades/${upgrade.body.id}/abort`, {
      body: { reason: 'no' },
    });
    isRecorded(aborted, 202);
    expect([aborted.body.id, aborted.body.phase]).toEqual([upgrade.body.id, 'Aborting']);
    isRecorded(await gateway.ask('DELETE', `${clusters}/ending`), 202);
  }, 60_000);

  it('is answered with 202: ten snapshots are ten requests, each where its Location says once the projections go on', async () => {
    const locations: string[] = [];
    for (let time = 0; time < 10; time += 1) {
      const answer = await gateway.ask<EtcdRequestView>('POST', `${clusters}/saved/etcd/snapshots`);
      isRecorded(answer, 202);
      expect([answer.body.phase, answer.headers.get('location')?.endsWith(answer.body.id)]).toEqual(['Running', true]);
      locations.push(answer.headers.get('location') ?? '');
    }
    expect(new Set(locations).size).toBe(10);
    expect(await gateway.log('evt.*.default.saved.request.EtcdSnapshotRequested')).toHaveLength(10);
    await holder.query('rollback');
    for (const location of locations) expect((await gateway.ask('GET', location)).status).toBe(200);
    await holdProjections();
  }, 60_000);

  it('is answered with its outcome: a connection that is registered', async () => {
    const lab = { provider: 'lab', region: 'far', settings: { endpoint: 'http://127.0.0.1:1' } };
    const answer = await gateway.ask<ConnectionView>('PUT', '/connections/late', { body: lab });
    isRecorded(answer, 200);
    expect([answer.body.name, answer.body.region]).toEqual(['late', 'far']);
  });
});

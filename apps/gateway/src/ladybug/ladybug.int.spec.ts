import {
  KUBERNETES_RELEASES,
  versionRanges,
  refuse,
  type ClusterList,
  type ClusterView,
  type ErrorView,
  type Fact,
} from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { playIssuer, type PlayedIssuer } from '../clusters/issuer.fixtures.js';
import { localActor, prepareWorld, request, startTestGateway, type TestGateway } from '../gateway.fixtures.js';
import { CREATE, uid as storyUid } from '../story.fixtures.js';
import { EVERY_FIELD, FIELDS_OF, SAMPLE_CLUSTERS, SAMPLE_NODES } from './ladybug.fixtures.js';

let gateway: TestGateway;
let uid: string;

const clusters = '/ns/default/clusters';
const ladybug = `/ladybug${clusters}`;
let issuer: PlayedIssuer;
const KEY = 'kubeconfig of fairlead:token:';

beforeAll(async () => {
  gateway = await startTestGateway();
  await prepareWorld(gateway);
  uid = (await gateway.ask<ClusterView>('POST', clusters, { body: request('demo') })).body.uid;
  for (const fact of CREATE.slice(1))
    await gateway.state(JSON.parse(JSON.stringify(fact).replaceAll(storyUid, uid)) as Fact);
  issuer = await playIssuer(gateway);
}, 60_000);

afterAll(async () => {
  await issuer?.stop();
  await gateway?.stop();
});

describe("a body of CB-Ladybug's own clients", () => {
  it.each(SAMPLE_CLUSTERS.map(([what, body], index) => ({ what, body, name: `sample-${index}` })))(
    'for a cluster $what is understood below its base, and where it is, Location says',
    async ({ body, name }) => {
      const made = await gateway.ask<ClusterView>('POST', ladybug, { body: { name, ...body } });
      expect([made.status, made.headers.get('location')]).toEqual([202, `${ladybug}/${name}`]);
      expect([made.body.installMonAgent, made.body.loadbalancer]).toEqual(['no', 'haproxy']);
      const read = await gateway.ask<ClusterView>('GET', made.headers.get('location') ?? '');
      expect([read.status, read.body.uid]).toEqual([200, made.body.uid]);
    },
  );

  it('without a service type is multi with kilo there, as CB-Ladybug documents it, and single with flannel elsewhere', async () => {
    for (const [path, name, serviceType, networkCni] of [
      [ladybug, 'theirs', 'multi', 'kilo'],
      [clusters, 'ours', 'single', 'flannel'],
    ] as const)
      expect((await gateway.ask<ClusterView>('POST', path, { body: request(name) })).body).toMatchObject({
        serviceType,
        networkCni,
      });
  });

  it('for more nodes is understood below its base', async () => {
    const added = await gateway.ask('POST', `${ladybug}/demo/nodes`, { body: SAMPLE_NODES });
    expect([added.status, added.headers.get('location')]).toEqual([
      202,
      expect.stringMatching(/^\/ladybug\/ns\/default\/clusters\/demo\/operations\//),
    ]);
  });

  it('that requests a version that is no longer built is refused with those that are', async () => {
    const config = { installMonAgent: '', kubernetes: { version: '1.23.13' } };
    const body = { ...request('old'), config };
    const refused = await gateway.ask<ErrorView>('POST', ladybug, { body });
    expect([refused.status, refused.body.kind, refused.body.field]).toEqual([
      400,
      'Status',
      'config.kubernetes.version',
    ]);
    expect(refused.body.message).toContain('1.23.13');
    expect(refused.body.message).toContain(versionRanges(KUBERNETES_RELEASES.map(({ version }) => version)));
  });

  it('may have every field of CB-Ladybug, by its name, also in any other place [CB-Ladybug 2]', async () => {
    const made = await gateway.ask<ClusterView>('POST', clusters, { body: EVERY_FIELD });
    expect([made.status, made.body]).toMatchObject([
      202,
      {
        ...{ name: 'every-field', serviceType: 'single', label: 'team=a', description: 'all of it' },
        ...{ installMonAgent: 'no', networkCni: 'calico', loadbalancer: 'nlb', etcd: 'external' },
        ...{ k8sVersion: 'v1.34.4', podCidr: '10.200.0.0/16', serviceCidr: '10.97.0.0/16' },
        serviceDnsDomain: 'every.local',
      },
    ]);
    const [requested] = await gateway.log('evt.*.default.every-field.request.ClusterRequested');
    expect(requested?.data).toMatchObject({
      spec: {
        controlPlane: { ...EVERY_FIELD.controlPlane[0] },
        workers: [{ ...EVERY_FIELD.worker[0] }],
        kubernetes: { storageclass: EVERY_FIELD.config.kubernetes.storageclass },
      },
    });
  });

  it('is as wrong as ever in any other place', async () => {
    const [, body] = SAMPLE_CLUSTERS[1]!;
    const refused = await gateway.ask<ErrorView>('POST', clusters, { body: { name: 'strict', ...body } });
    expect(refused.status).toBe(400);
    expect(refused.body.errors.map(({ reason }) => reason)).toEqual(['cluster.loadbalancer', 'cluster.mon-agent']);
    const unknown = { ...request('strict'), colour: 'red' };
    expect((await gateway.ask<ErrorView>('POST', clusters, { body: unknown })).body.reason).toBe(
      'request.unknown-field',
    );
    expect((await gateway.ask('GET', `${clusters}?colour=red`)).status).toBe(400);
  });
});

describe('an answer below the base of CB-Ladybug', () => {
  it("has the operator's own kubeconfig in clusterConfig, the same while it lasts, which is on record, and for no one else [CB-Ladybug 34]", async () => {
    const one = await gateway.ask<ClusterView>('GET', `${ladybug}/demo`);
    const [{ text: KUBECONFIG, user } = { text: 'none', user: 'none' }] = issuer.issued;
    expect([one.body.clusterConfig, one.headers.get('cache-control')]).toEqual([KUBECONFIG, 'no-store']);
    const { items } = (await gateway.ask<ClusterList>('GET', ladybug)).body;
    expect(items.find(({ name }) => name === 'demo')?.clusterConfig).toBe(KUBECONFIG);
    expect(new Set(items.flatMap(({ name, clusterConfig }) => (name === 'demo' ? [] : [clusterConfig])))).toEqual(
      new Set(['']),
    );
    const asked = await gateway.log('evt.*.default.demo.audit.KubeconfigRequested');
    expect(asked.map(({ meta, data }) => [meta.actor, data])).toEqual([
      [localActor(gateway), expect.objectContaining({ uid, user })],
    ]);
    const roles = [{ namespace: 'default', role: 'viewer' }];
    const { body } = await gateway.ask<{ token: string }>('POST', '/tokens', { body: { name: 'eye', roles } });
    for (const path of [ladybug, `${ladybug}/demo`]) {
      const seen = await gateway.ask('GET', path, { token: body.token });
      expect([seen.status, JSON.stringify(seen.body).includes('clusterConfig')]).toEqual([200, false]);
    }
    const outside = await gateway.ask('GET', `${clusters}/demo`);
    expect(JSON.stringify(outside.body)).not.toContain(KEY);
  });

  it('has the field names of CB-Ladybug in clusters, nodes, status and lists, and no private key [CB-Ladybug 2]', async () => {
    const read = async (method: string, path: string) =>
      (await gateway.ask<Record<string, unknown>>(method, `/ladybug${path}`)).body;
    const list = await read('GET', clusters);
    const cluster = await read('GET', `${clusters}/demo`);
    const nodes = (await read('GET', `${clusters}/demo/nodes`)) as { kind: string; items: { name: string }[] };
    const node = await read('GET', `${clusters}/demo/nodes/${nodes.items[0]?.name}`);
    await gateway.ask('POST', ladybug, { body: request('short-lived') });
    const status = await read('DELETE', `${clusters}/short-lived`);
    const answers = { Cluster: cluster, ClusterList: list, Node: node, NodeList: nodes, Status: status };
    for (const [kind, answer] of Object.entries(answers))
      expect([answer['kind'], Object.keys(answer)]).toEqual([
        kind,
        expect.arrayContaining([...(FIELDS_OF[kind] ?? [])]),
      ]);
    expect(Object.keys(node)).not.toContain('credential');
    expect([list['items'], nodes.items.length]).toEqual([
      expect.arrayContaining([expect.objectContaining({ kind: 'Cluster', name: 'demo' })]),
      5,
    ]);
  });

  it('keeps no kubeconfig in the answers that are repeated', async () => {
    const headers = { 'idempotency-key': 'ladybug-1', prefer: 'wait=1' };
    const body = { ...request('keyed'), label: '' };
    const first = await gateway.ask<ClusterView>('POST', ladybug, { body, headers });
    const second = await gateway.ask<ClusterView>('POST', ladybug, { body, headers });
    expect([second.body.uid, second.headers.get('location')]).toEqual([first.body.uid, `${ladybug}/keyed`]);
    expect(JSON.stringify(await gateway.log())).not.toContain(KEY);
  });

  it('says what CB-Ladybug says when a name is taken, also while its cluster is being deleted [CB-Ladybug 3]', async () => {
    const text = "The cluster 'going' already exists. (namespace=default)";
    await gateway.ask('POST', ladybug, { body: request('going') });
    const taken = await gateway.ask<ErrorView>('POST', ladybug, { body: request('going', { description: 'x' }) });
    expect([taken.status, taken.body.message]).toEqual([409, text]);
    await gateway.ask('DELETE', `${ladybug}/going`);
    const going = await gateway.ask<ErrorView>('POST', ladybug, { body: request('going') });
    expect([going.status, going.body.reason, going.body.message]).toEqual([409, 'cluster.deleting', text]);
    const outside = await gateway.ask<ErrorView>('POST', clusters, { body: request('going') });
    expect(outside.body.message).toBe("The cluster 'going' is being deleted.");
    const worker = [{ connection: 'lab', count: 1, spec: 'lab.small' }];
    const more = await gateway.ask<ErrorView>('POST', `${ladybug}/going/nodes`, { body: { worker } });
    expect(more.body.message).toBe("Unable to add a node. status is 'Deleting'.");
    const missing = await gateway.ask<ErrorView>('GET', `${ladybug}/absent`);
    expect(missing.body.message).toBe("Could not be found a cluster 'absent' (namespace=default)");
  });

  it('says in its words why a cluster was rejected; elsewhere the words are ours', async () => {
    const { body: made } = await gateway.ask<ClusterView>('POST', ladybug, { body: request('rejected') });
    const { code, message } = refuse('cluster.spec-unknown', { spec: 'x', connection: 'lab', provider: 'lab' });
    const fact = { type: 'ClusterRejected', data: { uid: made.uid, code, message } } as Fact;
    await gateway.state(fact, { cluster: 'rejected' });
    await eventually(async () => {
      const { body } = await gateway.ask<ClusterView>('GET', `${clusters}/rejected`);
      return body.status.message === message;
    });
    const { body } = await gateway.ask<ClusterView>('GET', `${ladybug}/rejected`);
    expect(body.status.message).toBe("Could not be found a spec 'x'. (connection=lab, csp=lab)");
  });

  it('looks at connections before counts [CB-Ladybug 6]', async () => {
    const body = request('ordered', { serviceType: 'multi', worker: [{ connection: 'moon', count: 0, spec: 's' }] });
    const refused = await gateway.ask<ErrorView>('POST', ladybug, { body });
    expect(refused.body.errors.map(({ reason }) => reason)).toEqual(['connection.unknown', 'cluster.worker-count']);
    expect(refused.body.message).toBe('Connection does not exist. (moon)');
  });

  it('creates a cluster again whose creation failed, after what there is of it has been deleted [CB-Ladybug 27]', async () => {
    const { body: first } = await gateway.ask<ClusterView>('POST', ladybug, { body: request('again') });
    const cause = { operation: 'create machines', target: 'lab', message: 'no capacity' };
    const failure = { uid: first.uid, reason: 'CreateMCISFailedReason', step: 'create', cause };
    await gateway.state({ type: 'ClusterFailed', data: failure } as unknown as Fact, { cluster: 'again' });
    const second = await gateway.ask<ClusterView>('POST', ladybug, { body: request('again') });
    expect([second.status, second.body.status.phase]).toEqual([202, 'Deleting']);
    await gateway.state({ type: 'ClusterDeleted', data: { uid: first.uid } } as Fact, { cluster: 'again' });
    await eventually(async () => {
      const { body } = await gateway.ask<ClusterView>('GET', `${ladybug}/again`);
      return body.uid !== undefined && body.uid !== first.uid && body.status.phase === 'Pending';
    });
    const requests = await gateway.log('evt.*.default.again.request.ClusterRequested');
    expect(requests.map(({ meta }) => meta.actor)).toEqual([localActor(gateway), localActor(gateway)]);
  });

  it('names the reason of a failure by its code there, and by ours elsewhere', async () => {
    const { body: made } = await gateway.ask<ClusterView>('POST', ladybug, { body: request('failing') });
    const cause = { operation: 'create machines', target: 'lab', message: 'no capacity' };
    const data = { uid: made.uid, reason: 'CreateMCISFailedReason', step: 'create', cause };
    await gateway.state({ type: 'ClusterFailed', data } as unknown as Fact, { cluster: 'failing' });
    const reasonAt = async (base: string) =>
      (await gateway.ask<ClusterView>('GET', `${base}/failing`)).body.status.reason;
    await eventually(async () => (await reasonAt(clusters)) !== '');
    expect([await reasonAt(clusters), await reasonAt(ladybug)]).toEqual([
      'MachineCreationFailed',
      'CreateMCISFailedReason',
    ]);
  });

  it('does not mind queries that it does not know, or that are empty', async () => {
    for (const path of [`${ladybug}?colour=red`, `${ladybug}/demo?colour=`, `${ladybug}/demo/nodes?x=1`])
      expect((await gateway.ask('GET', path)).status).toBe(200);
    const specs = await gateway.ask('GET', '/ladybug/mcir/connections/lab/specs?control-plane=&cpu-min=&colour=red');
    expect(specs.body['reason']).toBe('spec-list.unverified');
  });
});

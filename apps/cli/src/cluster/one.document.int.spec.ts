import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseYaml } from '@fairlead/parsers';
import { FILE_LIMITS } from '../io/file.limits.js';
import { clusterView, FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type Ran } from '../spec/io.fixtures.js';

const DEMO = '/ns/default/clusters/demo';
const UID = '00000000-0000-4000-8000-000000000001';
const machines = { connection: 'lab', machineType: 'lab.medium', rootDisk: { type: 'default', size: 'default' } };
const VIEW = {
  ...{ apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster' },
  metadata: { name: 'demo', namespace: 'default', uid: UID, resourceVersion: '12' },
  spec: {
    ...{ version: 'v1.34.4', serviceType: 'single', loadBalancer: 'haproxy' },
    network: { podCidr: '10.244.0.0/16', serviceCidr: '10.96.0.0/12', dnsDomain: 'cluster.local', cni: 'flannel' },
    controlPlane: { replicas: 3, ...machines, etcd: 'local', schedulable: false },
    pools: [
      { name: 'web', replicas: 2, ...machines },
      { name: 'burst', replicas: 4, ...machines, autoscaling: { min: 1, max: 5 } },
    ],
  },
  status: { phase: 'Provisioned', state: 'Running', conditions: [], endpoint: '', revision: 3, pools: [] },
};
const NODE = {
  ...{ kind: 'Node', name: 'demo-w-1', pool: 'web', role: 'worker', phase: 'Ready', ready: true, reason: '' },
  ...{ spec: 'lab.medium', csp: 'lab', cspLabel: 'a=b', regionLabel: 'a=b', zoneLabel: 'a=b', software: {} },
};
/** Names that only CB-Ladybug uses. */
const OF_LADYBUG = /mcis|cpLeader|cpGroup|installMonAgent|cspLabel|networkCni/;

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  const cluster = clusterView({ uid: UID, mcis: 'demo', cpLeader: 'x', installMonAgent: 'no', nodes: [NODE] });
  gateway.on('GET', DEMO, { body: cluster });
  gateway.on('GET', '/ns/default/clusters', { body: { items: [cluster] } });
  gateway.on('GET', `${DEMO}/manifest`, { body: VIEW });
});
afterEach(() => gateway.stop());

const ask = (line: string, stdin = ''): Promise<Ran> =>
  run(line.split(' '), fakeIo({ stdin, env: { FAIRLEAD_SERVER: gateway.url } }));
const read = (text: string) => parseYaml(text, FILE_LIMITS) as typeof VIEW;

const declared = (name: string) => ({
  ...{ apiVersion: VIEW.apiVersion, kind: VIEW.kind, metadata: { name, namespace: 'default' } },
  spec: { version: 'v1.34.4', controlPlane: { replicas: 3, ...machines }, pools: [VIEW.spec.pools[0]] },
});
const LADYBUG = 'name: demo\ncontrolPlane: [{ connection: lab, count: 1, spec: s }]\n';

describe('the json and yaml output of a cluster', () => {
  it.each(['cluster get demo -o yaml', 'cluster get demo -o json'])(
    'is its manifest with its status (%s)',
    async (line) => {
      const { code, stdout } = await ask(line);
      expect(code).toBe(0);
      expect(stdout).not.toMatch(OF_LADYBUG);
      const { replicas: _size, ...burst } = VIEW.spec.pools[1]!;
      expect(read(stdout)).toMatchObject({
        ...{ apiVersion: VIEW.apiVersion, kind: VIEW.kind, metadata: VIEW.metadata },
        spec: { ...VIEW.spec, pools: [VIEW.spec.pools[0], burst] },
        status: {
          state: 'Running',
          revision: 3,
          version: 'v1.34.4',
          nodes: [{ name: 'demo-w-1', machineType: 'lab.medium' }],
        },
      });
    },
  );

  it('can be applied as it is, and changes nothing', async () => {
    gateway.on('PUT', `${DEMO}/manifest`, ({ body }) => ({ body: { ...VIEW, spec: VIEW.spec, sent: body, plan: [] } }));
    const { stdout } = await ask('cluster get demo -o yaml');
    expect(await ask('apply -f - --yes', stdout)).toEqual({ code: 0, stdout: 'cluster/demo unchanged\n', stderr: '' });
    const sent = gateway.asked('PUT', `${DEMO}/manifest`);
    expect(sent.map(({ query }) => query['dryRun'])).toEqual(['All']);
    expect(sent[0]?.body).toMatchObject({ metadata: VIEW.metadata, spec: { version: 'v1.34.4' } });
  });

  it('has the same form in lists and in responses to changes', async () => {
    gateway.on('POST', `${DEMO}/pause`, { body: clusterView({ mcis: 'demo' }) });
    const list = read((await ask('cluster list -o yaml')).stdout) as unknown as readonly (typeof VIEW)[];
    for (const one of [...list, read((await ask('cluster pause demo -o json')).stdout)])
      expect(one).toMatchObject({ kind: 'Cluster', metadata: VIEW.metadata, spec: { version: 'v1.34.4' } });
    expect((await ask('cluster list -o name')).stdout).toBe('demo\n');
  });

  it("is CB-Ladybug's document only with its flag, which is refused for tables", async () => {
    for (const line of ['cluster get demo --ladybug -o json', 'cluster list --ladybug -o json'])
      expect((await ask(line)).stdout).toMatch(OF_LADYBUG);
    for (const line of ['cluster get demo --ladybug', 'cluster list --ladybug'])
      expect(await ask(line)).toMatchObject({ code: 2, stderr: expect.stringContaining('-o json or -o yaml') });
    gateway.on('GET', `${DEMO}/operations`, { body: { items: [] } });
    expect((await ask('cluster describe demo --objects -o json')).stdout).not.toMatch(OF_LADYBUG);
  });
});

describe('fairlead cluster create -f', () => {
  beforeEach(() => {
    for (const name of ['demo', 'demo2']) {
      const headers = { 'x-fairlead-seq': '101' };
      gateway.on('PUT', `/ns/default/clusters/${name}/manifest`, {
        headers,
        body: { ...VIEW, warnings: ['It is small'] },
      });
      gateway.on('GET', `/ns/default/clusters/${name}`, { body: clusterView({ name }) });
    }
  });
  const sent = (name: string) => gateway.asked('PUT', `/ns/default/clusters/${name}/manifest`)[0];

  it('declares the manifest with an idempotency key, only if the cluster does not exist', async () => {
    const { code, stderr } = await ask('cluster create -f -', JSON.stringify(declared('demo')));
    expect([code, stderr]).toEqual([0, expect.stringContaining('wait for it with "fairlead cluster wait demo"')]);
    expect(stderr).toContain('Warning: It is small.\n');
    const { metadata, ...others } = declared('demo');
    expect(sent('demo')?.body).toEqual({ ...others, metadata: { ...metadata, resourceVersion: '' } });
    expect(sent('demo')?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('accepts the output of get and export for a new cluster with another name', async () => {
    for (const line of ['cluster get demo -o yaml', 'export demo']) {
      const { stdout } = await ask(line);
      expect((await ask('cluster create demo2 -f -', stdout)).code).toBe(0);
      expect(sent('demo2')?.body).toMatchObject({ metadata: { name: 'demo2', resourceVersion: '' }, kind: 'Cluster' });
      expect(sent('demo2')?.body).not.toMatchObject({ metadata: { uid: UID } });
    }
  });

  it('lets options override fields of the manifest, and keeps the rest', async () => {
    const options = '--workers 7 --machine-type lab.large --cni calico --kubernetes-version v1.35.4 --control-planes 5';
    await ask(`cluster create -f - ${options}`, JSON.stringify(declared('demo')));
    expect(sent('demo')?.body).toMatchObject({
      spec: {
        ...{ version: 'v1.35.4', network: { cni: 'calico' } },
        controlPlane: { replicas: 5, connection: 'lab', machineType: 'lab.large' },
        pools: [{ name: 'web', replicas: 7, connection: 'lab', machineType: 'lab.large' }],
      },
    });
  });

  it.each([
    ['cluster create -f - --workers 3', JSON.stringify(VIEW), '--workers needs one pool, and the manifest has 2'],
    ['cluster create -f - --description x', JSON.stringify(declared('demo')), '--description cannot be given with'],
    ['cluster create -f -', LADYBUG, 'Type "fairlead cluster create --ladybug -f -"'],
    ['apply -f -', LADYBUG, 'Type "fairlead cluster create --ladybug -f -"'],
    ['validate -f -', LADYBUG, 'Standard input holds a request for CB-Ladybug, not a manifest'],
    ['cluster create --ladybug -f -', JSON.stringify(VIEW), 'Leave --ladybug out.'],
    ['cluster create -f -', `${JSON.stringify(VIEW)}\n---\n${JSON.stringify(VIEW)}`, 'Type "fairlead apply -f -"'],
    ['cluster create -n team-a -f -', JSON.stringify(VIEW), 'is of namespace default, not of team-a'],
  ])('states the correct command: %s', async (line, stdin, words) => {
    expect(await ask(line, stdin)).toMatchObject({ code: 2, stderr: expect.stringContaining(words) });
    expect(gateway.received).toEqual([]);
  });

  it('does not change an existing cluster', async () => {
    const field = 'metadata.resourceVersion';
    gateway.on('PUT', `${DEMO}/manifest`, refusal(409, 'cluster.name-taken', 'It exists.', { field }));
    const { code, stderr } = await ask('cluster create -f -', JSON.stringify(declared('demo')));
    expect([code, stderr]).toEqual([
      6,
      'Error: It exists. [cluster.name-taken]\n  Choose another name, or change the cluster with "fairlead apply".\n',
    ]);
  });
});

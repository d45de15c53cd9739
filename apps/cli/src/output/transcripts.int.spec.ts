import { goldenBeside } from '@fairlead/testing/golden';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sample } from '../progress/operation.fixtures.js';
import { clusterView, FakeGateway } from '../spec/gateway.fixtures.js';
import { fakeIo, run } from '../spec/io.fixtures.js';
import { STORY, upgradeView } from '../upgrade/upgrade.fixtures.js';

const golden = goldenBeside(import.meta.url);
const DEMO = '/ns/default/clusters/demo';
const UID = '00000000-0000-4000-8000-000000000001';
const AT = '2026-11-21T08:00:00.000Z';
const LONG =
  'the hosts rack-1 and rack-2 do not answer on port 22: connect ECONNREFUSED 198.51.100.11:22 (attempt 2 of 6, the next one in 30s)';

const nodeOf = (name: string, pool: string, more: object = {}) => ({
  ...{ kind: 'Node', name, pool, role: pool === 'control-plane' ? 'control-plane' : 'worker', leader: false },
  ...{ phase: 'Ready', stage: 'ready', ready: true, reason: '', changedAt: AT, createdTime: AT },
  ...{ spec: 'lab.medium', connection: 'lab', csp: 'lab', publicIp: '198.51.100.21', privateIp: '10.0.0.21' },
  ...{ cspLabel: '', regionLabel: '', zoneLabel: '', software: { kubelet: '1.34.4', containerd: '1.7.24' } },
  labels: {
    'fairlead.dev/pool': pool,
    'kubernetes.io/hostname': name,
    tier: 'web',
    'topology.kubernetes.io/zone': 'lab-1a',
  },
  updatesDisabled: null,
  ...more,
});

const NODES = [
  nodeOf('demo-cp-1-x7k2p', 'control-plane'),
  nodeOf('demo-w-2-c5v7r', 'web'),
  nodeOf('demo-w-3-k8j2h', 'batch', {
    phase: 'NotReady',
    ready: false,
    reason: 'its agent has sent no heartbeat since 08:59:08, and it will be replaced at 09:04:08 unless it returns',
  }),
];

const machines = {
  connection: 'lab',
  machineType: 'lab.medium',
  rootDisk: { type: 'default', size: 'default' },
  zones: [],
};
const spec = {
  version: 'v1.34.4',
  serviceType: 'single',
  loadBalancer: 'haproxy',
  network: { podCidr: '10.244.0.0/16', serviceCidr: '10.96.0.0/12', dnsDomain: 'cluster.local', cni: 'flannel' },
  controlPlane: { replicas: 3, ...machines, etcd: 'local', schedulable: false },
  pools: [
    { name: 'web', replicas: 2, ...machines, autoscaling: { min: 1, max: 5 }, labels: { tier: 'web' } },
    { name: 'batch', replicas: 1, ...machines },
  ],
};
const manifestOf = (of: object) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'demo', namespace: 'default', uid: UID, resourceVersion: '12' },
  spec: of,
});
const status = (name: string, phase: string, ready: number) => ({
  ...{ name, phase, replicas: 2, readyReplicas: ready, availableReplicas: ready, updatedReplicas: 2 },
});

/** As a user writes it; the server's response is complete. */
const declared = manifestOf({
  version: 'v1.34.4',
  controlPlane: { replicas: 3, connection: 'lab', machineType: 'lab.medium' },
  pools: [{ name: 'web', replicas: 4, connection: 'lab', machineType: 'lab.medium' }],
});

const event = (seq: number, type: string, sentence: string) => ({
  ...{ seq, id: `event-${seq}`, type, time: AT, namespace: 'default', cluster: 'demo', context: 'any', source: '/any' },
  ...{ actor: 'system/infra-svc', correlationId: 'event-1', causationId: 'event-1', sentence, data: { uid: UID } },
});
const EVENTS = [
  event(101, 'ClusterRequested', 'a cluster with 3 control planes and 2 workers was requested'),
  event(102, 'BootstrapStepFailed', `reach over SSH failed on demo-w-2-c5v7r: ${LONG}`),
];

const host = (name: string, problem: string) => ({
  ...{ name, address: '198.51.100.11', zone: 'hall-1', spec: 'metal.large', state: 'free', lastNamespace: '' },
  ...{ cluster: 'default/demo', machine: 'demo-w-2-c5v7r', problem, warning: '', hostKey: null },
});

const rejected = upgradeView({
  ...{ id: 'u-1111111111', phase: 'Rejected', plan: null, message: `${LONG}; ${LONG}; ${LONG}` },
});

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  const running = clusterView();
  const failing = clusterView({
    name: 'a-cluster-with-a-long-name',
    status: { phase: 'Provisioning', state: 'Provisioning', reasons: [], reason: '', message: LONG },
    progress: { ...(running['progress'] as object), title: 'Reach over SSH', nodesReady: 0 },
    lease: { startsAt: null, endsAt: '2026-12-24T18:00:00.000Z', deletionAt: AT, reservations: [] },
  });
  gateway.on('GET', '/ns/default/clusters', { body: { items: [running, failing] } });
  gateway.on('GET', DEMO, { body: failing });
  gateway.on('GET', `${DEMO}/operations`, { body: { items: sample('failed').operations } });
  gateway.on('GET', `${DEMO}/nodes`, { body: { items: NODES } });
  gateway.on('GET', `${DEMO}/nodes/demo-w-3-k8j2h`, { body: NODES[2] });
  const view = {
    ...manifestOf(spec),
    status: { phase: 'Provisioned', pools: [status('web', 'ScalingUp', 1), status('batch', 'Running', 2)] },
  };
  gateway.on('GET', `${DEMO}/manifest`, { body: view });
  gateway.on('GET', `${DEMO}/manifest/generations`, {
    body: { kind: 'ManifestGenerationList', items: generations, earlierLeftOut: 0 },
  });
  gateway.on('GET', '/ns/default/clusters/a-cluster-with-a-long-name/manifest', { body: view });
  const plan = [{ action: 'add-nodes', pool: 'web', count: 2, nodes: [], reason: 'add 2 machines (2 → 4)' }];
  const pools = [{ ...spec.pools[0], replicas: 4 }, spec.pools[1]];
  gateway.on('PUT', `${DEMO}/manifest`, { body: { ...manifestOf({ ...spec, pools }), plan } });
  const planned = {
    ...manifestOf(spec),
    metadata: { name: 'new', namespace: 'default', uid: UID, resourceVersion: '' },
  };
  const created = [{ action: 'create-cluster', pool: null, count: 3, nodes: [], reason: 'create 3 control planes' }];
  gateway.on('PUT', '/ns/default/clusters/new/manifest', { body: { ...planned, plan: created } });
  gateway.on('POST', `${DEMO}/upgrades`, { body: upgradeView() });
  gateway.on('GET', `${DEMO}/upgrades`, { body: { items: [STORY.workers, rejected] } });
  gateway.on('GET', `${DEMO}/upgrades/${STORY.workers.id}`, { body: STORY.workers });
  gateway.on('GET', `${DEMO}/audit`, {
    body: {
      ...{ kind: 'Audit', namespace: 'default', cluster: 'demo' },
      items: EVENTS.map((one) => ({ ...one, because: [{ seq: 99, type: 'ClusterRequested', id: 'd' }] })),
      verification: { intact: true, events: 2, streams: 1, faults: [] },
    },
  });
  gateway.on('GET', '/connections/site', {
    body: { name: 'site', provider: 'ssh', region: '', hosts: [host('rack-1', ''), host('rack-2', LONG)], problem: '' },
  });
  const roles = ['team-a', 'team-b', 'team-c'].map((namespace) => ({ namespace, role: 'operator' }));
  const tokens = [
    { id: 'e8b23e5b5dac9e91', name: 'pipeline', roles, createdTime: AT, expiresAt: '2099-01-01T00:00:00.000Z' },
  ];
  gateway.on('GET', '/tokens', { body: { items: tokens } });
  gateway.state(...(EVENTS as never[]));
});

afterEach(() => gateway.stop());

const newCluster = { ...declared, metadata: { name: 'new' } };
const generation = (number: number, changes: readonly object[]) => ({
  ...{ generation: number, current: number === 3, changes, changesLeftOut: number === 3 ? 4 : 0 },
  event: {
    ...{
      seq: 900 + number,
      type: 'ClusterSpecChanged',
      time: '2026-11-21T08:00:00.000Z',
      actor: 'user/ada#9cbab2ab89264296',
    },
    sentence: 'a cluster of 3 control planes and 2 workers with Kubernetes v1.34.4 was requested',
  },
});
const generations = [
  generation(3, [
    { field: 'pools[web].health.remediation', before: null, after: 'replace' },
    { field: 'pools[web].replicas', before: '2', after: '4' },
  ]),
  generation(2, [{ field: 'metadata.labels.team', before: 'shop', after: null }]),
  generation(1, []),
];

const COMMANDS: readonly (readonly [line: string, stdin?: object])[] = [
  ['cluster list'],
  ['cluster get demo'],
  ['cluster get demo -o yaml'],
  ['cluster describe demo'],
  ['cluster history demo'],
  ['node list demo'],
  ['node describe demo demo-w-3-k8j2h'],
  ['pool list demo'],
  ['pool describe demo web'],
  ['upgrade plan demo --to v1.35.4'],
  ['upgrade status demo'],
  ['upgrade list demo'],
  ['audit demo'],
  ['events demo'],
  ['connection hosts site'],
  ['connection describe site'],
  ['diff -f -', { ...declared, metadata: { name: 'demo' } }],
  ['apply -f - --dry-run', { ...declared, metadata: { name: 'demo' } }],
  ['apply -f - --dry-run', newCluster],
  ['token list'],
];

const transcript = async (columns: number | undefined): Promise<string> => {
  const parts: string[] = [];
  for (const [line, stdin] of COMMANDS) {
    const io = fakeIo({ ...(columns === undefined ? {} : { columns }), stdin: JSON.stringify(stdin ?? {}) });
    const { stdout, stderr } = await run(['--server', gateway.url, ...line.split(' ')], io);
    parts.push(`$ fairlead ${line}\n${stdout}${stderr === '' ? '' : `[standard error]\n${stderr}`}`);
  }
  return parts.join('\n');
};

it.each([80, 120, 160])('the output of the main commands fits a terminal of %d columns', async (columns) => {
  const text = await transcript(columns);
  golden(`terminal.${columns}.txt`, text);
  expect(text.split('\n').filter((line) => line.length > columns)).toEqual([]);
});

it('a narrow terminal truncates cells if necessary, and omits no row', async () => {
  const tables = (await transcript(40)).split(/^(?=\$ )/m);
  expect(tables).toHaveLength(COMMANDS.length);
  const rows = tables.find((text) => text.startsWith('$ fairlead node list'))?.match(/^demo-.*(Ready|NotRe)/gm);
  expect(rows).toHaveLength(3);
});

it('a file or a pipe receives every column, and every row in one line', async () =>
  golden('pipe.txt', await transcript(undefined)));

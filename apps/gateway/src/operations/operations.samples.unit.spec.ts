import { ClusterView, OperationView, type Fact, type NodeSet } from '@fairlead/contracts';
import { expect, it } from '@jest/globals';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NOTHING_AROUND } from '../clusters/clusters.facts.js';
import { clusterView } from '../clusters/clusters.view.js';
import { nodeView } from '../nodes/nodes.view.js';
import {
  clusterReady,
  CREATE,
  created,
  nodeFact,
  NODES,
  planned,
  prepared,
  ready,
  requested,
  uid,
  WORKERS,
  world,
} from '../story.fixtures.js';

const FILE = fileURLToPath(new URL('../../../../libs/contracts/src/views/samples/operations.ndjson', import.meta.url));

/** The story of a creation up to and including the count-th event of the type. */
const upTo = (type: Fact['type'], count = 1): readonly Fact[] => {
  const positions = CREATE.flatMap((fact, index) => (fact.type === type ? [index] : []));
  return CREATE.slice(0, (positions[count - 1] ?? CREATE.length) + 1);
};

const cause = { operation: 'kubeadm init', target: 'demo-cp-1', message: 'timed out waiting for the condition' };
const attempt = (step: string, node: string, nextAttemptAt: string | null): Fact => ({
  type: 'BootstrapStepFailed',
  data: { uid, step, node: node as never, cause, attempt: 1, attemptsMax: 5, nextAttemptAt },
});
const retrying = [...upTo('NodeBootstrapped', 5), attempt('InitControlPlane', 'demo-cp-1', '2026-01-01T00:01:00.000Z')];
const failed: readonly Fact[] = [
  ...retrying,
  { type: 'ClusterFailed', data: { uid, step: 'InitControlPlane', reason: 'InitControlPlaneFailedReason', cause } },
];
const retried: readonly Fact[] = [...failed, { type: 'ClusterRetryRequested', data: { uid } }];
const workers = [{ count: 1 }] as unknown as NodeSet[];
const grown: readonly Fact[] = [...CREATE, { type: 'NodesRequested', data: { uid, requestId: 'r1', workers } }];
const removal: readonly Fact[] = [...CREATE, nodeFact('NodeRemovalRequested', 'demo-w-1')];
const deletion: readonly Fact[] = [
  ...CREATE,
  { type: 'ClusterDeletionRequested', data: { uid } },
  { type: 'ClusterDismantled', data: { uid } },
  { type: 'LoadBalancerDeleted', data: { uid } },
];
const gone = (name: string): Fact => ({ type: 'VmDeleted', data: { uid, name: name as never } });
const addon = (name: string): Fact => ({ type: 'AddonInstalled', data: { uid, addon: name, version: '1' } });

const hook = (attempt: number): Fact =>
  ({
    type: 'HookFailed',
    data: {
      ...{ uid, hook: 'backup', point: 'BeforeClusterDelete', attempt, nextAttemptAt: '2026-01-01T00:01:00.000Z' },
      cause: { operation: 'call the hook', target: 'backup', message: 'it answered with HTTP 500' },
    },
  }) as unknown as Fact;
const ofDrain = (type: string, data: object): Fact =>
  ({ type, data: { uid, requestId: 'r1', action: 'drain', ...data } }) as unknown as Fact;
const drain: readonly Fact[] = [
  ...CREATE,
  ofDrain('NodeActionRequested', {
    ...{ nodes: ['demo-w-1'], reason: '', drain: true, drainTimeoutSeconds: 900, maxUnavailable: 1 },
    expiresAt: '2026-01-02T00:00:00.000Z',
  }),
  ofDrain('NodeActionStarted', { node: 'demo-w-1' }),
  ofDrain('NodeActionCordoned', { node: 'demo-w-1', byRequest: true }),
];
const refused = ofDrain('NodeActionEvictionRefused', {
  ...{ node: 'demo-w-1', budget: 'default/web', pods: ['default/web-1'] },
  message: "Cannot evict pod as it would violate the pod's disruption budget",
});
const restore: readonly Fact[] = [
  ...CREATE,
  { type: 'EtcdRestoreRequested', data: { uid, requestId: 'r1', snapshot: 'demo-1' } } as Fact,
  { type: 'EtcdRestoreStarted', data: { uid, requestId: 'r1', snapshot: 'demo-1', members: [] } } as unknown as Fact,
  { type: 'EtcdRestoreAdvanced', data: { uid, requestId: 'r1', step: 'stop', cause: null } } as Fact,
];

/** Moments in the life of a cluster. */
const MOMENTS: Readonly<Record<string, readonly Fact[]>> = {
  requested: [requested],
  machines: upTo('VmCreated', 2),
  hosts: upTo('AgentStarted', 3),
  initialised: upTo('ControlPlaneInitialized'),
  joining: upTo('ControlPlaneJoined'),
  workers: upTo('WorkerJoined'),
  ready: [...CREATE.slice(0, -1), addon('kube-proxy'), addon('coredns'), clusterReady],
  lost: [...CREATE, nodeFact('NodeLost', 'demo-w-2', { lastSeenAt: null, limitMs: 1 })],
  retrying,
  failed,
  retried,
  rejected: [
    requested,
    { type: 'ClusterRejected', data: { uid, code: 'cluster.spec-unknown', message: 'There is no spec lab.huge' } },
  ],
  unnamed: [...upTo('VmsCreated'), attempt('BootstrapHost', 'demo-cp-2', '2026-01-01T00:01:00.000Z')],
  adding: [...grown, planned(['demo-w-3']), ...created(['demo-w-3'])],
  added: [
    ...grown,
    planned(['demo-w-3']),
    ...created(['demo-w-3']),
    ...prepared(['demo-w-3']),
    nodeFact('WorkerJoined', 'demo-w-3'),
    ...ready(['demo-w-3']),
    clusterReady,
  ],
  removing: [...removal, nodeFact('NodeDrained', 'demo-w-1', { evictedPods: 1, dead: false })],
  removed: [...removal, nodeFact('NodeRemoved', 'demo-w-1'), gone('demo-w-1')],
  hooked: [...deletion.slice(0, CREATE.length + 1), hook(1)],
  'hooked-again': [...deletion.slice(0, CREATE.length + 1), hook(1), hook(2)],
  draining: drain,
  'drain-refused': [...drain, refused],
  restoring: restore,
  restored: [...restore, { type: 'EtcdRestored', data: { uid, requestId: 'r1', snapshot: 'demo-1' } } as Fact],
  deleting: [...deletion, ...WORKERS.map(gone)],
  deleted: [...deletion, ...NODES.map(gone), { type: 'ClusterDeleted', data: { uid } }],
};

/** The cluster itself is kept at these moments only; at the others it is left out. */
const WITH_CLUSTER: readonly string[] = ['ready', 'added'];

const sampleOf = (moment: string, facts: readonly Fact[]): string => {
  const { cluster, nodes, operations, views } = world(facts);
  const kept = cluster === undefined || WITH_CLUSTER.includes(moment);
  const view =
    cluster &&
    ClusterView.parse(
      clusterView({
        cluster,
        seq: facts.length,
        nodes,
        operations,
        around: NOTHING_AROUND,
        now: '2026-01-01T00:10:00.000Z',
        stalledAfterMs: 30 * 60_000,
      }),
    );
  const operationsShown = views.map((one) => OperationView.parse(one));
  return JSON.stringify({ moment, ...(kept ? { cluster: view ?? null } : {}), operations: operationsShown });
};

/** Of each operation after each event of each story: the nodes that it does not count as the cluster does. */
const miscounted = (facts: readonly Fact[]): readonly string[] =>
  facts.flatMap((_fact, index) => {
    const { nodes, views } = world(facts.slice(0, index + 1));
    const ready = new Set(nodes.flatMap((doc) => (nodeView(doc).ready ? [doc.name as string] : [])));
    return views.flatMap((view) =>
      view.nodes.flatMap((node) =>
        (node.ready ?? node.state === 'ready') === ready.has(node.name)
          ? []
          : [`${facts[index]?.type}: ${view.kind} says ${node.name} is ${node.state}`],
      ),
    );
  });

it.each(Object.entries(MOMENTS))(
  'an operation counts the same nodes as Ready as its cluster, also while they are drained or leave (%s)',
  (_moment, facts) => expect(miscounted(facts)).toEqual([]),
);

/** The command line draws these: it has no model of operations of its own. */
it('the samples of operations are what the gateway answers', () => {
  const lines = Object.entries(MOMENTS).map(([moment, facts]) => sampleOf(moment, facts));
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(dirname(FILE), { recursive: true });
    writeFileSync(FILE, `${lines.join('\n')}\n`);
  }
  expect(lines).toEqual(readFileSync(FILE, 'utf8').trimEnd().split('\n'));
});

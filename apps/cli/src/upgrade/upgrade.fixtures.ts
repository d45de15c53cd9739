import type { EventView, UpgradeView } from '../api/views.js';

type Node = UpgradeView['nodes'][number];
type Operation = UpgradeView['operations'][number];
type PlanOperation = NonNullable<UpgradeView['plan']>['operations'][number];

export const CONTROL_PLANES = ['demo-cp-1-x7k2p', 'demo-cp-2-9qw3e', 'demo-cp-3-m1n8b'] as const;
export const WORKERS = [
  'demo-w-1-p4t6z',
  'demo-w-2-c5v7r',
  'demo-w-3-k8j2h',
  'demo-w-4-z1x2c',
  'demo-w-5-q9w8e',
] as const;
const NODES = [...CONTROL_PLANES, ...WORKERS];
export const HASH = '9c1f'.repeat(16);
const PREDICTED_MS = { 'snapshot-etcd': 10_000, addons: 15_000, node: 90_000 } as const;

const isControlPlane = (name: string): boolean => name.includes('-cp-');

const reasonOf = (node: string): string => {
  if (isControlPlane(node)) return 'the leader of etcd comes last';
  return node === WORKERS[0]
    ? 'canary: the other nodes of the pool wait for its gates (D1)'
    : 'the next node of its pool';
};

const planOperation = (node: string, index: number): PlanOperation =>
  ({
    id: `op-${index + 2}`,
    kind: isControlPlane(node) ? 'control-plane' : 'worker',
    node,
    nodes: [node],
    role: isControlPlane(node) ? 'control-plane' : 'worker',
    pool: isControlPlane(node) ? 'control-plane' : 'worker-1',
    batch: index + 1,
    canary: node === WORKERS[0],
    from: { kubelet: '1.34.4' },
    to: { kubelet: '1.35.4' },
    change: null,
    drain: true,
    reason: reasonOf(node),
    predictedSeconds: PREDICTED_MS.node / 1_000,
  }) as PlanOperation;

const clusterOperation = (id: string, kind: 'snapshot-etcd' | 'addons', batch: number): PlanOperation => ({
  ...planOperation('', 0),
  id,
  kind,
  node: null,
  nodes: [],
  role: null,
  pool: null,
  batch,
  canary: false,
  from: {},
  to: {},
  drain: false,
  reason: kind === 'addons' ? 'they fit the version of the API servers' : 'etcd can be set back to it',
  predictedSeconds: PREDICTED_MS[kind] / 1_000,
});

const operations = [
  clusterOperation('op-1', 'snapshot-etcd', 0),
  ...CONTROL_PLANES.map(planOperation),
  clusterOperation('op-5', 'addons', 4),
  ...WORKERS.map((node, index) => planOperation(node, index + CONTROL_PLANES.length + 1)),
];

const NOT_BEGUN = { attempt: 0, attemptsMax: 0, nextAttemptAt: null, failure: '' } as const;

const operationView = ({ id, kind, node, batch, predictedSeconds }: PlanOperation): Operation => ({
  id,
  kind,
  node,
  batch,
  state: 'waiting',
  startedAt: null,
  finishedAt: null,
  elapsedMs: null,
  predictedMs: predictedSeconds * 1_000,
  ...NOT_BEGUN,
});

const nodeView = (name: string): Node => ({
  name,
  role: isControlPlane(name) ? 'control-plane' : 'worker',
  pool: isControlPlane(name) ? 'control-plane' : 'worker-1',
  phase: 'Waiting',
  step: null,
  waitsFor: 'its turn',
  from: 'kubelet 1.34.4',
  to: 'kubelet 1.35.4',
  startedAt: null,
  finishedAt: null,
  elapsedMs: null,
  predictedMs: PREDICTED_MS.node,
  operationsDone: 0,
  operationsTotal: 1,
  ...NOT_BEGUN,
});

const FINDINGS: UpgradeView['findings'] = [
  {
    rule: 'B7',
    severity: 'ask',
    sentence: 'The budget shop/web allows no disruption now',
    facts: { budget: 'shop/web' },
    help: 'Add a replica, or expect to wait.',
  },
];

/** An upgrade of three control planes and five workers as the gateway shows it, planned and not begun. */
export const upgradeView = (change: Partial<UpgradeView> = {}): UpgradeView => ({
  id: 'u-8f3k2m9q01',
  kind: 'Upgrade',
  namespace: 'default',
  cluster: 'demo',
  mode: 'ask',
  phase: 'Planned',
  message: 'the plan waits for its approval',
  target: { kubernetes: 'v1.35.4', renewCertificates: false, reboot: false },
  actor: 'user/ada',
  requestedAt: '2026-11-21T08:00:00.000Z',
  startedAt: null,
  finishedAt: null,
  elapsedMs: null,
  predictedMs: 745_000,
  nodesDone: 0,
  nodesTotal: NODES.length,
  uid: '00000000-0000-4000-8000-000000000001',
  pools: null,
  controlPlane: true,
  overrides: [],
  findings: FINDINGS,
  planHash: HASH,
  plan: {
    upgradeId: 'u-8f3k2m9q01',
    target: { kubernetes: 'v1.35.4', renewCertificates: false, reboot: false },
    path: ['v1.34.4', 'v1.35.4'],
    strategy: {} as NonNullable<UpgradeView['plan']>['strategy'],
    pools: [{ name: 'worker-1', nodes: 6, atOnce: 1, surge: 1 }],
    operations,
    held: ['demo-w-6-t5r4e'],
    current: [],
    findings: FINDINGS,
    predictedSeconds: 745,
  },
  approvedBy: null,
  nodes: [
    ...NODES.map(nodeView),
    {
      ...nodeView('demo-w-6-t5r4e'),
      role: null,
      pool: '',
      phase: 'Held',
      waitsFor: 'its user to release it',
      predictedMs: 0,
    },
  ],
  operations: operations.map(operationView),
  nextActions: [],
  lastSeq: 200,
  ...change,
});

const done = (node: Node, elapsedMs: number): Node => ({
  ...node,
  phase: 'Done',
  waitsFor: '',
  elapsedMs,
  operationsDone: 1,
  attempt: 1,
});

const withNodes = (view: UpgradeView, changes: Readonly<Record<string, Partial<Node>>>): UpgradeView => ({
  ...view,
  nodes: view.nodes.map((node) => ({ ...node, ...changes[node.name] })),
});

const withOperation = (view: UpgradeView, id: string, state: Operation['state'], elapsedMs: number): UpgradeView => ({
  ...view,
  operations: view.operations.map((one) => (one.id === id ? { ...one, state, elapsedMs } : one)),
});

const begun = (seconds: number, lastSeq: number): UpgradeView =>
  withOperation(
    upgradeView({
      phase: 'Running',
      message: '',
      approvedBy: 'user/ada',
      startedAt: '2026-11-21T08:01:00.000Z',
      elapsedMs: seconds * 1_000,
      lastSeq,
    }),
    'op-1',
    'done',
    9_000,
  );

/** The story of a rollout, view after view. */
export const STORY = {
  planned: upgradeView(),
  started: withNodes(begun(12, 210), {
    [CONTROL_PLANES[0]]: { phase: 'Draining', waitsFor: 'its pods to be moved away', elapsedMs: 2_000, attempt: 1 },
  }),
  changing: withNodes(begun(40, 220), {
    [CONTROL_PLANES[0]]: {
      phase: 'Changing',
      step: 'kubeadm',
      waitsFor: 'kubeadm upgrade apply v1.35.4',
      elapsedMs: 30_000,
      attempt: 1,
    },
    [CONTROL_PLANES[1]]: { waitsFor: `its turn: ${CONTROL_PLANES[0]} is under way` },
  }),
  workers: withNodes(withOperation({ ...begun(380, 260), nodesDone: 4 }, 'op-5', 'done', 14_000), {
    ...Object.fromEntries(CONTROL_PLANES.map((name) => [name, done(nodeView(name), 84_000)])),
    [WORKERS[0]]: done(nodeView(WORKERS[0]), 61_000),
    [WORKERS[1]]: {
      phase: 'Draining',
      waitsFor:
        "the PodDisruptionBudget shop/web, which keeps shop/web-1: Cannot evict pod as it would violate the pod's disruption budget.",
      elapsedMs: 22_000,
      attempt: 1,
    },
  }),
  halted: withNodes(
    {
      ...begun(900, 300),
      phase: 'Halted',
      message: 'stopped at demo-w-2-c5v7r (E2): change failed: no space left on device',
      nextActions: ['Free space on demo-w-2-c5v7r', 'fairlead upgrade retry demo'],
      nodesDone: 4,
    },
    {
      ...Object.fromEntries(CONTROL_PLANES.map((name) => [name, done(nodeView(name), 84_000)])),
      [WORKERS[0]]: done(nodeView(WORKERS[0]), 61_000),
      [WORKERS[1]]: {
        phase: 'Failed',
        waitsFor: 'a person to decide',
        elapsedMs: 60_000,
        attempt: 3,
        attemptsMax: 3,
        failure: 'change on demo-w-2-c5v7r failed: no space left on device',
      },
    },
  ),
  completed: withNodes(
    { ...begun(700, 400), phase: 'Completed', finishedAt: '2026-11-21T08:12:40.000Z', nodesDone: 8 },
    Object.fromEntries(NODES.map((name) => [name, done(nodeView(name), 80_000)])),
  ),
} as const;

/** An event that says that there is something new to see. */
export const tick = (seq: number): EventView => ({
  seq,
  id: `event-${seq}`,
  type: 'GatePassed',
  time: '2026-11-21T08:02:00.000Z',
  namespace: 'default',
  cluster: 'demo',
  context: 'rollout',
  source: '/upgrade-svc',
  actor: 'system/upgrade-svc',
  correlationId: 'event-1',
  causationId: 'event-1',
  sentence: 'a gate holds',
  data: {},
});

import { ClusterView, MachineView, NodeView, type Fact } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { machineView, nodeView } from '../nodes/nodes.view.js';
import {
  clusterReady,
  CREATE,
  created,
  nodeFact,
  NODES,
  plan,
  prepared,
  ready,
  uid,
  world,
} from '../story.fixtures.js';
import { NOTHING_AROUND } from './clusters.facts.js';
import { clustersProjection } from './clusters.projection.js';
import { inLog } from '../story.fixtures.js';
import { clusterView } from './clusters.view.js';

/** Soon after the last event of a story, which has one event a second. */
const MOMENT = { now: '2026-01-01T00:10:00.000Z', stalledAfterMs: 30 * 60_000 };

const viewAfter = (facts: readonly Fact[], now = MOMENT.now): ClusterView => {
  const { cluster, nodes, operations } = world(facts);
  if (cluster === undefined) throw new Error('there is no cluster');
  return ClusterView.parse(
    clusterView({ cluster, seq: facts.length, nodes, operations, around: NOTHING_AROUND, ...MOMENT, now }),
  );
};

/** Its machine is created, and its node joins, in the place of another one. */
const replacement = (name: string, requestId: string): readonly Fact[] => [
  { type: 'VmsPlanned', data: { uid, machines: [plan(name)], requestId } },
  ...created([name]),
  ...prepared([name]),
  nodeFact('WorkerJoined', name),
  ...ready([name]),
  clusterReady,
  nodeFact('NodeReplacementReady', 'demo-w-2', { requestId, newNode: name }),
];

describe('the view of a cluster', () => {
  it('is what the schema promises at every event of a create', () => {
    for (let length = 1; length <= CREATE.length; length += 1) viewAfter(CREATE.slice(0, length));
  });

  it('is Pending, Provisioning and Provisioned in turn while the cluster is created [CB-Ladybug 1]', () => {
    const phases = CREATE.map((_, at) => viewAfter(CREATE.slice(0, at + 1)).status.phase);
    expect(phases.filter((phase, at) => phase !== phases[at - 1])).toEqual(['Pending', 'Provisioning', 'Provisioned']);
  });

  it('has the fields of CB-Ladybug, and no secret of it [CB-Ladybug 34]', () => {
    const view = viewAfter(CREATE);
    expect(view).toMatchObject({
      name: 'demo',
      kind: 'Cluster',
      status: { phase: 'Provisioned', state: 'Running', reasons: [], reason: '', message: '' },
      mcis: 'demo',
      namespace: 'default',
      k8sVersion: 'v1.34.4',
      cpLeader: 'demo-cp-1',
      networkCni: 'kilo',
      installMonAgent: 'no',
      loadbalancer: 'haproxy',
      etcd: 'local',
      serviceType: 'multi',
      endpoint: 'https://127.0.0.1:9998',
    });
    expect(Object.keys(view)).not.toContain('clusterConfig');
    expect(Object.keys(view.nodes[0]!)).not.toContain('credential');
    expect(view.conditions.map(({ type, status }) => `${type}=${status}`)).toEqual([
      'Accepted=True',
      'InfrastructureReady=True',
      'ControlPlaneReady=True',
      'NetworkReady=True',
      'Ready=True',
      'Available=True',
      'NodesReady=True',
      'MachinesReady=True',
      'MachinesPresent=True',
      'NodesPresent=True',
      'NodesAsDesired=True',
      'Upgrading=False',
      'Progressing=False',
      'Paused=False',
      'Stalled=False',
      'CertificatesValid=True',
      'ConnectionsVerified=True',
      'Quarantined=False',
    ]);
    expect(view.progress).toMatchObject({
      operation: 'create',
      currentStep: null,
      title: 'done',
      nodesReady: 5,
      nodesTotal: 5,
    });
  });

  it('has the version of the oldest of its control planes, which an upgrade changes one by one', () => {
    const upgraded = (node: string): Fact =>
      nodeFact('NodeReady', node, { revision: 2, software: { kubelet: '1.35.4' } });
    const first = [...CREATE, upgraded('demo-cp-1'), upgraded('demo-w-1')];
    expect(viewAfter(first).k8sVersion).toBe('v1.34.4');
    expect(viewAfter([...first, upgraded('demo-cp-2'), upgraded('demo-cp-3')]).k8sVersion).toBe('v1.35.4');
  });

  it('says which node is not Ready, and since when', () => {
    const facts = [...CREATE, nodeFact('NodeLost', 'demo-w-2', { lastSeenAt: null, limitMs: 1 })];
    const condition = viewAfter(facts).conditions.find(({ type }) => type === 'Ready');
    expect(condition).toMatchObject({ status: 'False', reason: 'NodesNotReady', message: 'not Ready: demo-w-2' });
  });

  it.each([
    {
      repaired: 'replaced',
      gone: nodeFact('VmGone', 'demo-w-2', {
        ...{ requestId: 'gone-1', connection: 'lab', providerId: 'lab://demo-w-2', repair: 'replace', reason: '' },
      }),
      sentence: 'demo-w-2: the machine no longer exists at its provider since 20',
      repair: [
        nodeFact('NodeRemoved', 'demo-w-2'),
        { type: 'VmDeleted', data: { uid, name: 'demo-w-2' } } as Fact,
        ...replacement('demo-w-3', 'gone-1'),
      ],
    },
    {
      repaired: 'not replaced, and removed by command',
      gone: nodeFact('VmGone', 'demo-w-2', {
        ...{ requestId: 'gone-1', connection: 'lab', providerId: 'lab://demo-w-2', repair: 'none', reason: 'why' },
      }),
      sentence: 'not repaired automatically: why',
      repair: [
        nodeFact('NodeRemovalRequested', 'demo-w-2'),
        nodeFact('NodeRemoved', 'demo-w-2'),
        { type: 'VmDeleted', data: { uid, name: 'demo-w-2' } } as Fact,
      ],
    },
    {
      repaired: 'listed again',
      gone: {
        type: 'VmsMissing',
        data: { uid, connection: 'lab', nodes: ['demo-w-2'], missing: 3, total: 5 },
      } as unknown as Fact,
      sentence: 'demo-w-2: the provider no longer lists the machine since 20',
      repair: [nodeFact('VmReturned', 'demo-w-2', { providerId: 'lab://demo-w-2' })],
    },
    {
      repaired: 'started',
      gone: nodeFact('VmStopped', 'demo-w-2'),
      sentence: 'demo-w-2: the provider reports that the machine is stopped since 20',
      repair: [nodeFact('VmStarted', 'demo-w-2')],
    },
  ])(
    'names a machine that disappeared or stopped until it is $repaired [Cluster API 17]',
    ({ gone, sentence, repair }) => {
      const present = (facts: readonly Fact[]) =>
        viewAfter(facts).conditions.find(({ type }) => type === 'MachinesPresent');
      expect(present([...CREATE, gone])).toMatchObject({
        status: 'False',
        reason: 'MachinesAway',
        message: expect.stringContaining(sentence),
      });
      expect(viewAfter([...CREATE, gone]).status.state).toBe('Degraded');
      expect(present([...CREATE, gone, ...repair])).toMatchObject({ status: 'True', reason: '', message: '' });
      expect(viewAfter([...CREATE, gone, ...repair]).status.state).toBe('Running');
    },
  );

  it('names a node whose private address changed after it had joined, until it is back or the node is replaced', () => {
    const at = (privateIp: string): Fact =>
      nodeFact('VmAddressChanged', 'demo-w-2', { publicIp: 'x', privateIp, ssh: { host: 'x', port: 22 } });
    const present = (...facts: readonly Fact[]) =>
      viewAfter([...CREATE, ...facts]).conditions.find(({ type }) => type === 'MachinesPresent');
    expect(present(at('10.0.0.9'))).toMatchObject({ status: 'True' });
    expect(present(at('10.0.0.7'))).toMatchObject({
      status: 'False',
      reason: 'MachinesMoved',
      message: expect.stringContaining('demo-w-2: its private address was 10.0.0.9 and is 10.0.0.7; its kubelet keeps'),
    });
    expect(present(at('10.0.0.7'), at('10.0.0.9'))).toMatchObject({ status: 'True' });
    const gone: Fact = { type: 'VmDeleted', data: { uid, name: 'demo-w-2' as never } };
    expect(present(at('10.0.0.7'), gone)).toMatchObject({ status: 'True' });
  });

  it('says of each node that is not well why its pool is not remediated, and says nothing of the others', () => {
    const count = { unhealthy: 1, total: 2, limit: 0 };
    const facts: readonly Fact[] = [
      ...CREATE,
      nodeFact('NodeLost', 'demo-w-2', { lastSeenAt: null, limitMs: 1 }),
      { type: 'RemediationSuspended', data: { uid, pool: 'worker-1', reason: 'TooManyUnhealthy', ...count } },
    ];
    const said = viewAfter(facts).nodes.map(({ name, remediation }) => [name, remediation]);
    expect(Object.fromEntries(said)).toEqual({
      ...Object.fromEntries(NODES.map((name) => [name, undefined])),
      'demo-w-2': '1 unhealthy of 2, limit 0: remediation of pool worker-1 is suspended',
    });
  });

  it('keeps the reason and the cause in one sentence when it has failed, and drops them at the retry', () => {
    const cause = { operation: 'kubeadm init', target: 'demo-cp-1', message: 'the port is taken' };
    const failed: Fact = {
      type: 'ClusterFailed',
      data: { uid, step: 'x', reason: 'InitControlPlaneFailedReason', cause },
    };
    const until = [...CREATE.slice(0, 12), failed];
    expect(viewAfter(until).status).toMatchObject({
      phase: 'Failed',
      reason: 'ControlPlaneInitFailed',
      message: 'kubeadm init on demo-cp-1 failed: the port is taken',
    });
    expect(viewAfter([...until, { type: 'ClusterRetryRequested', data: { uid } }]).status).toMatchObject({
      phase: 'Provisioning',
      reason: '',
      message: '',
    });
  });

  it('is Degraded by roles or labels that Kubernetes did not take, until they are applied or a retry tries them again', () => {
    const cause = { operation: 'apply ClusterRoleBinding', target: 'demo', message: '403: denied by a webhook' };
    const failed = (nextAttemptAt: string | null, step: string, node?: string): Fact => ({
      type: 'BootstrapStepFailed',
      data: { uid, step, cause, attempt: 20, attemptsMax: 20, nextAttemptAt, ...(node && { node: node as never }) },
    });
    const applied = (...facts: readonly Fact[]) =>
      viewAfter([...CREATE, ...facts]).conditions.find(({ type }) => type === 'DeclaredStateApplied');
    const roles = failed(null, 'AuthorizeUsers');
    const labels = failed(null, 'SetNodeLabels', 'demo-w-1');
    expect(applied(failed('2026-01-01T01:00:00.000Z', 'AuthorizeUsers'))).toBeUndefined();
    expect(applied(roles, labels)).toMatchObject({
      status: 'False',
      reason: 'DeclaredStateNotApplied',
      message: expect.stringMatching(
        /^roles of users: .*denied by a webhook.*; labels and taints of demo-w-1: .*cluster retry demo$/,
      ),
    });
    const set = { uid, node: 'demo-w-1' as never, labels: {}, taints: [] };
    expect(applied(roles, labels, { type: 'NodeLabelsSet', data: set })?.message).not.toContain('demo-w-1');
    const authorized: Fact = { type: 'UsersAuthorized', data: { uid, authentication: 1, roleBindings: [] } };
    expect(applied(roles, authorized)).toBeUndefined();
    expect(applied(roles, { type: 'ClusterRetryRequested', data: { uid } })).toBeUndefined();
  });

  it('shows a failed attempt until the creation gets further', () => {
    const cause = { operation: 'ssh', target: 'demo-cp-1', message: 'refused' };
    const attempt: Fact = {
      type: 'BootstrapStepFailed',
      data: { uid, step: 'x', cause, attempt: 2, attemptsMax: 15, nextAttemptAt: '2026-01-01T00:00:09.000Z' },
    };
    const prefix = CREATE.slice(0, 10);
    expect(viewAfter([...prefix, attempt]).status).toMatchObject({
      phase: 'Provisioning',
      reason: '',
      message: 'ssh on demo-cp-1 failed: refused (attempt 2 of 15, next at 2026-01-01T00:00:09.000Z)',
    });
    expect(
      viewAfter([...prefix, attempt, { type: 'NetworkReady', data: { uid, cni: 'kilo', version: '1' } }]).status
        .message,
    ).toBe('');
  });
});

describe('a creation that is stuck', () => {
  const BEFORE = '2026-01-01T00:29:00.000Z';
  const AFTER = '2026-01-01T00:32:00.000Z';
  const cause = { operation: 'ssh', target: 'demo-cp-1', message: 'refused' };
  const attempts: readonly Fact[] = Array.from({ length: 15 }, (_, index) => ({
    type: 'BootstrapStepFailed',
    data: { uid, step: 'x', cause, attempt: index + 1, attemptsMax: 20, nextAttemptAt: BEFORE },
  }));
  const failed: Fact = { type: 'ClusterFailed', data: { uid, step: 'x', reason: 'X', cause } };
  const retry: Fact = { type: 'ClusterRetryRequested', data: { uid } };
  const begun = CREATE.slice(0, 10);
  const stalled = (facts: readonly Fact[], now: string) =>
    viewAfter(facts, now).conditions.find(({ type }) => type === 'Stalled')!;

  it('is Degraded, and Unhealthy for azimuth, with the step, its start and the limit [azimuth 24]', () => {
    const lives = [BEFORE, AFTER].map((now) => {
      const { state, azimuthPhase, reasons } = viewAfter(begun, now).status;
      return [state, azimuthPhase, reasons];
    });
    expect(lives).toEqual([
      ['Provisioning', 'Reconciling', ['InProgress']],
      ['Degraded', 'Unhealthy', ['StepTimedOut']],
    ]);
    const step = viewAfter(begun, AFTER).progress?.steps.find(({ state }) => state === 'running');
    expect(stalled(begun, AFTER)).toMatchObject({
      status: 'True',
      reason: 'StepTimedOut',
      message: expect.stringContaining(
        `the step "${step?.title}" has been in progress since ${step?.startedAt}, longer than 30 min`,
      ),
    });
  });

  it.each([
    ['failed attempts', attempts],
    ['the retry of a creation that has failed', [...attempts, failed, retry]],
    ['several retries', [failed, retry, ...attempts, failed, retry]],
  ])('has the clock that it had before %s [azimuth 24]', (_what, more) =>
    expect(stalled([...begun, ...more], AFTER)).toEqual(stalled(begun, AFTER)),
  );

  it('is not stuck any more when its step ends, without a restart of anything [azimuth 24]', () => {
    // The times of a story are a second apart: every later step has begun by now, or half an hour ago.
    const later = CREATE.slice(0, -1);
    expect(viewAfter(CREATE, AFTER).status.state).toBe('Running');
    const startOf = (facts: readonly Fact[]): string => stalled(facts, AFTER).message.split(' since ')[1] ?? '';
    expect(startOf(later) > startOf(begun)).toBe(true);
  });
});

describe('a cluster that hooks hold', () => {
  const NEXT = { nextAttemptAt: '2026-01-01T01:00:00.000Z' };
  const ofHook = (type: string, data: object): Fact =>
    ({ type, data: { uid, hook: 'traffic', attempt: 1, ...data } }) as unknown as Fact;
  const blocked = ofHook('HookBlocked', { point: 'BeforeNodeDrain', node: 'demo-w-1', message: 'busy', ...NEXT });
  const heldAfter = (...facts: readonly Fact[]): readonly string[] =>
    Object.values(world([...CREATE, ...facts]).cluster?.hooks ?? {}).map(({ point, message }) => `${point} ${message}`);

  it('shows which one, at which moment, since when, why and until when [Cluster API 29]', () => {
    const { conditions } = viewAfter([...CREATE, blocked]);
    expect(conditions.find(({ type }) => type === 'HookBlocked')).toMatchObject({
      status: 'True',
      reason: 'HookAsksForTime',
      message: expect.stringMatching(
        /^paused by hook traffic \(BeforeNodeDrain of demo-w-1\) since 2026-.*: busy \(attempt 1, next at 2026-01-01T01:00:00.000Z\)\./,
      ),
    });
  });

  it.each([
    ['its removal is cancelled', nodeFact('NodeRemovalCancelled', 'demo-w-1')],
    ['its machine is gone', { type: 'VmDeleted', data: { uid, name: 'demo-w-1' } } as Fact],
    ['the cluster is being deleted', { type: 'ClusterDeletionRequested', data: { uid } } as Fact],
  ])('no longer shows a blocked drain when %s', (_when, over) => {
    expect(heldAfter(blocked)).toEqual(['BeforeNodeDrain busy']);
    expect(heldAfter(blocked, over)).toEqual([]);
  });

  it('shows what a request about a node waits for, until it is through on the node [Cluster API 29]', () => {
    const about = { requestId: 'r1', node: 'demo-w-1' };
    const cause = { operation: 'call the hook', target: 'traffic', message: 'no answer' };
    const failed = ofHook('NodeActionHookFailed', { ...about, point: 'BeforeNodeDrain', cause, ...NEXT });
    expect(heldAfter(failed)).toEqual(['BeforeNodeDrain no answer']);
    const ended = nodeFact('NodeActionVoided', 'demo-w-1', { requestId: 'r1', action: 'drain', reason: 'Expired' });
    expect(heldAfter(failed, ended)).toEqual([]);
    const other = nodeFact('NodeActionVoided', 'demo-w-1', { requestId: 'r0', action: 'drain', reason: 'Expired' });
    expect(heldAfter(failed, other)).toEqual(['BeforeNodeDrain no answer']);
    expect(heldAfter(ofHook('NodeActionHookFailed', { ...about, point: 'AfterNodeDrain', cause, ...NEXT }))).toEqual(
      [],
    );
  });

  it('whose machines are gone shows the hook that holds the end of its deletion [Cluster API 29]', () => {
    const deletion: Fact = { type: 'ClusterDeletionRequested', data: { uid } };
    const asked = ofHook('HookBlocked', { point: 'AfterClusterDelete', message: 'busy', ...NEXT });
    expect(heldAfter(deletion, asked)).toEqual(['AfterClusterDelete busy']);
  });
});

describe('the row of a cluster', () => {
  it('does not change with what single nodes do', () => {
    const nodeEvents = CREATE.filter(({ data }) => 'node' in data && !('endpoint' in data));
    expect(nodeEvents.length).toBeGreaterThan(25);
    expect(inLog(nodeEvents).flatMap((event) => clustersProjection.keys(event))).toEqual([]);
  });

  it('is not touched by a word about another incarnation', () => {
    const other = { type: 'ClusterDeleted', data: { uid: '00000000-0000-4000-8000-000000000009' } } as Fact;
    expect(viewAfter([...CREATE, other]).status.phase).toBe('Provisioned');
  });
});

describe('the nodes of a cluster', () => {
  it('go through their phases', () => {
    const phases = CREATE.map((_, index) =>
      world(CREATE.slice(0, index + 1)).nodes.find(({ name }) => name === 'demo-w-1'),
    )
      .filter((doc) => doc !== undefined)
      .map((doc) => nodeView(doc).phase);
    expect([...new Set(phases)]).toEqual(['Planned', 'Bootstrapping', 'Joining', 'Ready']);
  });

  it('are recorded with role, size, addresses, pool, creation and the kubelet that was observed, until their machine is gone [azimuth 21]', () => {
    const upgraded = nodeFact('NodeReady', 'demo-w-1', { revision: 2, software: { kubelet: '1.35.4' } });
    const { nodes } = world([...CREATE, upgraded]);
    const views = nodes.map((doc) => nodeView(doc));
    expect(views.find(({ name }) => name === 'demo-w-1')).toMatchObject({
      role: 'worker',
      phase: 'Ready',
      spec: 'lab.small',
      publicIp: '127.0.0.9',
      privateIp: '10.0.0.9',
      addresses: [
        { type: 'InternalIP', address: '10.0.0.9' },
        { type: 'ExternalIP', address: '127.0.0.9' },
      ],
      pool: 'worker-1',
      createdTime: expect.stringMatching(/^20\d\d-/),
      software: { kubelet: '1.35.4' },
    });
    const gone: Fact = { type: 'VmDeleted', data: { uid, name: 'demo-w-1' as never } };
    expect(world([...CREATE, gone]).nodes.map(({ name }) => name)).toEqual(NODES.filter((name) => name !== 'demo-w-1'));
  });

  it('have the addresses of all interfaces of their host, each once, until they report others [azimuth 21]', () => {
    const reported = (...addresses: readonly string[]): Fact =>
      nodeFact('NodeAddressesReported', 'demo-w-1', { addresses });
    const addressesOf = (...facts: readonly Fact[]) =>
      world([...CREATE, ...facts])
        .nodes.filter(({ name }) => name === 'demo-w-1')
        .flatMap((doc) => nodeView(doc, { virtualAddresses: [{ name: 'vip', address: '198.18.7.5' }] }).addresses)
        .map(({ type, address }) => `${type} ${address}`);
    const own = ['InternalIP 10.0.0.9', 'ExternalIP 127.0.0.9'];
    expect(addressesOf()).toEqual(own);
    const all = reported('10.0.0.9', '127.0.0.9', '198.18.7.5', '203.0.113.9', '2001:db8::9');
    expect(addressesOf(all)).toEqual([own[0], 'InternalIP 203.0.113.9', 'InternalIP 2001:db8::9', own[1]]);
    expect(addressesOf(all, reported('10.0.0.9'))).toEqual(own);
  });

  it('have the virtual addresses that they hold among their addresses, until they leave [azimuth 21]', () => {
    const reported = (held: boolean): Fact =>
      nodeFact('VirtualAddressesProbed', 'demo-w-1', { addresses: [{ name: 'ingress', held, transports: [] }] });
    const leaving = nodeFact('NodeRemovalRequested', 'demo-w-1', { requestId: 'r1' });
    const virtualAddresses = [{ name: 'ingress', address: '198.18.7.5' }];
    const virtualOf = (...facts: readonly Fact[]): readonly string[] =>
      world([...CREATE, ...facts]).nodes.flatMap((doc) =>
        nodeView(doc, { virtualAddresses })
          .addresses.filter(({ type }) => type === 'VirtualIP')
          .map(({ address }) => `${doc.name} ${address}`),
      );
    expect(virtualOf(reported(true))).toEqual(['demo-w-1 198.18.7.5']);
    expect([virtualOf(), virtualOf(reported(false)), virtualOf(reported(true), leaving)]).toEqual([[], [], []]);
    expect(world(CREATE).nodes.map((doc) => nodeView({ ...doc, machine: null }).addresses)).toEqual(
      NODES.map(() => []),
    );
  });

  it('and their machines are what the schemas promise', () => {
    const { nodes } = world(CREATE);
    expect(nodes.map((doc) => NodeView.parse(nodeView(doc)).name)).toEqual(NODES);
    expect(nodes.map((doc) => MachineView.parse(machineView(doc)).status)).toEqual(NODES.map(() => 'running'));
  });
});

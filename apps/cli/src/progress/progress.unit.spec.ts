import { describe, expect, it } from '@jest/globals';
import pc from 'picocolors';
import { goldenBeside } from '../spec/golden.fixtures.js';
import type { EventView } from '../api/api.ports.js';
import { AT, BEGIN_MS, CONTROL_PLANES, LEADER, SECOND, Story, WORKERS } from './progress.fixtures.js';
import { linesBetween } from './progress.lines.js';
import { currentOperation, noProgress, type Progress } from './progress.js';
import { project } from './progress.projection.js';
import { treeOf } from './progress.tree.js';
import { linesOfTree } from './tree.text.js';

const golden = goldenBeside(import.meta.url);

const told = (events: readonly EventView[]): Progress => events.reduce(project, noProgress(AT));

const tree = (
  events: readonly EventView[],
  { all = false, columns = 100, seconds = undefined as number | undefined } = {},
): string => {
  const progress = told(events);
  const nowMs = seconds === undefined ? progress.lastTimeMs : BEGIN_MS + seconds * 1_000;
  return `${linesOfTree(treeOf(progress, { nowMs, all }), { columns, colors: pc.createColors(false) }).join('\n')}\n`;
};

const log = (events: readonly EventView[]): string => {
  let progress = noProgress(AT);
  return events
    .flatMap((event) => {
      const before = progress;
      progress = project(progress, event);
      return linesBetween(before, progress);
    })
    .map((line) => `${line}\n`)
    .join('');
};

/** The story up to and including the first event of that type. */
const until = ({ events }: Story, type: string, count = 1): readonly EventView[] => {
  const positions = events.flatMap((event, index) => (event.type === type ? [index] : []));
  return events.slice(0, (positions[count - 1] ?? events.length) + 1);
};

describe('the creation of a cluster', () => {
  const story = new Story().created();

  it.each([
    ['create-1-requested.txt', 'ClusterRequested', 1],
    ['create-2-machines.txt', 'VmCreated', 2],
    ['create-3-hosts.txt', 'AgentStarted', 3],
    ['create-4-initialised.txt', 'ControlPlaneInitialized', 1],
    ['create-5-joining.txt', 'ControlPlaneJoined', 1],
    ['create-6-workers.txt', 'WorkerJoined', 1],
    ['create-7-ready.txt', 'ClusterReady', 1],
  ])('is drawn as %s', (file, type, count) => golden(file, tree(until(story, type, count))));

  it('is drawn with every step and every node on request', () =>
    golden('create-all.txt', tree(story.events, { all: true })));

  it('is told line by line where nothing can be redrawn', () => golden('create-lines.txt', log(story.events)));

  it('counts the time of what runs up to now, and of what is done up to its end', () => {
    expect(tree(until(story, 'VmsCreated'), { seconds: 60 })).toMatch(/creating, v1.34.4 +1m00s/);
    expect(tree(story.events, { seconds: 3_600 })).toMatch(/^✔ default\/demo {2}Ready, v1.34.4, took 14s\n/);
  });

  it('is the same however often an event is heard', () => {
    const stuttered = story.events.flatMap((event) => [event, event]);
    expect(told(stuttered)).toEqual(told(story.events));
  });

  it('never shows a line that a terminal would wrap', () => {
    for (const line of tree(story.events, { all: true, columns: 40 }).split('\n'))
      expect(line.length).toBeLessThanOrEqual(40);
  });
});

describe('a step that fails', () => {
  const trouble = (): Story =>
    new Story()
      .requested(0)
      .machines(0.2)
      .hosts(3.5)
      .failing(20, 'BootstrapStepFailed', { step: 'InitControlPlane', node: LEADER, nextInSeconds: 4 });

  it('is open, with its attempt and when the next one comes', () =>
    golden('trouble-retrying.txt', tree(trouble().events, { seconds: 21 })));

  it('is closed by the success that follows', () => {
    expect(tree(trouble().controlPlane(25).events)).not.toContain('timed out');
  });

  it('fails the cluster after the last attempt, in the words of the world', () => {
    const failed = trouble().at(90, 'ClusterFailed', {
      step: 'InitControlPlane',
      node: LEADER,
      reason: 'InitControlPlaneFailedReason',
      cause: { operation: 'kubeadm init', target: LEADER, message: 'timed out waiting for the condition' },
    });
    golden('trouble-failed.txt', tree(failed.events));
    golden('trouble-lines.txt', log(failed.events));
  });

  it('runs again after a retry, as part of the same creation', () => {
    const retried = trouble()
      .at(90, 'ClusterFailed', {
        step: 'InitControlPlane',
        node: LEADER,
        reason: 'InitControlPlaneFailedReason',
        cause: {},
      })
      .at(100, 'ClusterRetryRequested');
    const operation = currentOperation(told(retried.events));
    expect(operation).toMatchObject({
      kind: 'create',
      state: { status: 'running' },
      retries: 1,
      wishSeq: retried.events.at(-1)?.seq,
    });
    expect(tree(retried.events)).toContain('creating (retry 1)');
  });

  it('is found by the step that runs when it is about several of ours', () => {
    const story = new Story().requested(0).machines(0.2);
    story.failing(5, 'BootstrapStepFailed', { step: 'BootstrapHost', node: SECOND, nextInSeconds: 2 });
    expect(tree(story.events)).toMatch(/▲ Reach over SSH {2}0 of 5.*\n.*▲ kubeadm init on/);
  });

  it('is one failure when infra-svc and then bootstrap-svc say so', () => {
    const cause = { operation: 'create machines', target: 'lab', message: 'quota exceeded' };
    const story = new Story()
      .requested(0)
      .at(0.2, 'ClusterAccepted')
      .at(0.5, 'VmsPlanned', { machines: [{ name: LEADER, role: 'control-plane' }] })
      .at(1, 'InfrastructureFailed', { step: 'create machines', reason: 'CreateMCISFailedReason', cause })
      .at(1.1, 'ClusterFailed', { step: 'create machines', reason: 'CreateMCISFailedReason', cause });
    const failedSteps = currentOperation(told(story.events))?.phases.flatMap(({ steps }) =>
      steps.filter(({ state }) => state.status === 'failed'),
    );
    expect(failedSteps?.map(({ plan }) => plan.id)).toEqual(['machines']);
  });
});

it('shows a request that a check against the world refused, and that nothing was made', () => {
  const story = new Story().requested(0).at(0.3, 'ClusterRejected', {
    code: 'cluster.spec-unknown',
    message: "Could not be found a spec 'lab.huge'. (connection=lab, csp=lab)",
  });
  golden('rejected.txt', tree(story.events));
});

describe('nodes', () => {
  const lost = new Story().created().at(100, 'NodeLost', { node: WORKERS[1] }).at(110, 'NodeNotReady', {
    node: WORKERS[1],
    reason: 'KubernetesNotReady',
    message: 'Kubelet stopped posting node status.',
  });

  it('are one line while they are equal, and each its own with a problem', () =>
    golden('node-lost.txt', tree(lost.events)));

  it('are told when they are lost and when they return', () => {
    const back = new Story()
      .created()
      .at(100, 'NodeLost', { node: WORKERS[1] })
      .at(130, 'NodeRecovered', { node: WORKERS[1] });
    expect(log(back.events).split('\n').slice(-3)).toEqual([
      '  1m40s  demo  demo-w-2-c5v7r: no heartbeat any more',
      '  2m10s  demo  demo-w-2-c5v7r: sends heartbeats again',
      '',
    ]);
  });

  it('that are added have an operation of their own, which a refusal ends', () => {
    const wanted = new Story().created().at(50, 'NodesRequested', { requestId: 'r1', workers: [{ count: 1 }] });
    expect(tree(wanted.events)).toMatch(/^● default\/demo {2}adding nodes/);
    wanted.at(51, 'NodesRejected', { requestId: 'r1', code: 'cluster.spec-unknown', message: 'No such spec' });
    expect(currentOperation(told(wanted.events))?.state).toMatchObject({
      status: 'failed',
      failure: { rejected: true },
    });
  });

  const cause = { operation: 'kubeadm join', target: 'demo-w-3-k8j2h', message: 'no such host' };
  const growing = () =>
    new Story()
      .created()
      .at(50, 'NodesRequested', { requestId: 'r1', workers: [{ count: 1 }] })
      .at(51, 'VmsPlanned', { machines: [{ name: 'demo-w-3-k8j2h', role: 'worker' }], requestId: 'r1' });
  const stateOf = (story: Story) => currentOperation(told(story.events))?.state;

  it.each(['VmsFailed', 'NodesFailed'])(
    'that could not be added end their operation, and a retry takes it up only when they are kept (%s)',
    (type) => {
      const failed = (onFailure: string) => growing().at(60, type, { requestId: 'r1', onFailure, reason: 'R', cause });
      expect(stateOf(failed('rollback'))).toMatchObject({
        status: 'failed',
        failure: { message: 'kubeadm join on demo-w-3-k8j2h failed: no such host', final: true },
      });
      expect(stateOf(failed('rollback').at(70, 'ClusterRetryRequested'))?.status).toBe('failed');
      expect(stateOf(failed('keep').at(70, 'ClusterRetryRequested'))?.status).toBe('running');
    },
  );

  it('that are given up while they come end their operation', () =>
    expect(stateOf(growing().at(60, 'NodesAbandoned', { requestId: 'r1', nodes: [] }))?.status).toBe('failed'));

  it('show why their machine is not deleted, and when the next attempt is', () => {
    const [node] = WORKERS;
    const story = new Story()
      .created()
      .at(50, 'NodeRemovalRequested', { node })
      .at(51, 'NodeDrained', { node })
      .at(52, 'NodeRemoved', { node })
      .at(53, 'VmDeletionFailed', {
        machines: [node],
        cause: { operation: 'delete machine', target: 'lab', message: 'termination protection' },
        attempt: 1,
        nextAttemptAt: '2026-01-01T00:10:00.000Z',
      });
    expect(tree(story.events)).toContain('delete machine on lab failed: termination protection');
    expect(stateOf(story)?.status).toBe('running');
  });

  it('that cannot leave end their removal, which a retry takes up', () => {
    const [node] = WORKERS;
    const stuck = new Story()
      .created()
      .at(50, 'NodeRemovalRequested', { node })
      .failing(51, 'BootstrapStepFailed', { step: 'RemoveNode', node });
    expect(stateOf(stuck)?.status).toBe('failed');
    expect(stateOf(stuck.at(60, 'ClusterRetryRequested'))?.status).toBe('running');
  });

  it('that are added become Ready like the others', () => {
    const node = 'demo-w-3-k8j2h';
    const added = new Story()
      .created()
      .at(50, 'NodesRequested', { requestId: 'r1', workers: [{ count: 1 }] })
      .at(51, 'VmsPlanned', { machines: [{ name: node, role: 'worker' }], requestId: 'r1' })
      .at(53, 'VmCreated', { machine: { name: node } })
      .at(53.1, 'VmsCreated');
    for (const type of [
      'HostReached',
      'AgentStarted',
      'NodeInitialized',
      'NodeBootstrapped',
      'WorkerJoined',
      'NodeReady',
    ])
      added.at(54, type, { node });
    added.at(56, 'ClusterReady');
    golden('node-added.txt', tree(added.events, { all: true }));
  });

  it('that are removed together are one operation, done with the last machine', () => {
    const removed = new Story()
      .created()
      .at(50, 'NodeRemovalRequested', { node: WORKERS[0] })
      .at(51, 'NodeRemovalRequested', { node: WORKERS[1] });
    const operations = told(removed.events).operations;
    expect(operations.map(({ kind }) => kind)).toEqual(['create', 'remove-nodes']);
    removed.each(52, 'NodeDrained', WORKERS).each(53, 'NodeRemoved', WORKERS).at(54, 'VmDeleted', { name: WORKERS[0] });
    expect(currentOperation(told(removed.events))?.state.status).toBe('running');
    removed.at(55, 'VmDeleted', { name: WORKERS[1] });
    expect(currentOperation(told(removed.events))?.state.status).toBe('done');
    expect(told(removed.events).nodes.map(({ name }) => name)).toEqual(CONTROL_PLANES);
  });
});

describe('the end of a cluster', () => {
  const deleted = new Story()
    .created()
    .at(60, 'ClusterDeletionRequested')
    .at(61, 'ClusterDismantled')
    .at(62, 'LoadBalancerDeleted');
  for (const name of [...CONTROL_PLANES, ...WORKERS]) deleted.at(63, 'VmDeleted', { name });
  deleted.at(64, 'ClusterDeleted');

  it('leaves nothing but a line', () => golden('deleted.txt', tree(deleted.events)));

  it('gives the name free: facts of the earlier incarnation change nothing in the next', () => {
    const next = new Story('00000000-0000-4000-8000-000000000002');
    next.events.push(...deleted.events);
    next.requested(70).at(71, 'NodeReady', { uid: deleted.events[0]?.data['uid'], node: LEADER });
    const progress = told(next.events);
    expect(progress.operations.map(({ kind }) => kind)).toEqual(['create']);
    expect(progress.nodes).toEqual([]);
  });
});

it('passes over events that it does not know, for a newer server may state more', () => {
  const story = new Story().created();
  const known = told(story.events);
  expect(told(story.at(20, 'SomethingNew', { node: LEADER }).events)).toEqual({
    ...known,
    lastSeq: known.lastSeq + 1,
    lastTimeMs: BEGIN_MS + 20_000,
  });
});

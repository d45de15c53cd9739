import {
  NEXT_ACTIONS,
  UPGRADE_FINDINGS,
  type Fact,
  type PlanOperation,
  type UpgradeNodeView,
  type UpgradeView,
} from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { CREATE, inLog, nodeFact, rowsOf, world } from '../story.fixtures.js';
import {
  operationFailed,
  upgradeFact,
  upgradeId,
  upgradePlan,
  upgradePlanned,
  upgradeRequested,
} from './upgrades.fixtures.js';
import { upgradeNodesProjection } from './upgrade.nodes.projection.js';
import { upgradesProjection } from './upgrades.projection.js';
import { upgradeView } from './upgrades.view.js';

/** The upgrade after the facts, as seen `laterMs` after the last one. */
const viewAfter = (facts: readonly Fact[], laterMs = 0): UpgradeView => {
  const history = inLog([...CREATE, ...facts]);
  const [upgrade] = rowsOf(upgradesProjection, history);
  if (upgrade === undefined) throw new Error('the story has no upgrade');
  const last = history.at(-1)?.meta ?? { time: '', seq: 0 };
  return upgradeView(
    { upgrade, nodes: rowsOf(upgradeNodesProjection, history), seq: last.seq },
    Date.parse(last.time) + laterMs,
  );
};

const nodeAfter = (name: string, facts: readonly Fact[], laterMs = 0): UpgradeNodeView => {
  const node = viewAfter(facts, laterMs).nodes.find((one) => one.name === name);
  if (node === undefined) throw new Error(`${name} is no part of the upgrade`);
  return node;
};

const at = { operation: 'op-5', node: 'demo-w-1' };
const planned = [upgradeRequested(), upgradePlanned()];
const begun = [...planned, upgradeFact('UpgradeApproved', {}), upgradeFact('RolloutStarted', {})];
const started = [...begun, upgradeFact('OperationStarted', at)];
const emptied: readonly Fact[] = [
  ...started,
  upgradeFact('UpgradeAllowed', at),
  upgradeFact('NodeCordoned', { ...at, byPlan: true }),
  upgradeFact('EvictionRefused', {
    ...at,
    budget: 'shop/web',
    pods: ['shop/web-1', 'shop/web-2', 'shop/web-3', 'shop/web-4'],
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
  }),
  upgradeFact('NodeEmptied', { ...at, evictedPods: 4, forcedPods: 0, tookMs: 1 }),
];
const progress = (data: Readonly<Record<string, unknown>>): Fact =>
  nodeFact('NodeChangeProgressed', 'demo-w-1', {
    revision: 2,
    change: 'c',
    phase: 'kubeadm',
    status: 'started',
    attempt: 1,
    tookMs: null,
    command: 'kubeadm upgrade node',
    message: null,
    ...data,
  });
const changed: readonly Fact[] = [
  ...emptied,
  nodeFact('NodeNotReady', 'demo-w-1', { revision: 2, reason: 'SoftwareChange', message: 'x' }),
  progress({}),
  progress({ status: 'done', tookMs: 9 }),
  nodeFact('NodeInitialized', 'demo-w-1', { revision: 2, software: {} }),
  nodeFact('NodeReady', 'demo-w-1', { revision: 2, software: {} }),
];
const done: readonly Fact[] = [
  ...changed,
  upgradeFact('GateFailed', {
    ...at,
    stage: 'after',
    gate: 'daemonsets',
    rule: 'D4',
    facts: {},
    message: 'kilo is not Ready',
  }),
  upgradeFact('GatePassed', { ...at, stage: 'after', gate: 'daemonsets', rule: 'D4', facts: {}, waitedMs: 5 }),
  upgradeFact('NodeUncordoned', at),
  upgradeFact('UpgradeWithdrawn', { ...at, leftFailed: false }),
  upgradeFact('OperationCompleted', { ...at, tookMs: 9 }),
];
/** How it stands after each of the facts: the phase of the worker, and what it waits for. */
const narrated = (facts: readonly Fact[], from: readonly Fact[]): readonly string[] =>
  facts.slice(from.length).map((_, index) => {
    const { phase, waitsFor } = nodeAfter('demo-w-1', facts.slice(0, from.length + index + 1));
    return `${phase}: ${waitsFor}`;
  });

describe('a node in an upgrade', () => {
  it('shows in one sentence what it waits for, from its turn to its end', () =>
    expect(narrated(done, planned)).toEqual([
      'Waiting: the rollout to begin',
      'Waiting: its turn',
      'Preparing: the gates before its change',
      'Preparing: Kubernetes to cordon it',
      'Draining: its pods to be moved away',
      "Draining: the PodDisruptionBudget shop/web, which keeps shop/web-1, shop/web-2, shop/web-3 and 1 more: Cannot evict pod as it would violate the pod's disruption budget.",
      'Changing: its agent to begin',
      'Changing: its agent to change it',
      'Changing: kubeadm upgrade node',
      'Changing: the step after kubeadm',
      'Changing: Kubernetes to call it Ready with what it has now',
      'Verifying: its gates',
      'Verifying: daemonsets: kilo is not Ready',
      'Verifying: its remaining gates',
      'Verifying: its permission to be withdrawn',
      'Verifying: ',
      'Done: ',
    ]));

  it('names the step that its agent is at, and each attempt', () => {
    expect(nodeAfter('demo-w-1', [...emptied, progress({ phase: 'reboot', command: null })]).step).toBe('reboot');
    const again = [...emptied, progress({ status: 'failed', message: 'no space left' }), progress({ attempt: 2 })];
    expect(nodeAfter('demo-w-1', again.slice(0, -1)).waitsFor).toBe(
      'another attempt: kubeadm upgrade node failed: no space left',
    );
    expect(nodeAfter('demo-w-1', again).waitsFor).toBe('kubeadm upgrade node (attempt 2)');
  });

  it('waits for those before it', () =>
    expect(nodeAfter('demo-w-2', started).waitsFor).toBe('its turn: demo-w-1 is under way'));

  it('has its real time beside the predicted one', () => {
    expect(nodeAfter('demo-w-1', started, 7_000)).toMatchObject({
      elapsedMs: 7_000,
      predictedMs: 90_000,
      finishedAt: null,
    });
    const { elapsedMs, finishedAt } = nodeAfter('demo-w-1', done, 60_000);
    expect([elapsedMs, finishedAt]).toEqual([(done.length - started.length) * 1_000, expect.any(String)]);
  });

  it('that failed has its error, its attempt and the time of the next one [ORBITER 18]', () => {
    const next = '2026-01-01T00:10:00.000Z';
    expect(nodeAfter('demo-w-1', [...started, operationFailed('op-5', 'demo-w-1', next)])).toMatchObject({
      phase: 'Preparing',
      waitsFor: `the next attempt at ${next}`,
      attempt: 1,
      attemptsMax: 3,
      nextAttemptAt: next,
      failure: 'kubeadm upgrade node on demo-w-1 failed: no space left on device',
    });
    expect(nodeAfter('demo-w-1', [...started, operationFailed('op-5', 'demo-w-1')])).toMatchObject({
      phase: 'Failed',
      waitsFor: 'a person to decide',
    });
  });

  it('that failed waits for no decision once the upgrade has ended, and for a repair if it is left cordoned', () => {
    const ended = (leftFailed: readonly string[]) =>
      nodeAfter('demo-w-1', [
        ...started,
        operationFailed('op-5', 'demo-w-1'),
        upgradeFact('RolloutAborted', { leftFailed: leftFailed as never }),
      ]);
    expect(ended([])).toMatchObject({ phase: 'Failed', waitsFor: '' });
    expect(ended(['demo-w-1'])).toMatchObject({ waitsFor: 'a repair: it stays cordoned' });
  });

  it('is left out by its user, or because its pods could not be moved', () => {
    expect(
      nodeAfter('demo-w-1', [...begun, upgradeFact('NodeSkipped', { node: 'demo-w-1', reason: 'later' })]),
    ).toMatchObject({
      phase: 'Skipped',
      waitsFor: 'later',
    });
    const quarantined = upgradeFact('NodeQuarantined', { node: 'demo-w-1', pods: ['shop/web-1'] });
    expect(nodeAfter('demo-w-1', [...emptied, quarantined]).phase).toBe('Quarantined');
    const held = upgradePlanned('ask', upgradePlan({ held: ['demo-w-9'] as never }));
    expect(nodeAfter('demo-w-9', [upgradeRequested(), held])).toMatchObject({ phase: 'Held' });
  });

  it('ignores what its agent reports outside of its permission', () => {
    const later = [
      ...done,
      nodeFact('NodeNotReady', 'demo-w-1', { revision: 2, reason: 'KubernetesNotReady', message: 'x' }),
    ];
    expect(nodeAfter('demo-w-1', later).phase).toBe('Done');
  });
});

describe('an upgrade', () => {
  const phases = (facts: readonly Fact[]): readonly string[] =>
    facts.map((_, index) => {
      const { phase, message } = viewAfter(facts.slice(0, index + 1));
      return message === '' ? phase : `${phase}: ${message}`;
    });

  it('goes from its request to its end', () =>
    expect(
      phases([
        ...begun,
        upgradeFact('UpgradePauseRequested', { reason: 'lunch' }),
        upgradeFact('RolloutPaused', { by: 'user', reason: 'lunch' }),
        upgradeFact('UpgradeResumeRequested'),
        upgradeFact('RolloutResumed'),
        upgradeFact('RolloutHalted', {
          rule: 'E2',
          cause: { operation: 'change', target: 'demo-w-1', message: 'no' },
          nodes: ['demo-w-1'],
          nextActions: ['fairlead upgrade retry demo'],
        }),
        upgradeFact('UpgradeRetryRequested'),
        upgradeFact('RolloutResumed'),
        upgradeFact('RolloutCompleted', { quarantined: [] }),
      ]),
    ).toEqual([
      'Planning: its rules are being checked',
      'Planned: the plan waits for its approval',
      'Approved: it is about to begin',
      'Running',
      'Running: no further node begins: lunch',
      'Paused: lunch (user)',
      'Paused: it is about to go on',
      'Running',
      'Halted: stopped at demo-w-1 (E2): change failed: no',
      'Halted: it is about to go on',
      'Running',
      'Completed',
    ]));

  it('that is paused without a reason says so, and by whom', () =>
    expect(
      phases([
        ...begun,
        upgradeFact('UpgradePauseRequested', { reason: '' }),
        upgradeFact('RolloutPaused', { by: 'user', reason: '' }),
      ]).slice(-2),
    ).toEqual(['Running: no further node begins', 'Paused: no reason given (user)']));

  it('that has halted or was rejected names its cluster in every command that it recommends', () => {
    const halted = viewAfter([
      ...begun,
      upgradeFact('RolloutHalted', {
        rule: 'E2',
        cause: { operation: 'change', target: 'demo-w-1', message: 'no' },
        nodes: ['demo-w-1'],
        nextActions: Object.values(NEXT_ACTIONS),
      }),
    ]);
    expect(halted.nextActions[0]).toBe('fix the cause, and retry: "fairlead upgrade retry demo"');
    const { help } = UPGRADE_FINDINGS['B4.none'];
    const finding = { rule: 'B4', severity: 'refuse' as const, facts: {}, sentence: 'no snapshot', help };
    const rejected = viewAfter([upgradeRequested(), upgradeFact('UpgradeRejected', { findings: [finding] })]);
    expect(rejected.findings).toMatchObject([{ help: 'Take one: "fairlead etcd snapshot demo --wait".' }]);
    expect(JSON.stringify([halted, rejected])).not.toContain('<cluster>');
  });

  it('that is paused before its start waits for the hook that holds it once it is resumed, and does not run', () => {
    const ofHook = { hook: 'board', point: 'BeforeUpgrade', attempt: 1 };
    const again = { nextAttemptAt: '2026-01-01T00:05:00.000Z' };
    const held = 'the hook board (BeforeUpgrade) holds it: at noon; next attempt at 2026-01-01T00:05:00.000Z';
    const facts = [
      ...planned,
      upgradeFact('UpgradeApproved', {}),
      upgradeFact('UpgradeHookBlocked', { ...ofHook, message: 'at noon', ...again }),
      upgradeFact('UpgradePauseRequested', { reason: 'lunch' }),
      upgradeFact('RolloutPaused', { by: 'user', reason: 'lunch' }),
      upgradeFact('UpgradeResumeRequested'),
      upgradeFact('RolloutResumed'),
      upgradeFact('UpgradeHookSucceeded', { ...ofHook, attempt: 2, message: '' }),
      upgradeFact('RolloutStarted', {}),
    ];
    expect(phases(facts).slice(3)).toEqual([
      `Approved: ${held}`,
      'Approved: no further node begins: lunch',
      'Paused: lunch (user)',
      'Paused: it is about to go on',
      `Approved: ${held}`,
      'Approved: it is about to begin',
      'Running',
    ]);
  });

  it('that a probe has paused says how it goes on and how it ends, also when its window closes meanwhile', () => {
    const { strategy } = upgradeRequested().data;
    const windows = [{ days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as never, from: '00:00', to: '00:01' }];
    const pausedBy = (by: string, own: typeof windows): UpgradeView =>
      viewAfter(
        [
          upgradeRequested({ strategy: { ...strategy, windows: own } }),
          ...begun.slice(1),
          upgradeFact('RolloutPaused', { by, reason: 'shop does not answer' }),
        ],
        10 * 60_000,
      );
    const end = 'end it here, so that the cluster may be changed otherwise: "fairlead upgrade abort demo"';
    expect(pausedBy('probe', [])).toMatchObject({
      message: 'shop does not answer (probe)',
      nextActions: ['let it go on: "fairlead upgrade resume demo"', end],
    });
    const closed = pausedBy('probe', windows);
    expect(closed.message).toMatch(
      /^shop does not answer \(probe\); its window is closed until \d{4}-.*T00:00:00\.000Z$/,
    );
    expect(closed.nextActions).toEqual([
      expect.stringMatching(/^let it go on when its window opens at .*: "fairlead upgrade resume demo"$/),
      end,
    ]);
    expect(pausedBy('window', windows)).toMatchObject({ nextActions: ['wait: it goes on by itself', end] });
  });

  it('that is ended between its two steps says which control planes still behave as the version before, and what ends that', () => {
    const plan = upgradePlan();
    const step = (id: string, emulatedVersion: string | null): PlanOperation => ({
      ...(plan.operations[1] as PlanOperation),
      id,
      change: {
        ...{ id: `u/${id}`, kubeadm: 'apply', kubernetes: 'v1.35.4' as never, emulatedVersion, balancedEndpoint: null },
        ...{ renewCertificates: false, reboot: false, stopApiServerFirst: false },
      },
    });
    const { node } = step('op-1', null);
    const twoSteps = upgradePlanned('ask', { ...plan, operations: [step('op-1', '1.34'), step('op-2', null)] });
    const isDone = (operation: string): readonly Fact[] => [
      upgradeFact('OperationStarted', { operation, node, run: 1 }),
      upgradeFact('OperationCompleted', { operation, node }),
    ];
    const actions = (facts: readonly Fact[]): readonly string[] =>
      viewAfter([upgradeRequested(), twoSteps, upgradeFact('UpgradeApproved'), upgradeFact('RolloutStarted'), ...facts])
        .nextActions;
    const aborted = upgradeFact('RolloutAborted', { leftFailed: [] });
    expect(actions([...isDone('op-1'), aborted])).toEqual([
      `end what was begun: until then ${String(node)} behave as 1.34: "fairlead upgrade start demo --to v1.35.4"`,
    ]);
    expect(actions(isDone('op-1'))).toEqual([]);
    expect(actions([...isDone('op-1'), ...isDone('op-2'), aborted])).toEqual([]);
  });

  it('that is aborted ends, whatever comes in between', () =>
    expect(
      phases([
        ...begun,
        upgradeFact('UpgradeAbortRequested', { reason: 'wrong version' }),
        upgradeFact('RolloutPaused', { by: 'probe', reason: 'api' }),
        upgradeFact('RolloutAborted', { leftFailed: ['demo-w-1'] }),
      ]).slice(begun.length),
    ).toEqual([
      'Aborting: nodes in progress are finished, and those that failed are let go: wrong version',
      'Aborting: nodes in progress are finished, and those that failed are let go: wrong version',
      'Aborted: aborted by user/spec: wrong version; not Ready and still cordoned: demo-w-1',
    ]));

  it('that breaks a rule is rejected with everything that its author needs to know', () => {
    const finding = {
      rule: 'A1',
      severity: 'refuse' as const,
      sentence: 'It skips v1.35',
      facts: {},
      help: 'Go to v1.35 first.',
    };
    const view = viewAfter([upgradeRequested(), upgradeFact('UpgradeRejected', { findings: [finding] })]);
    expect(view).toMatchObject({ phase: 'Rejected', message: 'It skips v1.35', findings: [finding], plan: null });
  });

  it('shows each operation of its plan, those of no node too, and counts its nodes', () => {
    const view = viewAfter([
      ...begun,
      upgradeFact('OperationStarted', { operation: 'op-1', node: null }),
      upgradeFact('OperationCompleted', { operation: 'op-1', node: null, tookMs: 1 }),
      ...done.slice(begun.length),
    ]);
    expect(view.operations.map(({ id, state }) => `${id} ${state}`)).toEqual([
      'op-1 done',
      'op-2 waiting',
      'op-3 waiting',
      'op-4 waiting',
      'op-5 done',
      'op-6 waiting',
    ]);
    expect([view.nodesDone, view.nodesTotal, view.predictedMs]).toEqual([1, 5, 460_000]);
  });

  it('shows a gate that holds a node back', () => {
    const gate = { operation: 'op-2', stage: 'before', gate: 'etcd-healthy', rule: 'B3', node: null, facts: {} };
    const closed = [...begun, upgradeFact('GateFailed', { ...gate, message: 'demo-cp-2 is learning' })];
    expect(nodeAfter('demo-cp-1', closed).waitsFor).toBe('the gate etcd-healthy: demo-cp-2 is learning');
    expect(nodeAfter('demo-cp-1', [...closed, upgradeFact('GatePassed', { ...gate, waitedMs: 1 })]).waitsFor).toBe(
      'its turn',
    );
  });

  it('waits for a surge machine, and says so of itself and of the nodes that wait with it', () => {
    const plan = upgradePlan({
      pools: [{ name: 'worker-1', nodes: 2, atOnce: 1, surge: 1 }],
      operations: upgradePlan().operations.map((operation) =>
        operation.id === 'op-1' ? { ...operation, kind: 'book-surge', pool: 'worker-1' } : operation,
      ),
    });
    const booking: readonly Fact[] = [
      upgradeRequested(),
      upgradePlanned('go', plan),
      upgradeFact('RolloutStarted', {}),
      upgradeFact('OperationStarted', { operation: 'op-1', node: null }),
    ];
    expect(viewAfter(booking).message).toBe('waits for a surge machine of pool worker-1 to be Ready');
    expect(nodeAfter('demo-w-1', booking).waitsFor).toBe('a surge machine of pool worker-1 to be Ready');
    const forgone = viewAfter([
      ...booking,
      upgradeFact('SurgeSkipped', { operation: 'op-1', pool: 'worker-1', reason: 'no host is free; 1 at a time' }),
    ]);
    expect(forgone.message).toBe('continues without surge nodes in worker-1: no host is free; 1 at a time');
    expect(forgone.operations[0]).toMatchObject({ state: 'skipped', failure: 'no host is free; 1 at a time' });
  });

  it('is an operation of its cluster, and its failures are its own', () => {
    const { operations } = world([
      ...CREATE,
      ...started,
      operationFailed('op-5', 'demo-w-1'),
      upgradeFact('RolloutAborted', { leftFailed: [] }),
    ]);
    expect(operations?.operations.map(({ kind, phase, failuresTotal }) => [kind, phase, failuresTotal])).toEqual([
      ['create', 'Succeeded', 0],
      ['upgrade', 'Failed', 1],
    ]);
  });

  it('that never changes has one row, which what happens on nodes leaves alone', () => {
    const rows = rowsOf(upgradesProjection, inLog([...CREATE, ...done]));
    expect(rows.map(({ id }) => id)).toEqual([upgradeId]);
    const keys = inLog(done.slice(begun.length)).flatMap((event) => upgradesProjection.keys(event));
    expect(keys).toEqual([]);
  });
});

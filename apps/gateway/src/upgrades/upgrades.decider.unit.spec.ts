import { declaredOf, isRefusal, type EventData, type Fact, type UpgradePath } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { CREATE, inLog, nodeFact, requested, uid } from '../story.fixtures.js';
import {
  operationFailed,
  PLAN_HASH,
  upgradeFact,
  upgradeId,
  upgradePlanned,
  upgradeRequested,
} from './upgrades.fixtures.js';
import { upgrades, type RequestUpgrade, type SteeringCommand } from './upgrades.decider.js';

const { given } = specification(upgrades);

const address = { namespace: 'default', cluster: 'demo', upgrade: upgradeId } as UpgradePath;

const request = (change: Partial<RequestUpgrade['data']> = {}): RequestUpgrade => {
  const { uid: _uid, ...request } = upgradeRequested().data;
  return {
    type: 'RequestUpgrade',
    data: { namespace: 'default', cluster: 'demo', actor: 'user/spec', ...request, ...change },
  };
};

const steer = <T extends SteeringCommand['type']>(
  type: T,
  data: Omit<Extract<SteeringCommand, { type: T }>['data'], keyof UpgradePath>,
): SteeringCommand => ({ type, data: { ...address, ...data } }) as unknown as SteeringCommand;

const pause = steer('PauseUpgrade', { reason: 'lunch' });
const resume = steer('ResumeUpgrade', {});
const abort = steer('AbortUpgrade', { reason: 'wrong version' });
const retry = steer('RetryUpgrade', {});
const approve = steer('ApproveUpgrade', { planHash: PLAN_HASH });
const skip = (node: string): SteeringCommand => steer('SkipNode', { node, reason: 'later' });
const rollBack = (node: string): SteeringCommand => steer('RollBackNode', { node });

const ids = { uid, upgradeId };
const planned: readonly Fact[] = [...CREATE, upgradeRequested(), upgradePlanned()];
const running: readonly Fact[] = [
  ...planned,
  upgradeFact('UpgradeApproved', { planHash: PLAN_HASH }),
  upgradeFact('RolloutStarted', { planHash: PLAN_HASH }),
];
const paused: readonly Fact[] = [...running, upgradeFact('RolloutPaused', { by: 'user', reason: 'lunch' })];
const halted: readonly Fact[] = [
  ...running,
  upgradeFact('OperationStarted', { operation: 'op-5', node: 'demo-w-1' }),
  operationFailed('op-5', 'demo-w-1'),
  upgradeFact('RolloutHalted', { rule: 'E2', cause: {}, nodes: ['demo-w-1'], nextActions: [] }),
];
const completed: readonly Fact[] = [...running, upgradeFact('RolloutCompleted')];
const otherId = { upgradeId: 'u-9999999999' } as const;

describe('a request for an upgrade', () => {
  it('is recorded for a cluster that is built', () =>
    given(...CREATE)
      .when(request())
      .then(upgradeRequested()));

  it('is refused where there is no cluster, or none that is ready', () => {
    given().when(request()).thenRefused('cluster.unknown');
    given(...CREATE.slice(0, 4))
      .when(request())
      .thenRefused('cluster.not-ready');
    given(...CREATE, { type: 'ClusterDeletionRequested', data: { uid } })
      .when(request())
      .thenRefused('cluster.deleting');
  });

  it('is refused while nodes are added or removed (B1)', () => {
    given(...CREATE, { type: 'NodesRequested', data: { uid, requestId: 'r', workers: [] } })
      .when(request())
      .thenRefused('cluster.busy');
    const removal = nodeFact('NodeRemovalRequested', 'demo-w-2');
    given(...CREATE, removal)
      .when(request())
      .thenRefused('cluster.busy');
    given(...CREATE, removal, { type: 'VmDeleted', data: { uid, name: 'demo-w-2' as never } })
      .when(request())
      .then(upgradeRequested());
  });

  it('is recorded while nodes are added or removed if it may wait for that, and refused beside another one', () => {
    const waits = { waitsForChecks: true } as const;
    for (const busy of [
      { type: 'NodesRequested', data: { uid, requestId: 'r', workers: [] } } as unknown as Fact,
      nodeFact('NodeRemovalRequested', 'demo-w-2'),
    ])
      given(...CREATE, busy)
        .when(request(waits))
        .then(upgradeRequested(waits as never));
    given(...CREATE, upgradeRequested())
      .when(request({ ...waits, ...otherId, requestHash: 'other' } as never))
      .thenRefused('upgrade.open');
  });

  it('is refused while another is open (B1), and may follow one that is over', () => {
    const other = request({ ...otherId, requestHash: 'other' } as never);
    for (const history of [planned, running, paused, halted])
      given(...history)
        .when(other)
        .thenRefused('upgrade.open');
    given(...completed)
      .when(other)
      .then(upgradeRequested({ ...otherId, requestHash: 'other' } as never));
    given(...CREATE, upgradeRequested({ mode: 'dry-run' }), upgradePlanned('dry-run'))
      .when(other)
      .then(upgradeRequested({ ...otherId, requestHash: 'other' } as never));
  });

  it('is refused where the cluster has its version from a template, except for a dry run and for that version [azimuth 32]', () => {
    const template = 'small' as never;
    const chosen: Fact = { type: 'ClusterTemplateChosen', data: { uid, template, revision: 1 } };
    const { spec } = requested.data as EventData<'ClusterRequested'>;
    const declared: Fact = {
      type: 'ClusterSpecChanged',
      data: { uid, revision: 1, spec: { ...declaredOf(spec), template } },
    };
    const history = [...CREATE, chosen, declared];
    given(...history)
      .when(request())
      .thenRefused('template.version-fixed');
    given(...history)
      .when(request({ mode: 'dry-run' }))
      .then(upgradeRequested({ mode: 'dry-run' }));
    const same = { target: { ...upgradeRequested().data.target, kubernetes: spec.kubernetes.version } };
    given(...history)
      .when(request(same))
      .then(upgradeRequested(same));
  });

  it('is refused with the upgrade that is in the way, its phase, and how to continue or end it', () => {
    const other = request({ ...otherId, requestHash: 'other' } as never);
    const refusalAfter = (history: readonly Fact[]): string => {
      const state = inLog(history).reduce(upgrades.evolve, upgrades.initial);
      const decided = upgrades.decide(state, other);
      return isRefusal(decided) ? `${decided.message} ${decided.help}`.split(' See ')[0]! : 'it is not refused';
    };
    const byWindow = upgradeFact('RolloutPaused', { by: 'window', reason: 'the next window opens at noon' });
    expect([planned, running, paused, [...running, byWindow], halted].map(refusalAfter)).toEqual([
      `Unable to upgrade. The upgrade ${upgradeId} is not finished (Planned). Its plan waits for an approval: read it (fairlead upgrade status demo) and approve it (fairlead upgrade approve demo --plan ${'f'.repeat(64)}), or end it (fairlead upgrade abort demo).`,
      `Unable to upgrade. The upgrade ${upgradeId} is not finished (Running). Wait for its end, or end it (fairlead upgrade abort demo).`,
      `Unable to upgrade. The upgrade ${upgradeId} is not finished (Paused: lunch (user)). Resume it (fairlead upgrade resume demo), or end it (fairlead upgrade abort demo).`,
      `Unable to upgrade. The upgrade ${upgradeId} is not finished (Paused: the next window opens at noon (window)). It resumes by itself: wait for its end, or end it (fairlead upgrade abort demo).`,
      `Unable to upgrade. The upgrade ${upgradeId} is not finished (Halted). Fix the cause and retry it (fairlead upgrade retry demo), or end it (fairlead upgrade abort demo).`,
    ]);
    const aborting = [...running, upgradeFact('UpgradeAbortRequested', { reason: 'wrong' })];
    expect(refusalAfter(aborting)).toBe(
      `Unable to upgrade. The upgrade ${upgradeId} is not finished (Aborting). Wait for its end.`,
    );
    expect(refusalAfter([...paused, upgradeFact('RolloutResumed')])).toContain('(Running)');
    const unexplained = upgradeFact('RolloutPaused', { by: 'user', reason: '' });
    expect(refusalAfter([...running, unexplained])).toContain('(Paused: no reason given (user))');
  });

  it('is a repetition with the same id, or with the same request of the same person while it is open', () => {
    given(...running)
      .when(request())
      .thenNothing();
    given(...completed)
      .when(request())
      .thenNothing();
    given(...planned)
      .when(request({ ...otherId } as never))
      .thenNothing();
    given(...planned)
      .when(request({ ...otherId, actor: 'user/somebody-else' } as never))
      .thenRefused('upgrade.open');
  });

  it('is no repetition of one that is being aborted: its plan would be shown, and could not be approved', () => {
    given(...running, upgradeFact('UpgradeAbortRequested', { reason: '' }))
      .when(request({ ...otherId } as never))
      .thenRefused('upgrade.open');
  });

  it('names existing pools', () => {
    given(...CREATE)
      .when(request({ pools: ['worker-1', 'gpu'] }))
      .thenRefused('upgrade.pool-unknown');
    given(...CREATE)
      .when(request({ pools: ['control-plane'] }))
      .thenRefused('upgrade.pool-unknown');
  });
});

describe('an approval', () => {
  it('needs the hash of the plan that was made', () => {
    given(...planned)
      .when(approve)
      .then({ type: 'UpgradeApproved', data: { ...ids, planHash: PLAN_HASH } });
    given(...planned)
      .when(steer('ApproveUpgrade', { planHash: 'e'.repeat(64) }))
      .thenRefused('upgrade.hash-mismatch');
    given(...CREATE, upgradeRequested())
      .when(approve)
      .thenRefused('upgrade.not-planned');
  });

  it('is carried out once, and comes too late for what is over', () => {
    given(...running)
      .when(approve)
      .thenNothing();
    given(...completed)
      .when(approve)
      .thenRefused('upgrade.phase');
    given(...planned, upgradeFact('UpgradeAbortRequested', { reason: '' }))
      .when(approve)
      .thenRefused('upgrade.phase');
  });

  it('is not for a dry run', () =>
    given(...CREATE, upgradeRequested({ mode: 'dry-run' }), upgradePlanned('dry-run'))
      .when(approve)
      .thenRefused('upgrade.not-approvable'));

  it('names an existing upgrade', () => {
    given(...planned)
      .when({ ...approve, data: { ...approve.data, upgrade: 'u-0000000000' } } as SteeringCommand)
      .thenRefused('upgrade.unknown');
    given(...completed, upgradeRequested({ ...otherId } as never))
      .when(approve)
      .thenRefused('upgrade.phase');
  });
});

describe('a pause', () => {
  it('is asked of what runs, once', () => {
    given(...running)
      .when(pause)
      .then({ type: 'UpgradePauseRequested', data: { ...ids, reason: 'lunch' } });
    given(...running, upgradeFact('UpgradePauseRequested', { reason: 'lunch' }))
      .when(pause)
      .thenNothing();
    given(...planned)
      .when(pause)
      .thenRefused('upgrade.phase');
  });

  it('by a probe or a window may be made one by a person', () =>
    given(...paused)
      .when(pause)
      .then({ type: 'UpgradePauseRequested', data: { ...ids, reason: 'lunch' } }));

  it('ends by a resumption, as a halt does', () => {
    for (const history of [paused, halted])
      given(...history)
        .when(resume)
        .then({ type: 'UpgradeResumeRequested', data: ids });
    given(...running)
      .when(resume)
      .thenNothing();
    given(...planned)
      .when(resume)
      .thenRefused('upgrade.phase');
  });
});

describe('an end before the end', () => {
  it('may be asked for as long as the upgrade is open, once', () => {
    for (const history of [[...CREATE, upgradeRequested()], planned, running, paused, halted])
      given(...history)
        .when(abort)
        .then({ type: 'UpgradeAbortRequested', data: { ...ids, reason: 'wrong version' } });
    given(...running, upgradeFact('UpgradeAbortRequested', { reason: '' }))
      .when(abort)
      .thenNothing();
    given(...completed)
      .when(abort)
      .thenRefused('upgrade.phase');
  });
});

describe('a retry', () => {
  it('needs a failure', () => {
    given(...halted)
      .when(retry)
      .then({ type: 'UpgradeRetryRequested', data: ids });
    given(...running, operationFailed('op-5', 'demo-w-1'))
      .when(retry)
      .then({ type: 'UpgradeRetryRequested', data: ids });
    given(...running)
      .when(retry)
      .thenRefused('upgrade.nothing-failed');
    given(
      ...running,
      operationFailed('op-5', 'demo-w-1'),
      upgradeFact('OperationStarted', { operation: 'op-5', node: 'demo-w-1' }),
    )
      .when(retry)
      .thenRefused('upgrade.nothing-failed');
  });
});

describe('a node of the plan', () => {
  it.each([skip('demo-w-9'), rollBack('demo-w-9')])(
    'that does not exist is refused with the way to its nodes: $type',
    (command) => {
      const refused = upgrades.decide(inLog(running).reduce(upgrades.evolve, upgrades.initial), command);
      expect(refused).toMatchObject({
        code: 'upgrade.node-not-planned',
        help: `Name a node of its plan: see GET /ns/default/clusters/demo/upgrades/${upgradeId}.`,
      });
    },
  );

  it('can be left out until it is done', () => {
    given(...running)
      .when(skip('demo-w-2'))
      .then({ type: 'UpgradeNodeSkipRequested', data: { ...ids, node: 'demo-w-2' as never, reason: 'later' } });
    given(...running)
      .when(skip('demo-w-9'))
      .thenRefused('upgrade.node-not-planned');
    given(...running, upgradeFact('OperationCompleted', { operation: 'op-6', node: 'demo-w-2', tookMs: 1 }))
      .when(skip('demo-w-2'))
      .thenRefused('upgrade.node-done');
    given(...running, upgradeFact('NodeSkipped', { node: 'demo-w-2', reason: '' }))
      .when(skip('demo-w-2'))
      .thenNothing();
  });

  it('gets its former software back only if it is a worker (G3) and has failed, never a control plane (G2)', () => {
    given(...halted)
      .when(rollBack('demo-w-1'))
      .then({ type: 'NodeRollbackRequested', data: { ...ids, node: 'demo-w-1' as never } });
    given(...halted)
      .when(rollBack('demo-w-2'))
      .thenRefused('upgrade.node-not-failed');
    given(...running, operationFailed('op-2', 'demo-cp-1'))
      .when(rollBack('demo-cp-1'))
      .thenRefused('upgrade.rollback-worker-only');
  });
});

it('overrides a rule once', () => {
  const override = steer('OverrideRule', { rule: 'B4', reason: 'saved by hand' });
  given(...planned)
    .when(override)
    .then({ type: 'UpgradeRuleOverridden', data: { ...ids, rule: 'B4', reason: 'saved by hand' } });
  given(...planned, upgradeFact('UpgradeRuleOverridden', { rule: 'B4', reason: 'saved by hand' }))
    .when(override)
    .thenNothing();
  given(...CREATE, upgradeRequested({ overrides: [{ rule: 'B4', reason: 'saved by hand' }] }))
    .when(override)
    .thenNothing();
});

it('forgets the upgrades of an earlier cluster of the same name', () => {
  const again: Fact = {
    ...CREATE[0],
    data: { ...CREATE[0]?.data, uid: '00000000-0000-4000-8000-000000000002' },
  } as Fact;
  given(...running, { type: 'ClusterDeleted', data: { uid } }, again)
    .when(pause)
    .thenRefused('upgrade.unknown');
});

import type { Fact, UpgradeId } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { cp, modelOf, nodesOf, UID, w } from '../../test/model.js';
import { RolloutSimulation } from '../../test/rollout.simulation.js';
import { asked, beginning, hold, toVersion, request, UPGRADE } from '../../test/rollout.story.js';
import { cluster, toNext, data } from './rollout.decider.fixtures.js';

const hashOf = (simulation: RolloutSimulation): string => {
  const planned = simulation.log.find((event) => event.type === 'UpgradePlanned');
  return planned?.type === 'UpgradePlanned' ? planned.data.planHash : '';
};

describe('a plan that requires approval', () => {
  it('waits, and runs when its hash is approved', () => {
    const simulation = cluster();
    simulation.say('request', asked(toNext, {}, { mode: 'ask' }));
    simulation.run();
    expect(simulation.count('RolloutStarted')).toBe(0);
    simulation.say('request', request('UpgradeApproved', { planHash: hashOf(simulation) }));
    simulation.run();
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('does not run when another hash is approved, and reports that', () => {
    const simulation = cluster();
    simulation.say('request', asked(toNext, {}, { mode: 'ask' }));
    simulation.run();
    simulation.say('request', request('UpgradeApproved', { planHash: 'another' }));
    simulation.run();
    expect(simulation.count('RolloutStarted')).toBe(0);
    expect(data(simulation, 'UpgradeCommandRefused')).toMatchObject({ request: 'UpgradeApproved' });
  });
});

describe('snapshots of etcd in a rollout', () => {
  const CONTROL_PLANES = 3;
  const aged = (etcdSnapshotMaxAge: string): Fact =>
    ({
      type: 'ClusterSpecChanged',
      data: { uid: UID, spec: { controlPlane: { replicas: CONTROL_PLANES }, pools: [], etcdSnapshotMaxAge } },
    }) as unknown as Fact;
  /** The sequence of events on control planes: s, a snapshot; c, one may change. */
  const course = (maxAge: string, request: Fact): string => {
    const model = modelOf(CONTROL_PLANES, 1, '1.33.13');
    const names: ReadonlySet<string> = new Set(
      nodesOf(model).flatMap(({ name, role }) => (role === 'control-plane' ? [name] : [])),
    );
    const simulation = cluster(model);
    simulation.say('request', aged(maxAge));
    simulation.say('request', request);
    simulation.run();
    expect(simulation.count('RolloutCompleted')).toBe(1);
    return simulation.log
      .map((event) => {
        if (event.type === 'EtcdSnapshotTaken') return 's';
        return event.type === 'UpgradeAllowed' && names.has(event.data.node) ? 'c' : '';
      })
      .join('');
  };

  it.each([
    ['another version', asked(toNext)],
    ['certificates', asked({ ...toNext, kubernetes: undefined, renewCertificates: true } as never)],
    ['a reboot', asked({ ...toNext, kubernetes: undefined, reboot: true } as never)],
  ])('precede each control plane, unless one is younger than the configured age: %s [ORBITER 33]', (_what, request) => {
    expect(course('1h', request)).toMatch(/^s(c){3}$/);
    expect(course('0s', request)).toMatch(/^s(s*c){3}$/);
    expect(course('0s', request)).not.toContain('cc');
    expect(course('10s', request)).not.toContain('cc');
  });
});

describe('an upgrade that was asked to wait for its checks', () => {
  const waits = { waitsForChecks: true } as const;
  const findingsOf = ({ log }: RolloutSimulation): readonly (readonly string[])[] =>
    log.flatMap((event) => (event.type === 'UpgradeWaiting' ? [event.data.findings.map(({ rule }) => rule)] : []));

  it('waits with the reason while a node is not Ready, is checked again every 15 s, and runs by itself [Cluster API 23]', () => {
    const simulation = cluster();
    simulation.happens(w(3), { ready: false });
    simulation.say('request', asked(toNext, {}, waits));
    simulation.after(100, () => simulation.happens(w(3), { ready: true }));
    simulation.run();
    expect(findingsOf(simulation)).toEqual([['B2']]);
    expect(simulation.count('UpgradeRejected')).toBe(0);
    const [began, planned] = ['UpgradeWaiting', 'UpgradePlanned'].map((type) =>
      Date.parse(simulation.log.find((event) => event.type === type)?.meta.time ?? ''),
    );
    expect(planned! - began!).toBeGreaterThan(90_000);
    expect(planned! - began!).toBeLessThan(100_000 + 16_000);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('waits for a machine that is being deleted, and for its approval afterwards', () => {
    const simulation = cluster();
    simulation.say('request', request('NodeRemovalRequested', { node: w(3), reason: '' }));
    simulation.say('request', asked(toNext, {}, { ...waits, mode: 'ask' }));
    simulation.after(60, () =>
      simulation.say('request', request('NodeRemovalCancelled', { node: w(3), pool: 'workers' })),
    );
    simulation.run();
    expect(findingsOf(simulation)).toEqual([['B1']]);
    expect([simulation.count('UpgradePlanned'), simulation.count('RolloutStarted')]).toEqual([1, 0]);
  });

  it('is rejected by what only another request can cure, and without it by what might pass', () => {
    const older = cluster();
    older.say('request', asked(toVersion('v1.32.0'), {}, waits));
    older.run();
    expect([older.count('UpgradeWaiting'), older.count('UpgradeRejected')]).toEqual([0, 1]);
    const impatient = cluster();
    impatient.happens(w(3), { ready: false });
    impatient.say('request', asked(toNext));
    impatient.run();
    expect([impatient.count('UpgradeWaiting'), impatient.count('UpgradeRejected')]).toEqual([0, 1]);
  });

  it('gives way to a version that is declared while it waits', () => {
    const simulation = cluster();
    const other = 'u-second02' as UpgradeId;
    simulation.happens(w(3), { ready: false });
    simulation.say('request', asked(toNext, {}, waits));
    simulation.after(40, () => simulation.say('request', asked(toNext, {}, { upgradeId: other, declared: true })));
    simulation.after(80, () => simulation.happens(w(3), { ready: true }));
    simulation.run();
    expect(data(simulation, 'RolloutAborted')).toMatchObject({ upgradeId: UPGRADE, supersededBy: other });
    expect(data(simulation, 'RolloutCompleted')).toMatchObject({ upgradeId: other });
  });
});

describe('a version declared in a manifest', () => {
  const declares = (upgradeId = UPGRADE, version = 'v1.34.4'): Fact =>
    asked(toVersion(version), {}, { upgradeId, declared: true });
  const other = 'u-second01' as UpgradeId;
  const timesOf = ({ log }: RolloutSimulation, type: string): readonly number[] =>
    log.flatMap((event) => (event.type === type ? [Date.parse(event.meta.time)] : []));

  it('waits for a node that is not Ready, records that once, and continues by itself [Cluster API 23]', () => {
    const simulation = cluster();
    simulation.happens(w(3), { ready: false });
    simulation.say('request', declares());
    simulation.after(100, () => simulation.happens(w(3), { ready: true }));
    simulation.run();
    expect(simulation.count('UpgradeRejected')).toBe(0);
    expect(simulation.count('UpgradeWaiting')).toBe(1);
    expect(data(simulation, 'UpgradeWaiting')).toMatchObject({ findings: [{ rule: 'B2' }] });
    const [waits, plans] = ['UpgradeWaiting', 'UpgradePlanned'].map((type) => timesOf(simulation, type)[0]!);
    expect(plans! - waits!).toBeGreaterThan(90_000);
    expect(plans! - waits!).toBeLessThan(100_000 + 16_000);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('waits for repairs that start meanwhile', () => {
    const simulation = cluster();
    simulation.happens(w(3), { ready: false });
    simulation.say('request', declares());
    simulation.after(20, () => simulation.say('request', request('NodeRemovalRequested', { node: w(3), reason: '' })));
    simulation.after(60, () => {
      simulation.happens(w(3), { ready: true });
      simulation.say('request', request('NodeRemovalCancelled', { node: w(3), pool: 'workers' }));
    });
    simulation.run();
    const rules = simulation.log.flatMap((event) =>
      event.type === 'UpgradeWaiting' ? [event.data.findings.map(({ rule }) => rule)] : [],
    );
    expect(rules).toEqual([['B2'], expect.arrayContaining(['B1', 'B2'])]);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('makes its plan again when nodes are added or removed before its approval', () => {
    const simulation = cluster();
    const approves = (): void => {
      const hash = simulation.log.findLast((event) => event.type === 'UpgradePlanned')?.data.planHash;
      simulation.say('request', request('UpgradeApproved', { planHash: hash }));
    };
    simulation.say('request', asked(toNext, {}, { mode: 'ask', declared: true }));
    simulation.after(30, () => simulation.say('request', request('NodeRemovalRequested', { node: w(3), reason: '' })));
    simulation.after(60, () =>
      simulation.say('request', request('NodeRemovalCancelled', { node: w(3), pool: 'workers' })),
    );
    simulation.after(120, approves);
    simulation.run();
    expect(simulation.count('UpgradePlanned')).toBe(2);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('is superseded by another one that is declared while it waits', () => {
    const simulation = cluster();
    simulation.happens(w(3), { ready: false });
    simulation.say('request', declares());
    simulation.after(40, () => simulation.say('request', declares(other, 'v1.33.13')));
    simulation.after(80, () => simulation.happens(w(3), { ready: true }));
    simulation.run();
    expect(data(simulation, 'RolloutAborted')).toMatchObject({ upgradeId: UPGRADE, supersededBy: other });
    expect(data(simulation, 'RolloutCompleted')).toMatchObject({ upgradeId: other });
    expect(simulation.count('UpgradeRejected')).toBe(0);
  });

  it('is queued while another upgrade is open', () => {
    const simulation = cluster();
    simulation.say('request', asked(toNext));
    simulation.when(
      ({ type }) => type === 'RolloutStarted',
      () => simulation.say('request', declares(other)),
    );
    simulation.run();
    expect(data(simulation, 'UpgradeWaiting')).toMatchObject({ upgradeId: other, findings: [{ rule: 'B1' }] });
    const ends = simulation.log.flatMap((event) => (event.type === 'RolloutCompleted' ? [event.data.upgradeId] : []));
    expect(ends).toEqual([UPGRADE, other]);
  });

  it('is dropped when it is aborted, and the previous version is declared again', () => {
    const simulation = cluster();
    simulation.happens(w(3), { ready: false });
    simulation.say('request', declares());
    simulation.after(40, () => simulation.say('request', request('UpgradeAbortRequested', { reason: 'not today' })));
    simulation.run();
    expect(data(simulation, 'RolloutAborted')).toMatchObject({ leftFailed: [], declaredAgain: 'v1.33.13' });
    expect(simulation.count('UpgradePlanned')).toBe(0);
  });

  it('is rejected by a finding that only another request can resolve', () => {
    const simulation = cluster();
    simulation.happens(w(3), { ready: false });
    simulation.say('request', declares(UPGRADE, 'v1.30.14'));
    simulation.run();
    expect(data(simulation, 'UpgradeRejected')).toMatchObject({
      findings: expect.arrayContaining([expect.objectContaining({ permanent: true })]),
    });
  });
});

describe('a plan that is aborted before it starts', () => {
  it.each(['ask', 'go'] as const)('ends as aborted, with leftFailed empty (mode %s)', (mode) => {
    const simulation = cluster();
    simulation.say('request', asked(toNext, {}, { mode }), request('UpgradeAbortRequested', { reason: 'not today' }));
    simulation.run();
    expect(data(simulation, 'RolloutAborted')).toMatchObject({ leftFailed: [] });
    expect(simulation.count('OperationStarted')).toBe(0);
    simulation.say('request', asked(toNext, {}, { upgradeId: 'u-second01' as UpgradeId }));
    simulation.run();
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });
});

describe('B1 one upgrade at a time', () => {
  it('rejects another one while one is open, which continues [Cluster API 23]', () => {
    const simulation = cluster();
    simulation.say('request', asked(toNext));
    simulation.when(
      ({ type }) => type === 'NodeCordoned',
      () => simulation.say('request', asked({ reboot: true }, {}, { upgradeId: 'u-second01' as UpgradeId })),
    );
    simulation.run();
    expect(data(simulation, 'UpgradeRejected')).toMatchObject({ upgradeId: 'u-second01', findings: [{ rule: 'B1' }] });
    expect(simulation.count('RolloutCompleted')).toBe(1);
    expect(nodesOf(simulation.model).every(({ boots }) => boots === 0)).toBe(true);
  });

  it('waits while a node is being removed, and continues by itself [Cluster API 23]', () => {
    const simulation = cluster();
    simulation.say('request', asked(toNext));
    simulation.when(
      ({ type }) => type === 'AddonsUpgraded',
      () => {
        simulation.say('request', request('NodeRemovalRequested', { node: w(3) }));
        simulation.after(120, () => {
          expect(simulation.count('UpgradeAllowed', w(1))).toBe(0);
          const { [w(3)]: _gone, ...nodes } = simulation.model.nodes;
          simulation.model = { ...simulation.model, nodes };
          simulation.say('bootstrap', request('NodeRemoved', { node: w(3) }));
        });
      },
    );
    simulation.run();
    expect(data(simulation, 'RolloutPaused')).toMatchObject({
      by: 'gate',
      reason: expect.stringContaining('B1') as unknown as string,
    });
    expect(data(simulation, 'RolloutCompleted')).toMatchObject({ skipped: [w(3)], upgraded: [cp(1), w(1), w(2)] });
  });
});

describe('user requests during a rollout', () => {
  it('pause: the node in progress is finished, no other starts until a user resumes', () => {
    const simulation = cluster();
    simulation.say('request', asked(toNext));
    simulation.when(
      (event) => event.type === 'NodeNotReady' && event.data.node === w(1),
      () => {
        simulation.say('request', request('UpgradePauseRequested', { reason: 'lunch' }));
        simulation.after(600, () => {
          expect(simulation.count('OperationCompleted', w(1))).toBe(1);
          expect(simulation.count('UpgradeAllowed', w(2))).toBe(0);
          simulation.say('request', request('UpgradeResumeRequested'));
        });
      },
    );
    simulation.run();
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('skip a worker, but not a control plane', () => {
    const simulation = cluster();
    simulation.say('request', asked(toNext), request('UpgradeNodeSkipRequested', { node: w(2), reason: 'later' }));
    simulation.when(
      ({ type }) => type === 'RolloutStarted',
      () => {
        simulation.say('request', request('UpgradeNodeSkipRequested', { node: cp(1), reason: 'later' }));
        simulation.say('request', request('UpgradeNodeSkipRequested', { node: w(2), reason: 'later' }));
      },
    );
    simulation.run();
    expect(data(simulation, 'NodeSkipped')).toMatchObject({ node: w(2), reason: 'later' });
    expect(simulation.model.nodes[w(2)]?.software['kubelet']).toBe('1.33.13');
    expect(simulation.model.nodes[cp(1)]?.software['kubelet']).toBe('1.34.4');
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('hold a node before its turn: it is not changed, the others continue', () => {
    const simulation = cluster();
    simulation.say('request', asked(toNext));
    simulation.when(
      ({ type }) => type === 'AddonsUpgraded',
      () => simulation.say('request', hold(w(2), null, true)),
    );
    simulation.run();
    expect(data(simulation, 'RolloutCompleted')).toMatchObject({ skipped: [w(2)] });
  });

  it('override a rule after a rejection: the check runs again', () => {
    const simulation = cluster();
    simulation.happens(w(3), { ready: false });
    simulation.say('request', asked(toNext));
    simulation.run();
    expect(data(simulation, 'UpgradeRejected')).toMatchObject({ findings: [{ rule: 'B2' }] });
    simulation.say('request', request('UpgradeRuleOverridden', { rule: 'B2', reason: 'its fan is broken' }));
    simulation.run();
    expect(simulation.count('UpgradePlanned')).toBe(1);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });
});

describe('D7 overridden windows and user-defined gates', () => {
  const gates = [{ kind: 'http', name: 'shop', url: 'http://198.18.0.10/' }];
  const askedOf = (simulation: RolloutSimulation, gate: string): number =>
    simulation.log.filter((event) => event.type === 'GatePassed' && event.data.gate === gate).length;

  it('let nodes start while the window is closed', () => {
    const simulation = cluster();
    const windows = [{ days: ['mon'], from: '10:00', to: '10:30' }];
    simulation.say('request', asked(toNext, { windows }));
    simulation.when(
      ({ type }) => type === 'RolloutPaused',
      () => simulation.say('request', request('UpgradeRuleOverridden', { rule: 'D7', reason: 'it is urgent' })),
    );
    simulation.run();
    expect(data(simulation, 'RolloutPaused')).toMatchObject({ by: 'window' });
    expect(simulation.log.at(-1)?.meta.time.slice(0, 10)).toBe(simulation.log[0]?.meta.time.slice(0, 10));
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it.each([
    ['are asked unless they are overridden', [], 4],
    ['are not asked', [{ rule: 'D7', reason: 'it is urgent' }], 0],
  ] as const)('gates %s', (_, overrides, times) => {
    const simulation = cluster();
    simulation.say('request', asked(toNext, { gates }, { overrides: [...overrides] }));
    simulation.run();
    expect(askedOf(simulation, 'user:shop')).toBe(times);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });
});

describe('G2 no rollback across a minor of etcd', () => {
  it('an older minor is rejected by it, before any change', () => {
    const simulation = new RolloutSimulation(modelOf(1, 1, '1.34.4'));
    for (const [context, fact] of beginning(simulation.model, '1.34.4')) simulation.say(context, fact);
    simulation.say('request', asked(toVersion('v1.33.13')));
    simulation.run();
    const rejected = simulation.log.find((event) => event.type === 'UpgradeRejected');
    const rules = rejected?.type === 'UpgradeRejected' ? rejected.data.findings.map(({ rule }) => rule) : [];
    expect(rules).toEqual(expect.arrayContaining(['A1', 'G2']));
    expect(simulation.count('OperationStarted')).toBe(0);
  });

  it('a failed control plane is not rolled back', () => {
    const simulation = cluster();
    simulation.failing.set(`CheckGates/${cp(1)}`, 'the API does not answer');
    simulation.say('request', asked(toNext));
    simulation.when(
      ({ type }) => type === 'RolloutHalted',
      () => simulation.say('request', request('NodeRollbackRequested', { node: cp(1) })),
    );
    simulation.run();
    expect(data(simulation, 'UpgradeCommandRefused')).toMatchObject({
      request: 'NodeRollbackRequested',
      finding: {
        rule: 'G2',
        facts: { etcdNow: expect.stringMatching(/^3\.6/), etcdBefore: expect.stringMatching(/^3\.5/) },
      },
    });
  });
});

import {
  releaseOf,
  UpgradePlan,
  UpgradeStrategy,
  type KubernetesRelease,
  type KubernetesVersion,
} from '@fairlead/contracts';
import { NO_OWN_RELEASES, type OwnReleases } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import { changeNode, cp, factsOf, modelNode, modelOf, w, type Model } from '../../test/model.js';
import { UPGRADE } from '../../test/rollout.story.js';
import { NO_HOLDS } from '../holds/holds.js';
import type { ClusterFacts, EtcdMemberFacts, NodeFacts } from '../rules/cluster.facts.js';
import { canonical } from './canonical.js';
import { planHash } from './plan.hash.js';
import type { PlanInput, RolloutRequest } from './plan.request.js';
import { dryRunOf, planUpgrade } from './upgrade.planner.js';

const AT = '2026-11-21T10:00:00.000Z';

const inputOf = (
  model: Model,
  request: Partial<RolloutRequest>,
  strategy: Record<string, unknown> = {},
  rest: Partial<PlanInput> = {},
): PlanInput => ({
  request: {
    upgradeId: UPGRADE,
    target: { renewCertificates: false, reboot: false },
    pools: null,
    controlPlane: true,
    strategy: UpgradeStrategy.parse(strategy),
    overridden: [],
    ...request,
  },
  facts: factsOf(model, AT),
  holds: NO_HOLDS,
  underWay: { operations: [], clusterReady: true },
  endpoint: 'https://198.18.0.1:6443',
  own: NO_OWN_RELEASES,
  durations: {},
  ...rest,
});

const to = (version: string) => ({
  target: { kubernetes: version as KubernetesVersion, renewCertificates: false, reboot: false },
});

const planned = (input: PlanInput): UpgradePlan => {
  const check = planUpgrade(input);
  if (check.outcome === 'rejected')
    throw new Error(check.findings.map((one) => `${one.rule} ${one.sentence}`).join('; '));
  return check.plan;
};
const rejectedBy = (input: PlanInput): readonly string[] => {
  const check = planUpgrade(input);
  return check.outcome === 'rejected' ? [...new Set(check.findings.map(({ rule }) => rule))] : [];
};
const steps = ({ operations }: UpgradePlan): readonly string[] =>
  operations.map(({ kind, node, change, to: versions }) =>
    [kind, node, change?.kubeadm, versions['kubelet']].filter((part) => typeof part === 'string').join(' '),
  );

/** The version and the nodes of each staging operation. */
const stagedBy = ({ operations }: UpgradePlan): readonly unknown[] =>
  operations.flatMap((one) => (one.kind === 'stage' ? [[one.to['kubelet'], [...one.nodes].toSorted()]] : []));

describe('a plan', () => {
  const plan = planned(inputOf(modelOf(3, 3, '1.33.13'), to('v1.34.4')));

  it('stages, takes an etcd snapshot, upgrades control planes with the etcd leader last, then workers with a canary first [ORBITER 15, ORBITER 33, Cluster API 24]', () =>
    expect(steps(plan)).toEqual([
      'stage 1.34.4',
      'snapshot-etcd',
      `control-plane ${cp(2)} apply 1.34.4`,
      `control-plane ${cp(3)} node 1.34.4`,
      `control-plane ${cp(1)} node 1.34.4`,
      'addons',
      'mark-workers',
      `worker ${w(1)} node 1.34.4`,
      `worker ${w(2)} node 1.34.4`,
      `worker ${w(3)} node 1.34.4`,
    ]));

  it('upgrades the addons that an upgrade left behind when it was aborted after its last control plane', () => {
    const done = inputOf(modelOf(3, 2, '1.34.4'), to('v1.34.4'));
    expect(steps(planned({ ...done, version: 'v1.33.13' }))).toEqual(['addons']);
    const behind = { ...done, version: 'v1.33.13', request: { ...done.request, controlPlane: false } };
    expect(planUpgrade(behind)).not.toMatchObject({ plan: { operations: [{ kind: 'addons' }] } });
  });

  it('matches the contract, with a reason and a duration for each operation', () => {
    expect(() => UpgradePlan.parse(plan)).not.toThrow();
    for (const { reason, predictedSeconds } of plan.operations) {
      expect(reason.length).toBeGreaterThan(10);
      expect(predictedSeconds).toBeGreaterThan(0);
    }
  });

  it('predicts the sum of its batches', () =>
    expect(plan.predictedSeconds).toBe(20 + 5 + 102 + 85 + 85 + 15 + 1 + 45 + 2 * 45));

  it('predicts from the measured durations of this cluster if there are any', () => {
    const again = planned(inputOf(modelOf(3, 3, '1.33.13'), to('v1.34.4'), {}, { durations: { worker: 30 } }));
    expect(again.predictedSeconds).toBe(plan.predictedSeconds - 3 * 15);
  });

  it('has the same hash for the same input, and a different hash for a different input', () => {
    expect(planHash(planned(inputOf(modelOf(3, 3, '1.33.13'), to('v1.34.4'))))).toBe(planHash(plan));
    expect(planHash(planned(inputOf(modelOf(3, 2, '1.33.13'), to('v1.34.4'))))).not.toBe(planHash(plan));
    expect(canonical({ b: [1, { d: undefined, c: null }], a: 'x' })).toBe('{"a":"x","b":[1,{"c":null}]}');
  });

  const added: KubernetesRelease = { ...releaseOf('v1.34.11')!, version: 'v1.34.12', verified: 'listed' };
  const own: OwnReleases = {
    ...NO_OWN_RELEASES,
    releases: new Map([['v1.34.12', { release: added, origin: 'added' }]]),
  };
  const rulesOf = (input: PlanInput): readonly string[] => {
    const check = planUpgrade(input);
    return (check.outcome === 'rejected' ? check.findings : check.plan.findings).map(({ sentence }) => sentence);
  };

  it('upgrades or downgrades to any patch of the current minor; a lower patch requires approval [ORBITER 14]', () => {
    expect(planned(inputOf(modelOf(1, 1, '1.34.4'), to('v1.34.9'))).path).toEqual(['v1.34.4', 'v1.34.9']);
    const down = planned(inputOf(modelOf(1, 1, '1.34.4'), to('v1.34.2')));
    expect([down.path, steps(down).filter((step) => /^(control-plane|worker)/.test(step))]).toEqual([
      ['v1.34.4', 'v1.34.2'],
      [expect.stringMatching(/ apply 1\.34\.2$|1\.34\.2/), expect.stringContaining('1.34.2')],
    ]);
    expect(down.findings).toMatchObject([{ rule: 'A1', severity: 'ask' }]);
  });

  it('upgrades from 1.30, minor by minor [ORBITER 14]', () => {
    const { path } = planned(inputOf(modelOf(1, 1, '1.30.14'), to('v1.33.13')));
    expect(path).toEqual(['v1.30.14', 'v1.31.14', 'v1.32.13', 'v1.33.13']);
  });

  it('upgrades to a release added by the installation, and includes the data of that release', () => {
    expect(rulesOf(inputOf(modelOf(1, 1, '1.34.4'), to('v1.34.12')))).toContainEqual(
      expect.stringContaining('no release v1.34.12'),
    );
    const plan = planned(inputOf(modelOf(1, 1, '1.34.4'), to('v1.34.12'), {}, { own }));
    expect([plan.path, plan.releases]).toEqual([['v1.34.4', 'v1.34.12'], [added]]);
    expect(planned(inputOf(modelOf(1, 1, '1.33.13'), to('v1.34.4'), {}, { own }))).not.toHaveProperty('releases');
  });

  it('warns about a target that is only listed, and rejects a withdrawn one', () => {
    const listed = expect.stringContaining('v1.34.10 is only listed');
    expect(rulesOf(inputOf(modelOf(1, 1, '1.34.4'), to('v1.34.10')))).toContainEqual(listed);
    expect(rulesOf(inputOf(modelOf(1, 1, '1.33.13'), to('v1.34.4')))).not.toContainEqual(
      expect.stringContaining('only listed'),
    );
    const withdrawn = { ...NO_OWN_RELEASES, withdrawn: new Map([['v1.34.9', 'CVE-2026-0001']]) };
    const check = planUpgrade(inputOf(modelOf(1, 1, '1.34.4'), to('v1.34.9'), {}, { own: withdrawn }));
    expect(check).toMatchObject({ outcome: 'rejected' });
    expect(rulesOf(inputOf(modelOf(1, 1, '1.34.4'), to('v1.34.9'), {}, { own: withdrawn }))).toContainEqual(
      'v1.34.9 was withdrawn: CVE-2026-0001',
    );
  });

  it('upgrades control planes minor by minor while workers lag and skip minors [ORBITER 14, Cluster API 24]', () => {
    const chain = planned(inputOf(modelOf(1, 1, '1.33.13'), to('v1.36.3')));
    expect(chain.path).toEqual(['v1.33.13', 'v1.34.4', 'v1.35.4', 'v1.36.3']);
    expect(steps(chain).filter((step) => step.startsWith('worker'))).toEqual([`worker ${w(1)} node 1.36.3`]);
    expect(steps(chain).filter((step) => step.startsWith('control-plane'))).toHaveLength(3);
    expect(steps(chain).filter((step) => step === 'snapshot-etcd')).toHaveLength(3);
  });

  it('stages each minor version on workers that skip it, because its addons run there', () => {
    const chain = planned(inputOf(modelOf(1, 2, '1.33.13'), to('v1.35.4')));
    expect(stagedBy(chain)).toEqual([
      ['1.34.4', [cp(1), w(1), w(2)]],
      ['1.35.4', [cp(1), w(1), w(2)]],
    ]);
  });

  it('stages on held workers and on those outside the request, which run the addons as well, but not on workers that are not Ready', () => {
    const model = changeNode(modelOf(1, 3, '1.33.13'), w(3), { ready: false });
    const input = inputOf(
      model,
      to('v1.34.4'),
      { excusedNodes: [w(3)] },
      { holds: { nodes: { [w(2)]: 'a sale' }, pools: {} } },
    );
    const alone = planned({ ...input, request: { ...input.request, pools: [] } });
    expect(stagedBy(alone)).toEqual([['1.34.4', [cp(1), w(1), w(2)]]]);
    expect(steps(alone).filter((step) => step.includes(w(2)))).toEqual([]);
  });

  it('first upgrades workers that would otherwise fall too far behind [Cluster API 24]', () => {
    const old = changeNode(modelOf(1, 1, '1.34.4'), w(1), {
      software: { ...modelNode('x', 'worker', 'w', '1.31.9').software },
    });
    const order = steps(planned(inputOf(old, to('v1.35.4')))).filter((step) => /^(worker|control)/.test(step));
    expect(order).toEqual([
      `worker ${w(1)} node 1.34.4`,
      `control-plane ${cp(1)} apply 1.35.4`,
      `worker ${w(1)} node 1.35.4`,
    ]);
  });

  it('skips nodes that are held or up to date, and lists them', () => {
    const done = changeNode(modelOf(1, 3, '1.33.13'), w(1), modelNode(w(1), 'worker', 'w', '1.33.13'));
    const model = changeNode(done, w(2), { software: modelNode('x', 'worker', 'w', '1.34.4').software });
    const facts = factsOf(
      changeNode(model, cp(1), {
        components: { api: '1.34.4', controllers: '1.34.4', scheduler: '1.34.4', emulates: null },
        software: modelNode('x', 'worker', 'w', '1.34.4').software,
      }),
      AT,
    );
    const half = planned(
      inputOf(model, to('v1.34.4'), {}, { facts, holds: { nodes: { [w(3)]: 'black friday' }, pools: {} } }),
    );
    expect(half.held).toEqual([w(3)]);
    expect(half.current).toEqual([cp(1), w(2)]);
    expect(steps(half).filter((step) => /^(worker|control)/.test(step))).toEqual([`worker ${w(1)} node 1.34.4`]);
  });

  it('upgrades sick nodes early, but starts with a healthy canary', () => {
    const sick = changeNode(modelOf(1, 3, '1.33.13'), w(3), { ready: false });
    const order = planned(inputOf(sick, to('v1.34.4'), { excusedNodes: [w(3)] })).operations.filter(
      ({ kind }) => kind === 'worker',
    );
    expect(order.map(({ node, canary }) => [node, canary])).toEqual([
      [w(1), true],
      [w(3), false],
      [w(2), false],
    ]);
  });

  it('splits a pool into batches of the budget if there is a soak time between them', () => {
    const soaking = planned(
      inputOf(modelOf(1, 5, '1.33.13'), to('v1.34.4'), { workers: { maxUnavailable: 2, soakSeconds: 60 } }),
    );
    const workers = soaking.operations.filter(({ kind }) => kind === 'worker').map(({ batch }) => batch);
    expect(workers.map((batch) => batch - workers[0]!)).toEqual([0, 1, 1, 2, 2]);
  });

  it('upgrades control plane kubelets in a second pass if they use a load-balanced endpoint (C6)', () => {
    const facts = factsOf(modelOf(2, 0, '1.33.13'), AT);
    const three: ClusterFacts = factsOf(modelOf(3, 0, '1.33.13'), AT);
    const balanced = { ...three, nodes: three.nodes.map((node) => ({ ...node, kubeletTalksToLocalApi: false })) };
    expect(facts.nodes).toHaveLength(2);
    expect(
      steps(planned(inputOf(modelOf(3, 0, '1.33.13'), to('v1.34.4'), {}, { facts: balanced }))).slice(2, 8),
    ).toEqual([
      `control-plane ${cp(2)} apply`,
      `control-plane ${cp(3)} node`,
      `control-plane ${cp(1)} node`,
      `control-plane ${cp(2)} 1.34.4`,
      `control-plane ${cp(3)} 1.34.4`,
      `control-plane ${cp(1)} 1.34.4`,
    ]);
  });

  it('first emulates the old version in a two-step upgrade (G5)', () => {
    const two = planned(inputOf(modelOf(1, 0, '1.33.13'), to('v1.34.4'), { twoStep: true }));
    const emulated = two.operations.flatMap(({ change }) => (change === null ? [] : [change.emulatedVersion]));
    expect(emulated).toEqual(['1.33', null]);
    const patch = planUpgrade(inputOf(modelOf(1, 0, '1.34.2'), to('v1.34.4'), { twoStep: true }));
    expect(patch).toMatchObject({ outcome: 'rejected', findings: [{ rule: 'G5', help: 'Leave out twoStep.' }] });
  });

  it('between the two steps allows only the second step, neither a rollback nor a skipped minor (G5)', () => {
    const [from, old, next] = ['v1.35.4', 'v1.34.4', 'v1.36.3'];
    const model = changeNode(modelOf(1, 1, '1.34.4'), cp(1), {
      components: { api: '1.35.4', controllers: '1.35.4', scheduler: '1.35.4', emulates: '1.34' },
    });
    const back = planUpgrade(inputOf(model, to(old)));
    expect(back).toMatchObject({
      outcome: 'rejected',
      findings: expect.arrayContaining([
        expect.objectContaining({
          rule: 'G5',
          sentence: `API servers of ${from} already emulate 1.34, and kubeadm ${old} downgrades neither CoreDNS nor etcd`,
          facts: expect.objectContaining({ coreDns: ['v1.13.1', 'v1.12.1'] }),
        }),
      ]),
    });
    expect(planUpgrade(inputOf(model, to(next)))).toMatchObject({
      outcome: 'rejected',
      findings: expect.arrayContaining([
        expect.objectContaining({ rule: 'G5', help: `Request ${from} first: this ends the emulation.` }),
      ]),
    });
    const onwards = planned(inputOf(model, to(from)));
    const [applied] = onwards.operations.flatMap(({ change }) => (change?.kubeadm === 'apply' ? [change] : []));
    expect(applied).toMatchObject({ kubernetes: from, emulatedVersion: null });
  });

  it('is rejected for the unreadable component, and not for its path, if the current version is unknown', () => {
    const facts = factsOf(modelOf(3, 1, '1.34.4'), AT);
    const unread = [{ what: 'nodes', rule: 'B2', message: 'etcdserver: no leader' }] as const;
    const hidden = { facts: { ...facts, nodes: [], unread } };
    const rulesWith = (...overridden: RolloutRequest['overridden']): readonly string[] =>
      rejectedBy(inputOf(modelOf(3, 1, '1.34.4'), { ...to('v1.35.4'), overridden }, {}, hidden));
    expect(rulesWith()).toContain('B2');
    expect(rulesWith()).not.toContain('A4');
    expect(rulesWith('B2')).not.toEqual([]); // An override does not allow a path from an unknown version.
  });

  it('is rejected only if a node that downloads files cannot reach their source (B9)', () => {
    const model = modelOf(1, 2, '1.33.13');
    const source = { at: AT, address: 'http://mirror/', failure: 'no route to host', releases: null };
    const all = factsOf(model, AT);
    const facts = { ...all, nodes: all.nodes.map((node) => (node.name === w(2) ? { ...node, source } : node)) };
    expect(rejectedBy(inputOf(model, to('v1.34.4'), {}, { facts }))).toEqual(['B9']);
    const renewal = { target: { renewCertificates: true, reboot: false }, pools: [] };
    expect(planUpgrade(inputOf(model, renewal, {}, { facts })).outcome).toBe('planned');
  });

  it('for other software drains and changes every node, and does not run kubeadm', () => {
    const runtime = planned(
      inputOf(modelOf(1, 1, '1.34.4'), {
        target: { software: { containerd: '1.7.27' }, renewCertificates: false, reboot: false },
      }),
    );
    const nodes = runtime.operations.filter(({ node }) => node !== null);
    expect(nodes.map(({ node, to: software, drain, change }) => [node, software, drain, change?.kubeadm])).toEqual([
      [cp(1), { containerd: '1.7.27' }, true, null],
      [w(1), { containerd: '1.7.27' }, true, null],
    ]);
  });

  it('for certificates changes only control planes, and does not drain them', () => {
    const renewal = planned(inputOf(modelOf(3, 2, '1.34.4'), { target: { renewCertificates: true, reboot: false } }));
    expect(steps(renewal)).toEqual([
      'snapshot-etcd',
      `control-plane ${cp(2)}`,
      `control-plane ${cp(3)}`,
      `control-plane ${cp(1)}`,
      'addons',
    ]);
    expect(renewal.operations.some(({ drain }) => drain)).toBe(false);
  });
});

describe('a plan with surge nodes', () => {
  const surge = planned(
    inputOf(modelOf(1, 3, '1.33.13'), to('v1.34.4'), { workers: { maxUnavailable: 0, maxSurge: 1 } }),
  );
  const ofPool = surge.operations.filter(({ pool }) => pool === 'w');

  it('creates them before the first node of the pool is drained, and deletes them after the last', () => {
    expect(ofPool.map(({ kind }) => kind)).toEqual(['book-surge', 'worker', 'worker', 'worker', 'return-surge']);
    expect(ofPool.map(({ batch }) => batch)).toEqual(
      [...ofPool.map(({ batch }) => batch)].sort((one, other) => one - other),
    );
    expect(surge.pools.find(({ name }) => name === 'w')).toMatchObject({ nodes: 3, atOnce: 1, surge: 1 });
  });

  it('states the reason and the duration, and creates them with the target version', () => {
    const [book] = ofPool;
    expect(book).toMatchObject({ to: { kubelet: '1.34.4' }, node: null, predictedSeconds: 120 });
    expect(book?.reason).toBe('1 surge node in w first, to keep its capacity (D2)');
    const without = planned(inputOf(modelOf(1, 3, '1.33.13'), to('v1.34.4')));
    expect(surge.predictedSeconds - without.predictedSeconds).toBe(180);
  });

  it('is preceded by the control planes: no kubelet is newer than an API server', () =>
    expect(surge.operations.findIndex(({ kind }) => kind === 'book-surge')).toBeGreaterThan(
      surge.operations.findIndex(({ kind }) => kind === 'addons'),
    ));
});

describe('no plan', () => {
  const model = modelOf(3, 3, '1.33.13');

  it.each([
    ['for a version that no release is known of', inputOf(model, to('v1.34.99')), ['A4']],
    ['for a lower minor', inputOf(modelOf(3, 3, '1.34.4'), to('v1.33.13')), ['A1', 'A2']],
    ['for nothing', inputOf(model, {}), ['A4']],
    [
      'beside a join',
      inputOf(model, to('v1.34.4'), {}, { underWay: { operations: ['x'], clusterReady: true } }),
      ['B1'],
    ],
    ['with a sick node', inputOf(changeNode(model, w(1), { ready: false }), to('v1.34.4')), ['B2']],
    [
      'with doubled control planes',
      inputOf(model, to('v1.34.4'), { pools: { 'control-plane': { maxSurge: 1 } } }),
      ['C7'],
    ],
  ])('%s', (_what, input, rules) => expect(rejectedBy(input)).toEqual(expect.arrayContaining(rules.slice(0, 1))));

  it('while a held control plane would leave kubelets newer than its API server', () => {
    const holds = { nodes: { [cp(3)]: 'a disk is exchanged' }, pools: {} };
    expect(rejectedBy(inputOf(model, to('v1.34.4'), {}, { holds }))).toEqual(['A2']);
  });

  it('until an operator overrides a rule that allows it; then the finding is shown and no longer blocks', () => {
    const sick = changeNode(model, w(1), { ready: false });
    expect(rejectedBy(inputOf(sick, { ...to('v1.34.4'), overridden: ['A1'] }))).toEqual(['B2']);
    const { findings } = planned(inputOf(sick, { ...to('v1.34.4'), overridden: ['B2'] }));
    expect(findings).toMatchObject([{ rule: 'B2', severity: 'inform' }]);
  });
});

describe('a Corefile that kubeadm cannot migrate', () => {
  const model = modelOf(3, 1, '1.33.13');
  const facts = { ...factsOf(model, AT), corefile: '.:53 {\n  k8s_gateway example.org\n}\n' };
  const checked = (overridden: readonly string[]) =>
    planUpgrade(inputOf(model, { ...to('v1.34.4'), overridden }, {}, { facts }));

  it('blocks the upgrade before any change; with an override, kubeadm skips its own check', () => {
    expect(checked([])).toMatchObject({ outcome: 'rejected', findings: [{ rule: 'B12' }] });
    const check = checked(['B12']);
    if (check.outcome !== 'planned') throw new Error('it was not planned');
    const applied = check.plan.operations.filter(({ change }) => change?.kubeadm === 'apply');
    expect(applied.map(({ change }) => change?.ignoredPreflightErrors)).toEqual([
      ['CoreDNSUnsupportedPlugins', 'CoreDNSMigration'],
    ]);
  });
});

describe('the kubeadm dry run of an upgrade (B13)', () => {
  const model = modelOf(3, 1, '1.33.13');
  const words = ['CoreDNSUnsupportedPlugins: plugin "k8s_gateway" is unsupported'];
  const refusal = { checks: ['CoreDNSUnsupportedPlugins'], words };
  const withFacts = (facts: Partial<ClusterFacts>, overridden: readonly string[] = [], version = 'v1.35.4') =>
    inputOf(model, { ...to(version), overridden }, {}, { facts: { ...factsOf(model, AT), ...facts } });
  const refused = (overridden: readonly string[] = []) =>
    planUpgrade(withFacts({ dryRun: { node: cp(2), version: 'v1.34.4', refusal } }, overridden));

  it('runs on the first control plane, for the first step of the path', () => {
    const request = dryRunOf(withFacts({}));
    expect(request).toEqual({ node: cp(2), kubernetes: 'v1.34.4', ignoredPreflightErrors: [] });
    const [first] = planned(withFacts({})).operations.filter(({ change }) => change?.kubeadm === 'apply');
    expect(first?.node).toBe(request?.node);
  });

  it('also runs with findings about the configuration, but not with findings about the node or its software', () => {
    expect(dryRunOf(withFacts({ corefile: '.:53 {\n  k8s_gateway example.org\n}\n' }))?.node).toBe(cp(2));
    const unread = [{ what: 'etcd', rule: 'B3', message: 'no answer' }] as const;
    expect(dryRunOf(withFacts({ unread }))).toBeNull();
    expect(dryRunOf(withFacts({ healthyPasses: 0 }))).toBeNull();
    const lost = factsOf(model, AT).nodes.map((node) => ({ ...node, lost: node.name === cp(2) }));
    expect(dryRunOf(withFacts({ nodes: lost }, ['B2']))).toBeNull();
    expect(dryRunOf(inputOf(model, { target: { renewCertificates: true, reboot: false } }))).toBeNull();
  });

  it('blocks the upgrade if it fails, with its output, its checks and a remedy', () =>
    expect(refused()).toMatchObject({
      outcome: 'rejected',
      findings: [
        {
          rule: 'B13',
          severity: 'refuse',
          sentence: `kubeadm v1.34.4 refuses the upgrade on ${cp(2)}: ${words.join()}`,
          facts: { node: cp(2), version: 'v1.34.4', checks: ['CoreDNSUnsupportedPlugins'], words },
          help: expect.stringContaining('override B13, and kubeadm ignores these checks: CoreDNSUnsupportedPlugins'),
        },
      ],
    }));

  it('if overridden turns these checks into warnings, also in the actual upgrade', () => {
    const check = refused(['B13']);
    if (check.outcome !== 'planned') throw new Error('it was not planned');
    expect(check.plan.findings).toMatchObject([{ rule: 'B13', severity: 'inform' }]);
    const applied = check.plan.operations.filter(({ change }) => change?.kubeadm === 'apply');
    expect(applied[0]?.change?.ignoredPreflightErrors).toEqual(['CoreDNSUnsupportedPlugins']);
  });

  it('also blocks the upgrade if its result cannot be read', () => {
    const unread = [{ what: `kubeadm's dry run on ${cp(2)}`, rule: 'B13', message: 'no package has it' }] as const;
    expect(rejectedBy(withFacts({ unread }))).toEqual(['B13']);
  });
});

describe('components that did not respond to the survey', () => {
  const model = modelOf(3, 3, '1.33.13');
  const facts = factsOf(model, AT);
  const etcdWith = (change: Partial<EtcdMemberFacts>): ClusterFacts => ({
    ...facts,
    etcd: {
      ...facts.etcd!,
      members: facts.etcd!.members.map((one) => (one.node === cp(3) ? { ...one, ...change } : one)),
    },
  });
  const nodeWith = (name: string, change: Partial<NodeFacts>): ClusterFacts => ({
    ...facts,
    nodes: facts.nodes.map((one) => (one.name === name ? { ...one, ...change } : one)),
  });
  const found = (of: ClusterFacts): readonly string[] => {
    const check = planUpgrade(inputOf(model, to('v1.34.4'), {}, { facts: of }));
    return check.outcome === 'rejected' ? check.findings.map(({ rule, sentence }) => `${rule} ${sentence}`) : [];
  };

  it('an etcd member is named, and does not count for any version', () => {
    const silent = found(etcdWith({ healthy: false, version: '', dbBytes: 0 }));
    expect(silent).toEqual([`B3 etcd: ${cp(3)} is not healthy`]);
    const [first, ...others] = facts.etcd!.members;
    const silentFirst = { ...first!, healthy: false, version: '', dbBytes: 0 };
    expect(found({ ...facts, etcd: { ...facts.etcd!, members: [silentFirst, ...others] } })).toEqual([
      `B3 etcd: ${cp(1)} is not healthy`,
    ]);
    const ghost = { id: '0000000000000004', name: 'member 0000000000000004 (https://127.9.9.9:2380)', node: null };
    const added: ClusterFacts = {
      ...facts,
      etcd: {
        ...facts.etcd!,
        members: [
          ...facts.etcd!.members,
          { ...facts.etcd!.members[0]!, ...ghost, started: false, healthy: false, learner: true, version: '' },
        ],
      },
    };
    expect(found(added)).toEqual(['B3 etcd: member 0000000000000004 (https://127.9.9.9:2380) has not started']);
  });

  it.each([
    ['worker that Kubernetes does not know', w(2)],
    ['control plane that Kubernetes does not know', cp(2)],
  ])('a %s is named', (_what, name) => {
    const gone = nodeWith(name, {
      kubelet: '',
      kubeProxy: null,
      ready: false,
      notReadyBecause: 'Kubernetes does not know it',
      staticPods: [],
    });
    expect(found(gone).filter((one) => one.includes(name))).toEqual([
      `B2 nodes are not Ready: ${name} (Kubernetes does not know it)`,
    ]);
  });

  it('an error always has a name, whatever is missing', () => {
    const unknown = {
      kubelet: '',
      kubeProxy: '',
      containerRuntime: '',
      software: {},
      staticPods: [],
      certificates: null,
    };
    for (const { name } of facts.nodes)
      for (const [field, value] of Object.entries(unknown)) {
        const nodes = nodeWith(name, { [field]: value }).nodes;
        for (const version of ['v1.33.13', 'v1.34.4', 'v1.35.4'])
          for (const etcd of [facts.etcd, null, etcdWith({ version: '' }).etcd])
            expect(() =>
              planUpgrade(inputOf(model, to(version), {}, { facts: { ...facts, nodes, etcd } })),
            ).not.toThrow();
      }
  });
});

describe('a plan for pools whose nodes are replaced', () => {
  const model = modelOf(3, 3, '1.33.13');
  const limits = { surge: 1, unavailable: 0 };
  const replaced = { 'control-plane': limits, w: { surge: 2, unavailable: 1 } };
  const operationsOf = ({ operations }: UpgradePlan) =>
    operations.map(({ kind, pool, nodes, to: versions }) => [kind, pool, nodes.length, versions['kubelet']]);

  it('replaces control planes after a snapshot of etcd, then the addons follow, then workers [Cluster API 24]', () => {
    const plan = planned(inputOf(model, to('v1.34.4'), {}, { replaced }));
    expect(operationsOf(plan)).toEqual([
      ['stage', null, 3, '1.34.4'],
      ['snapshot-etcd', null, 0, undefined],
      ['replace', 'control-plane', 3, '1.34.4'],
      ['addons', null, 0, undefined],
      ['replace', 'w', 3, '1.34.4'],
    ]);
    expect(plan.operations.at(-1)?.reason).toBe(
      '3 nodes of w replaced by new nodes of v1.34.4, at most 2 extra and 1 unavailable (strategy Replace)',
    );
    expect(plan.pools).toEqual([
      { name: 'control-plane', nodes: 3, atOnce: 1, surge: 1 },
      { name: 'w', nodes: 3, atOnce: 3, surge: 2 },
    ]);
    expect(plan.current).toEqual([]);
  });

  it('changes the other pools in place, and nodes of another version alone', () => {
    const { w: ofWorkers } = replaced;
    const mixed = changeNode(model, w(1), {
      software: { ...model.nodes[w(1)]!.software, kubelet: '1.34.4', kubeadm: '1.34.4', kubectl: '1.34.4' },
    });
    const done = changeNode(mixed, cp(1), {
      components: { api: '1.34.4', controllers: '1.34.4', scheduler: '1.34.4', emulates: null },
      software: mixed.nodes[w(1)]!.software,
    });
    const half = planned(inputOf(done, to('v1.34.4'), {}, { replaced }));
    expect(half.operations.flatMap(({ kind, nodes }) => (kind === 'replace' ? [nodes] : []))).toEqual([
      [cp(2), cp(3)],
      [w(2), w(3)],
    ]);
    expect(half.current).toEqual([cp(1), w(1)]);
    const one = planned(inputOf(model, to('v1.34.4'), {}, { replaced: { w: ofWorkers } }));
    expect(
      one.operations.map(({ kind }) => kind).filter((kind) => kind === 'control-plane' || kind === 'replace'),
    ).toEqual(['control-plane', 'control-plane', 'control-plane', 'replace']);
  });

  it('replaces control planes at each minor version on its path, and workers once', () => {
    const plan = planned(inputOf(model, to('v1.35.4'), {}, { replaced }));
    expect(operationsOf(plan).filter(([kind]) => kind === 'replace')).toEqual([
      ['replace', 'control-plane', 3, '1.34.4'],
      ['replace', 'control-plane', 3, '1.35.4'],
      ['replace', 'w', 3, '1.35.4'],
    ]);
  });

  it('replaces the nodes of one pool alone up to the version of the control planes, and no further', () => {
    const behind = { ...modelOf(3, 3, '1.34.4') };
    const workers = [1, 2, 3].reduce<Model>(
      (before, index) => changeNode(before, w(index), { software: model.nodes[w(index)]!.software }),
      behind,
    );
    const alone = { pools: ['w'], controlPlane: false };
    const plan = planned(inputOf(workers, { ...to('v1.34.4'), ...alone }, {}, { replaced }));
    expect(operationsOf(plan)).toEqual([['replace', 'w', 3, '1.34.4']]);
    expect(rejectedBy(inputOf(workers, { ...to('v1.35.4'), ...alone }, {}, { replaced }))).toContain('A2');
  });

  it('leaves certificates and boots in place, and nodes that are held', () => {
    const target = { renewCertificates: true, reboot: true };
    const kinds = planned(inputOf(model, { target }, {}, { replaced })).operations.map(({ kind }) => kind);
    expect([kinds.includes('replace'), kinds.filter((kind) => kind === 'worker').length]).toEqual([false, 3]);
    const holds = { nodes: { [w(2)]: 'a database' }, pools: {} };
    const held = planned(inputOf(model, to('v1.34.4'), {}, { replaced, holds }));
    expect([held.operations.at(-1)?.nodes, held.held]).toEqual([[w(1), w(3)], [w(2)]]);
  });

  it('asks kubeadm on a control plane that is replaced, whether the upgrade would succeed', () =>
    expect(dryRunOf(inputOf(model, to('v1.34.4'), {}, { replaced }))).toMatchObject({
      node: cp(2),
      kubernetes: 'v1.34.4',
    }));

  it('is rejected with two steps, and for versions whose kubelets would reach older API servers', () => {
    expect(rejectedBy(inputOf(model, to('v1.34.4'), { twoStep: true }, { replaced }))).toContain('C7');
    expect(rejectedBy(inputOf(modelOf(3, 1, '1.31.14'), to('v1.32.13'), {}, { replaced }))).toEqual(['A2']);
    expect(rejectedBy(inputOf(modelOf(3, 1, '1.31.14'), to('v1.32.13')))).toEqual([]);
  });
});

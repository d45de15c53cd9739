import {
  isRefusal,
  isUpgradeRule,
  UPGRADE_RULES,
  type Fact,
  type NodeName,
  type StoredEvent,
  type UpgradeView,
} from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { describe, expect, it } from '@jest/globals';
import { upgradeNodesProjection, type NodeUpgradesDoc } from '../apps/gateway/src/upgrades/upgrade.nodes.projection.js';
import { upgrades, type SteeringCommand, type UpgradesState } from '../apps/gateway/src/upgrades/upgrades.decider.js';
import { upgradesProjection, type UpgradeDoc } from '../apps/gateway/src/upgrades/upgrades.projection.js';
import { upgradeView } from '../apps/gateway/src/upgrades/upgrades.view.js';
import { cp, modelOf, nodesOf, UID, w, type FailingStep, type Model } from '../apps/upgrade-svc/test/model.js';
import { RolloutSimulation } from '../apps/upgrade-svc/test/rollout.simulation.js';
import { asked, beginning, toVersion, UPGRADE } from '../apps/upgrade-svc/test/rollout.story.js';

/**
 * Every failure of a rollout combined with every command: the gateway decides whether the command is accepted,
 * upgrade-svc what follows, and the view is the output of `upgrade status`. Agents, Kubernetes and etcd are a model.
 */

const FROM = '1.33.13';
const RELEASE_WORDS = 'the node cannot be patched: etcdserver: request timed out';
const WORDS = '[ERROR CoreDNSUnsupportedPlugins]: there are unsupported plugins in the CoreDNS Corefile';

interface Trouble {
  readonly name: string;
  /** The node that fails; null: an operation on the whole cluster fails. */
  readonly node: NodeName | null;
  readonly begin: (simulation: RolloutSimulation) => void;
  readonly heal: (simulation: RolloutSimulation) => void;
  readonly strategy?: Record<string, unknown>;
  readonly target?: Parameters<typeof asked>[0];
  /** What begins with the trouble, on its node; absent: an operation. */
  readonly since?: StoredEvent['type'];
  /** The part of the message that must be shown; absent: WORDS. */
  readonly words?: string;
  readonly model?: () => Model;
}

const withModel = (simulation: RolloutSimulation, change: (model: Model) => Model): void => {
  simulation.model = change(simulation.model);
  simulation.wakeAgents();
};

const agentFails = (node: NodeName, at: FailingStep): Pick<Trouble, 'begin' | 'heal'> => ({
  begin: (one) => withModel(one, (model) => ({ ...model, fails: { [node]: { at, message: WORDS } } })),
  heal: (one) => withModel(one, (model) => ({ ...model, fails: {} })),
});

const taskFails = (key: string): Pick<Trouble, 'begin' | 'heal'> => ({
  begin: (one) => void one.failing.set(key, WORDS),
  heal: (one) => {
    one.failing.delete(key);
    one.tryOn();
  },
});

const NODES: readonly NodeName[] = [cp(2), cp(1), w(1), w(2)];
const STEPS: readonly FailingStep[] = ['kubeadm', 'kubeadm-half', 'packages', 'certificates', 'boot'];
const EVERYTHING = { ...toVersion('v1.34.4'), renewCertificates: true, reboot: true };
const isOfControlPlanes = (step: FailingStep): boolean => step === 'kubeadm-half' || step === 'certificates';
const roleOf = (node: NodeName | null): 'control-plane' | 'worker' | null =>
  node === null ? null : node.includes('-cp-') ? 'control-plane' : 'worker';

const TROUBLES: readonly Trouble[] = [
  ...NODES.flatMap((node) =>
    STEPS.filter((step) => roleOf(node) === 'control-plane' || !isOfControlPlanes(step)).map((step): Trouble => ({
      name: `the agent of ${node} fails at ${step}`,
      node,
      target: EVERYTHING,
      ...agentFails(node, step),
    })),
  ),
  ...NODES.map((node): Trouble => ({
    name: `the agent of ${node} is silent`,
    node,
    words: 'its agent has sent no heartbeat',
    since: 'NodeEmptied',
    begin: (one) =>
      one.when(
        ({ type, data }) => type === 'NodeEmptied' && 'node' in data && data.node === node,
        () => {
          one.dead.add(node);
          one.say('health', {
            type: 'NodeLost',
            data: { uid: UID, node, lastHeartbeatAt: one.now, reason: 'silent' },
          } as unknown as Fact);
        },
      ),
    heal: (one) => {
      if (one.dead.has(node)) one.say('health', { type: 'NodeRecovered', data: { uid: UID, node } } as unknown as Fact);
      one.repair(node);
    },
  })),
  ...NODES.map((node): Trouble => ({ name: `${node} cannot stage`, node: null, ...agentFails(node, 'stage') })),
  ...NODES.flatMap((node) =>
    ['EmptyNode', 'ChangeNode'].map((task): Trouble => ({
      name: `${task} of ${node} fails`,
      node,
      ...taskFails(`${task}/${node}`),
    })),
  ),
  ...NODES.map((node): Trouble => ({
    name: `the gates of ${node} cannot be checked`,
    node,
    ...taskFails(`CheckGates/${node}`),
  })),
  ...['TakeSnapshot/op-02', 'UpgradeAddons/op-06', 'MarkWorkers/op-07'].map((key): Trouble => ({
    name: `${key} fails`,
    node: null,
    ...taskFails(key),
  })),
  ...NODES.map((node): Trouble => ({
    name: `${node} does not become Ready`,
    node,
    words: 'it was not done within 40 minutes',
    begin: (one) => void one.stuck.add(node),
    heal: (one) => one.repair(node),
  })),
  ...[cp(2), w(1), w(2)].flatMap((node) =>
    (['stop', 'quarantine'] as const).map((onDrainTimeout): Trouble => ({
      name: `a budget keeps the pods of ${node}, and its policy is ${onDrainTimeout}`,
      node,
      words: `shop/web-${node}`,
      strategy: { workers: { onDrainTimeout } },
      begin: (one) => withModel(one, (model) => ({ ...model, kept: [node] })),
      heal: (one) => withModel(one, (model) => ({ ...model, kept: [] })),
    })),
  ),
  ...(['stock', 'unfit', 'stays'] as const).map((what): Trouble => ({
    name: `surge nodes: ${what}`,
    node: null,
    words: { stock: 'no host is free', unfit: 'it has no route to the API', stays: 'the API server does not answer' }[
      what
    ],
    strategy: { workers: { maxUnavailable: 0, maxSurge: 1 } },
    begin: (one) =>
      withModel(one, (model) => ({
        ...model,
        surge: {
          ...model.surge,
          stock: what === 'stock' ? 0 : 100,
          unfit: what === 'unfit',
          stays: what === 'stays' ? 1 : 0,
        },
      })),
    heal: (one) =>
      withModel(one, (model) => ({ ...model, surge: { ...model.surge, stock: 100, unfit: false, stays: 0 } })),
  })),
];

// --- the gateway ------------------------------------------------------------------------------------------------------------------

const folded = <Doc>({ keys, evolve }: Projection<Doc>, log: readonly StoredEvent[]): ReadonlyMap<string, Doc> => {
  const rows = new Map<string, Doc>();
  for (const event of log)
    for (const key of keys(event)) {
      const doc = evolve(rows.get(key), event, key);
      if (doc === undefined) rows.delete(key);
      else rows.set(key, doc);
    }
  return rows;
};

const viewOf = ({ log, now }: RolloutSimulation, id: string = UPGRADE): UpgradeView => {
  const upgrade = [...folded<UpgradeDoc>(upgradesProjection, log).values()].find((doc) => doc.id === id);
  if (upgrade === undefined) throw new Error(`no row of ${id}`);
  const nodes = [...folded<NodeUpgradesDoc>(upgradeNodesProjection, log).values()];
  const rows = {
    upgrade,
    nodes: nodes.filter(({ upgrades: own }) => own.some(({ upgradeId }) => upgradeId === id)),
    seq: log.length,
  };
  return upgradeView(rows, Date.parse(now));
};

const stateOf = ({ log }: RolloutSimulation): UpgradesState =>
  log.reduce((before, event) => upgrades.evolve(before, event), upgrades.initial);

/** What the gateway answers; upgrade-svc follows with the next run. */
const refusalOf = (
  simulation: RolloutSimulation,
  type: SteeringCommand['type'],
  data: Record<string, unknown> = {},
): string => {
  const about = { namespace: 'default', cluster: 'demo', upgrade: UPGRADE, reason: 'no', ...data };
  const decided = upgrades.decide(stateOf(simulation), { type, data: about } as unknown as SteeringCommand);
  if (isRefusal(decided)) return decided.code;
  for (const fact of decided) simulation.say('request', fact);
  return '';
};

const steer = (...all: Parameters<typeof refusalOf>): string => {
  const answer = refusalOf(...all);
  if (answer === '') all[0].run();
  return answer;
};

const COMMANDS = [
  'ApproveUpgrade',
  'PauseUpgrade',
  'ResumeUpgrade',
  'RetryUpgrade',
  'SkipNode',
  'RollBackNode',
  'OverrideRule',
  'AbortUpgrade',
] as const satisfies readonly SteeringCommand['type'][];

/** The answers to all commands, one after the other. */
const answersOf = (simulation: RolloutSimulation, node: NodeName): Readonly<Record<string, string>> => {
  const planHash = viewOf(simulation).planHash ?? '0'.repeat(64);
  return Object.fromEntries(
    COMMANDS.map((command) => [command, refusalOf(simulation, command, { node, rule: 'B7', planHash })]),
  );
};

const REFUSED_WHILE_ABORTING = Object.fromEntries(
  COMMANDS.map((command) => [command, command === 'AbortUpgrade' ? '' : 'upgrade.phase']),
);

// --- the walk ---------------------------------------------------------------------------------------------------------------------

const begun = (
  { begin, strategy, target, model = () => modelOf(3, 3, FROM) }: Trouble,
  watch: (simulation: RolloutSimulation) => void = () => undefined,
): RolloutSimulation => {
  const simulation = new RolloutSimulation(model());
  if (strategy !== undefined && JSON.stringify(strategy).includes('"maxUnavailable":0')) simulation.atOnce = 0;
  for (const [context, fact] of beginning(simulation.model, FROM)) simulation.say(context, fact);
  begin(simulation);
  watch(simulation);
  simulation.say(
    'request',
    asked(target ?? toVersion('v1.34.4'), { failedShareMax: '100%', consecutiveFailuresMax: 1, ...strategy }),
  );
  simulation.run();
  return simulation;
};

const failuresOf = ({ log }: RolloutSimulation): readonly StoredEvent<'OperationFailed'>[] =>
  log.filter(
    (event): event is StoredEvent<'OperationFailed'> =>
      event.type === 'OperationFailed' && event.data.nextAttemptAt === null,
  );

/** What is left on a node for an operator to find and revert. */
const leftOn = ({ model }: RolloutSimulation, node: string): readonly string[] => {
  const { cordoned, ready, desired, software } = model.nodes[node]!;
  const differs = Object.entries(desired.software).some(([what, version]) => software[what] !== version);
  return [
    ...(cordoned ? [`${node} is cordoned`] : []),
    ...(ready ? [] : [`${node} is not Ready`]),
    ...(desired.allowed ? [`${node} may still be changed`] : []),
    ...(differs ? [`${node} is desired to have what it does not have`] : []),
  ];
};

const leftBehind = (simulation: RolloutSimulation, but: readonly string[] = []): readonly string[] => [
  ...nodesOf(simulation.model).flatMap(({ name }) => (but.includes(name) ? [] : leftOn(simulation, name))),
  ...simulation.model.marked.map((name) => `${name} is marked`),
  ...simulation.model.surge.machines.map(({ name }) => `${name} is left`),
];

/** Whether anything has failed: a pool that may continue without surge nodes has. */
const hasFailed = (simulation: RolloutSimulation): boolean =>
  failuresOf(simulation).length > 0 || simulation.count('NodeQuarantined') > 0;

const ended = (simulation: RolloutSimulation): string => viewOf(simulation).phase;

/** The status contains the message of the cause. */
const expectCause = (simulation: RolloutSimulation, { words = WORDS }: Pick<Trouble, 'words'>): void => {
  expect(words).not.toBe('');
  const { message, nodes, operations } = viewOf(simulation);
  expect(JSON.stringify([message, nodes, operations])).toContain(words);
};

type Way = (simulation: RolloutSimulation, trouble: Trouble) => void;

const onWorker = (trouble: Trouble, then: () => void, otherwise: () => void): void =>
  (roleOf(trouble.node) === 'worker' ? then : otherwise)();

const WAYS: Readonly<Record<string, Way>> = {
  'retry once the cause is gone completes it': (simulation, trouble) => {
    trouble.heal(simulation);
    simulation.run();
    expect(steer(simulation, 'RetryUpgrade')).toBe('');
    expect(ended(simulation)).toBe('Completed');
    expect(leftBehind(simulation)).toEqual([]);
  },
  'retry while the cause lasts fails again, with the cause': (simulation) => {
    const before = failuresOf(simulation).length + simulation.count('NodeQuarantined');
    expect(steer(simulation, 'RetryUpgrade')).toBe('');
    const after = failuresOf(simulation).length + simulation.count('NodeQuarantined');
    if (ended(simulation) !== 'Completed') expect(after).toBeGreaterThan(before);
  },
  'skip leaves out a worker, which serves again, and is refused for anything else': (simulation, trouble) => {
    const node = trouble.node ?? cp(1);
    onWorker(
      trouble,
      () => {
        expect(steer(simulation, 'SkipNode', { node })).toBe('');
        expect(simulation.count('NodeSkipped', node)).toBe(1);
        const isAway = isSilentNode(simulation, node);
        expect(leftOn(simulation, node)).toEqual(isAway ? expect.anything() : []);
        if (ended(simulation) === 'Halted') steer(simulation, 'ResumeUpgrade');
        // An unreachable node counts in the budget of its pool, whoever skipped it (D2): once it is back, the rollout
        // resumes automatically.
        expect(ended(simulation)).toBe(isAway ? 'Paused' : 'Completed');
        if (isAway) {
          simulation.happens(node, { cordoned: false, cordonedBy: null });
          trouble.heal(simulation);
        }
        simulation.run();
        expect(ended(simulation)).toBe('Completed');
      },
      () => expect(steer(simulation, 'SkipNode', { node })).toMatch(/^upgrade\.(skip-worker-only|node-done)$/),
    );
  },
  'rollback gives a failed worker its previous software, and is refused for anything else': (simulation, trouble) => {
    const node = trouble.node ?? cp(1);
    const isFailedWorker = roleOf(trouble.node) === 'worker' && failuresOf(simulation).length > 0;
    trouble.heal(simulation);
    const answer = steer(simulation, 'RollBackNode', { node });
    if (!isFailedWorker) {
      expect(answer).toMatch(/^upgrade\.(rollback-worker-only|node-not-failed)$/);
      return;
    }
    expect(answer).toBe('');
    expect(simulation.count('NodeSkipped', node)).toBe(1);
    expect(simulation.model.nodes[node]?.software['kubelet']).toBe(FROM);
    expect(simulation.model.nodes[node]).toMatchObject({ cordoned: false, ready: true });
  },
  'abort ends it, leaves nothing cordoned that is Ready, and another plan completes': (simulation, trouble) => {
    expect(steer(simulation, 'AbortUpgrade')).toBe('');
    expect(ended(simulation)).toBe('Aborted');
    const away = isSilentNode(simulation, trouble.node) ? [trouble.node ?? ''] : [];
    expect(leftBehind(simulation, away)).toEqual([]);
    // For a NotReady node the final report names the next step: "fairlead node uncordon", once it is Ready.
    expect(viewOf(simulation).nextActions.filter((action) => action.includes('node uncordon'))).toHaveLength(
      away.length,
    );
    trouble.heal(simulation);
    for (const name of away) simulation.happens(name, { cordoned: false, cordonedBy: null });
    simulation.run();
    again(simulation);
  },
  'an approval changes nothing of it, and of another plan is refused': (simulation, trouble) => {
    const before = ended(simulation);
    const { planHash } = viewOf(simulation);
    expect(steer(simulation, 'ApproveUpgrade', { planHash })).toBe('');
    expect(steer(simulation, 'ApproveUpgrade', { planHash: 'f'.repeat(64) })).toBe('upgrade.hash-mismatch');
    expect(ended(simulation)).toBe(before);
    expectCause(simulation, trouble);
  },
  'an override of the rule that stopped it takes effect or is refused, and neither hides the cause': (
    simulation,
    trouble,
  ) => {
    const rule = simulation.log.findLast(({ type }) => type === 'RolloutHalted')?.data;
    if (rule === undefined || !('rule' in rule) || !isUpgradeRule(rule.rule)) throw new Error('it did not halt');
    expect(steer(simulation, 'OverrideRule', { rule: rule.rule })).toBe('');
    const { overridable } = UPGRADE_RULES[rule.rule];
    expect(simulation.count('UpgradeCommandRefused')).toBe(overridable ? 0 : 1);
    expectCause(simulation, trouble);
    // A quarantined node keeps its pods beside the next one that is drained.
    if (rule.rule === 'E4') simulation.atOnce = 2;
    expect(steer(simulation, 'ResumeUpgrade')).toBe('');
    trouble.heal(simulation);
    simulation.run();
    if (ended(simulation) !== 'Completed') expect(steer(simulation, 'RetryUpgrade')).toBe('');
    expect(ended(simulation)).toBe('Completed');
    const { nextActions, nodes } = viewOf(simulation);
    const stayed = nodes.flatMap(({ name, phase }) => (phase === 'Quarantined' ? [name] : []));
    expect(leftBehind(simulation, stayed)).toEqual([]);
    expect(nextActions.filter((action) => action.includes('node uncordon'))).toHaveLength(stayed.length);
  },
  'pause and resume change nothing of it': (simulation) => {
    const before = ended(simulation);
    const answer = steer(simulation, 'PauseUpgrade');
    if (answer === '') {
      expect(ended(simulation)).toBe('Paused');
      expect(steer(simulation, 'ResumeUpgrade')).toBe('');
    } else expect(answer).toBe('upgrade.phase');
    expect(ended(simulation)).toBe(before);
    expect(steer(simulation, 'AbortUpgrade').replace('upgrade.phase', '')).toBe('');
  },
};

const isSilentNode = (simulation: RolloutSimulation, node: string | null): boolean =>
  node !== null && (simulation.dead.has(node) || simulation.stuck.has(node));

const NEXT = 'u-9n4x7t2w';

/** The same target again, after the first upgrade has ended. */
const again = (simulation: RolloutSimulation): void => {
  withModel(simulation, (model) => ({ ...model, applied: [] }));
  simulation.atOnce = 1;
  simulation.say('request', asked(toVersion('v1.34.4'), {}, { upgradeId: NEXT as typeof UPGRADE }));
  simulation.run();
  expect(viewOf(simulation, NEXT)).toMatchObject({ phase: 'Completed', message: '' });
  expect(leftBehind(simulation)).toEqual([]);
  expect(nodesOf(simulation.model).map(({ software }) => software['kubelet'])).toEqual(
    nodesOf(simulation.model).map(() => '1.34.4'),
  );
};

describe.each(TROUBLES)('$name', (trouble) => {
  it('ends its operation, with its cause in the status', () => {
    const simulation = begun(trouble);
    expect(simulation.harm).toEqual([]);
    expect(ended(simulation)).toBe('Halted');
    expect(hasFailed(simulation)).toBe(true);
    expectCause(simulation, trouble);
  });

  it.each(Object.entries(WAYS))('%s', (_what, way) => {
    const simulation = begun(trouble);
    way(simulation, trouble);
    expect(simulation.harm).toEqual([]);
  });

  it('while it is aborted every other command is refused, and it ends with nothing left behind', () => {
    const simulation = begun(trouble, (one) =>
      one.when(
        ({ type, data }) =>
          type === (trouble.since ?? 'OperationStarted') &&
          'node' in data &&
          (trouble.node === null || data.node === trouble.node),
        () => {
          expect(refusalOf(one, 'AbortUpgrade')).toBe('');
          expect(ended(one)).toBe('Aborting');
          expect(viewOf(one).message).toContain('nodes in progress are finished, and those that failed are let go');
          expect(answersOf(one, trouble.node ?? w(1))).toEqual(REFUSED_WHILE_ABORTING);
        },
      ),
    );
    expect(simulation.count('UpgradeAbortRequested')).toBe(1);
    expect(ended(simulation)).toBe('Aborted');
    if (failuresOf(simulation).length > 0) expectCause(simulation, trouble);
    const away = isSilentNode(simulation, trouble.node) ? [trouble.node ?? ''] : [];
    expect(leftBehind(simulation, away)).toEqual([]);
    trouble.heal(simulation);
    for (const name of away) simulation.happens(name, { cordoned: false, cordonedBy: null });
    simulation.run();
    again(simulation);
  });
});

// --- before there is a plan -------------------------------------------------------------------------------------------------------

const CHECK_FAILS: Trouble = { name: 'the cluster cannot be read', node: null, ...taskFails('CheckUpgrade/') };

describe('while an upgrade is Planning', () => {
  /** The check has failed once, and has not been given up. */
  const planning = (act: (one: RolloutSimulation) => void): RolloutSimulation =>
    begun(CHECK_FAILS, (one) => one.after(1, () => act(one)));

  it('approve, pause, resume, retry, skip and rollback are refused, and abort ends it', () => {
    const simulation = planning((one) => {
      expect(ended(one)).toBe('Planning');
      expect(answersOf(one, w(1))).toEqual({
        ApproveUpgrade: 'upgrade.not-planned',
        PauseUpgrade: 'upgrade.phase',
        ResumeUpgrade: 'upgrade.phase',
        RetryUpgrade: 'upgrade.phase',
        SkipNode: 'upgrade.not-planned',
        RollBackNode: 'upgrade.not-planned',
        OverrideRule: '',
        AbortUpgrade: '',
      });
    });
    expect(ended(simulation)).toBe('Aborted');
    expect(leftBehind(simulation)).toEqual([]);
    CHECK_FAILS.heal(simulation);
    again(simulation);
  });

  it('a check that fails for good rejects it with the cause, and then every command is refused', () => {
    const simulation = begun(CHECK_FAILS);
    expect(ended(simulation)).toBe('Rejected');
    expectCause(simulation, CHECK_FAILS);
    const answers = answersOf(simulation, w(1));
    expect(answers).toEqual(Object.fromEntries(Object.keys(answers).map((command) => [command, 'upgrade.phase'])));
    CHECK_FAILS.heal(simulation);
    again(simulation);
  });
});

// --- steps without an operation ---------------------------------------------------------------------------------------------------

const PROBES = { probes: [{ name: 'shop', url: 'https://192.0.2.7/' }] };

const failingStep = (key: string): Trouble => ({ name: key, node: null, strategy: PROBES, ...taskFails(key) });

describe.each([
  ['EndProbes/', 'Completed'],
  ['BeginProbes/', 'Paused'],
] as const)('%s fails', (key, phase) => {
  const trouble = failingStep(key);

  it('shows its cause while it is tried on, and no longer once it has succeeded', () => {
    const simulation = begun(trouble);
    expect(ended(simulation)).toBe(phase);
    expect(viewOf(simulation).message).toContain(WORDS);
    expect(simulation.count('UpgradeStepFailed')).toBe(1);
    trouble.heal(simulation);
    simulation.run();
    expect(viewOf(simulation)).toMatchObject({ phase: 'Completed', message: '' });
    expect(leftBehind(simulation)).toEqual([]);
    expect(probing(simulation)).toEqual([]);
  });

  it('another upgrade that begins meanwhile leaves nothing behind once it succeeds', () => {
    const simulation = begun(trouble);
    if (phase === 'Paused') expect(steer(simulation, 'AbortUpgrade')).toBe('');
    trouble.heal(simulation);
    again(simulation);
    expect(probing(simulation)).toEqual([]);
  });
});

describe('marks of workers that cannot be removed after an abort', () => {
  const trouble: Trouble = {
    name: 'marks',
    node: w(1),
    begin: (one) => {
      one.failing.set(`EmptyNode/${w(1)}`, 'the API server is gone');
      one.failing.set('UnmarkWorkers/', WORDS);
    },
    heal: (one) => {
      one.failing.clear();
      one.tryOn();
    },
  };
  const aborted = (): RolloutSimulation => {
    const simulation = begun(trouble);
    expect(steer(simulation, 'AbortUpgrade')).toBe('');
    expect(ended(simulation)).toBe('Aborted');
    expect(simulation.model.marked).not.toEqual([]);
    return simulation;
  };

  it('are shown with the cause until they are removed', () => {
    const simulation = aborted();
    expect(viewOf(simulation).message).toContain(WORDS);
    expect(simulation.count('UpgradeStepFailed')).toBe(1);
    trouble.heal(simulation);
    simulation.run();
    expect(viewOf(simulation).message).not.toContain(WORDS);
    expect(leftBehind(simulation)).toEqual([]);
  });

  it('are removed after the next upgrade where that begins first', () => {
    const simulation = aborted();
    trouble.heal(simulation);
    again(simulation);
  });
});

const probing = ({ model }: RolloutSimulation): readonly string[] =>
  nodesOf(model).flatMap(({ name, desired }) => ((desired.probes ?? []).length > 0 ? [name] : []));

describe('a failed node that cannot be released', () => {
  const trouble: Trouble = {
    name: 'release',
    node: w(1),
    begin: (one) => {
      agentFails(w(1), 'packages').begin(one);
      one.failing.set(`ReleaseNode/${w(1)}`, RELEASE_WORDS);
    },
    heal: (one) => {
      agentFails(w(1), 'packages').heal(one);
      taskFails(`ReleaseNode/${w(1)}`).heal(one);
    },
  };

  it('shows why, also while it is aborted, which ends once the node is released', () => {
    const simulation = begun(trouble);
    expect(ended(simulation)).toBe('Halted');
    expect(viewOf(simulation).message).toContain(RELEASE_WORDS);
    expect(steer(simulation, 'AbortUpgrade')).toBe('');
    expect(ended(simulation)).toBe('Aborting');
    expect(viewOf(simulation).message).toContain(RELEASE_WORDS);
    trouble.heal(simulation);
    simulation.run();
    expect(ended(simulation)).toBe('Aborted');
    expect(viewOf(simulation).message).not.toContain(RELEASE_WORDS);
    expect(leftBehind(simulation)).toEqual([]);
    again(simulation);
  });
});

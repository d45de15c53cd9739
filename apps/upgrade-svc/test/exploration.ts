import { isRefusal, type Fact, type NodeName, type StoredEvent } from '@fairlead/contracts';
import { reconcilerDecider, type TaskRef } from '@fairlead/event-sourcing';
import { planHash } from '../src/plan/plan.hash.js';
import { checkUpgrade } from '../src/rollout/check.planner.js';
import type { RolloutCommand } from '../src/rollout/rollout.commands.js';
import { rollout } from '../src/rollout/rollout.decider.js';
import { keyOf as taskKeyOf, type AnyRolloutTask } from '../src/rollout/rollout.tasks.js';
import { tasks } from '../src/rollout/rollout.planner.js';
import { rolloutReconciler } from '../src/rollout/rollout.reconciler.js';
import { hasFailed, operationsOf, type OperationState, type Rollout } from '../src/rollout/rollout.state.js';
import { rolloutView } from '../src/rollout/rollout.view.js';
import { agentStep } from './model.agent.js';
import { factsOf, nodesOf, UID, type Model, type ModelNode } from './model.js';
import { violations } from './model.safety.js';
import { heard, surgeSteps } from './model.surge.js';
import { effectOf, type Effect } from './model.tasks.js';
import { request } from './rollout.story.js';

const NOW = '2026-11-21T10:00:00.000Z';

/** The complete state, and the disturbances that may still happen. */
export interface World {
  readonly rollout: Rollout;
  readonly model: Model;
  /** Number of spontaneous changes of the etcd leader left. */
  readonly moves: number;
  /** Number of permanent task failures left. */
  readonly failures: number;
  /** Number of abort requests left. */
  readonly aborts?: number;
}

export interface Move {
  readonly name: string;
  readonly to: World;
}

const stored = (fact: Fact): StoredEvent => ({ ...fact, meta: { time: NOW } }) as unknown as StoredEvent;

export const withFacts = (world: World, ...facts: readonly Fact[]): World => ({
  ...world,
  model: facts.reduce(heard, world.model),
  rollout: facts.reduce((state, fact) => rollout.evolve(state, stored(fact)), world.rollout),
});

const kernel = reconcilerDecider(rolloutReconciler);

const stating = (world: World, outcome: ReturnType<typeof kernel.decide>): World =>
  isRefusal(outcome) ? world : withFacts(world, ...outcome);

const decided = (world: World, command: RolloutCommand): World =>
  stating(world, rollout.decide(world.rollout, command));

const refOf = ({ rollout: state }: World, task: AnyRolloutTask): TaskRef => ({
  reconciler: rolloutReconciler.name,
  generation: rolloutReconciler.generation(state),
  key: taskKeyOf(task),
  seq: 0,
  now: NOW,
});

/** All gates of a stage are evaluated at once: they change nothing, so a crash between them equals one before them. */
const effectsOf = (world: World, task: AnyRolloutTask): { readonly world: World; readonly facts: Effect['facts'] } => {
  const gates = task.type === 'CheckGates' ? task.gates : [''];
  const facts: Effect['facts'][number][] = [];
  let { model } = world;
  const desired: Fact[] = [];
  for (const gate of gates) {
    const effect = effectOf(
      model,
      task.type === 'CheckGates' ? { ...task, gates: [gate as (typeof task.gates)[number]] } : task,
    );
    model = effect.model;
    facts.push(...effect.facts);
    desired.push(...effect.desired);
    if (effect.wait !== undefined) break;
  }
  return { world: withFacts({ ...world, model }, ...desired), facts };
};

const taskMoves = (world: World, task: AnyRolloutTask): readonly Move[] => {
  const name = `${task.type} ${task.node ?? task.operation ?? ''}`;
  const effect = effectsOf(world, task);
  const done =
    effect.facts.length === 0
      ? effect.world
      : decided(effect.world, { type: 'RecordFact', data: { facts: effect.facts, now: NOW } });
  const cause = { operation: task.type, target: task.node ?? 'demo', message: 'it is broken' };
  const failure = { cause, attempt: 3, attemptsMax: 3, nextAttemptAt: null, now: NOW };
  const failed = (): World => {
    const after = { ...effect.world, failures: world.failures - 1 };
    const data = { ref: refOf(world, task), failure };
    return stating(after, kernel.decide({ state: after.rollout }, { type: 'RecordFailure', data }));
  };
  return [
    { name, to: done },
    { name: `${name}, and the process dies`, to: effect.world },
    ...(world.failures > 0 && task.type !== 'ReleaseNode' ? [{ name: `${name} fails for good`, to: failed() }] : []),
  ];
};

const agentMoves = (world: World): readonly Move[] =>
  nodesOf(world.model).flatMap(({ name }) => {
    const step = agentStep(world.model, name);
    if (step === undefined) return [];
    const acted = step.act(world.model);
    return [{ name: `${step.name} on ${name}`, to: withFacts({ ...world, model: acted.model }, ...acted.facts) }];
  });

/** The possible steps of infra-svc and bootstrap-svc on surge machines, in any order. */
const surgeMoves = (world: World): readonly Move[] =>
  surgeSteps(world.model).map(({ name, act }) => {
    const acted = act(world.model);
    return { name, to: withFacts({ ...world, model: acted.model }, ...acted.facts) };
  });

/** The leader may change unless a control plane may be changed; rule C2 then keeps it. */
const leaderMoves = (world: World): readonly Move[] => {
  const { rollout: state, model, moves } = world;
  if (moves === 0 || state.status === 'absent' || state.upgrade === null) return [];
  if (
    operationsOf(state.upgrade).some(
      ({ operation, state: one }) => operation.kind === 'control-plane' && one.allowed && !one.withdrawn,
    )
  )
    return [];
  return nodesOf(model)
    .filter(({ role, name }) => role === 'control-plane' && name !== model.leader)
    .map(({ name }) => ({
      name: `etcd elects ${name}`,
      to: { ...world, model: { ...model, leader: name }, moves: moves - 1 },
    }));
};

const people = (world: World): readonly Move[] => {
  const { rollout: state } = world;
  if (state.status === 'absent' || state.upgrade === null || state.upgrade.resumeAsked) return [];
  // With one at a time, a failed node uses up the whole budget: that pauses the rollout, but does not halt it.
  const held = state.upgrade.paused?.by === 'gate' && operationsOf(state.upgrade).some(hasFailed);
  const stopped = state.upgrade.halted !== null || held;
  const aborts = world.aborts ?? 0;
  const ended = state.upgrade.status === 'ended' || state.upgrade.abortAsked !== null;
  const aborted = (): World =>
    withFacts({ ...world, aborts: aborts - 1 }, request('UpgradeAbortRequested', { reason: 'no' }));
  return [
    ...(stopped ? [{ name: 'someone retries', to: withFacts(world, request('UpgradeRetryRequested')) }] : []),
    ...(aborts > 0 && !ended ? [{ name: 'someone aborts', to: aborted() }] : []),
  ];
};

/** Every possible next step. */
const movesFrom = (world: World): readonly Move[] => {
  const { rollout: state } = world;
  if (state.status === 'absent') return [];
  const facts = kernel.decide({ state }, { type: 'StateFacts', data: { now: NOW } });
  const isAdvancing = !isRefusal(facts) && facts.length > 0;
  return [
    ...(isAdvancing ? [{ name: 'StateFacts', to: stating(world, facts) }] : []),
    ...tasks(state, NOW).flatMap((task) => taskMoves(world, task)),
    ...agentMoves(world),
    ...surgeMoves(world),
    ...leaderMoves(world),
    ...people(world),
  ];
};

/** The world after its plan was made and started. */
export const started = (world: World): World => {
  const view = world.rollout.status === 'absent' ? null : rolloutView(world.rollout);
  if (view === null) throw new Error('no upgrade was requested');
  const { upgrade } = view;
  const check = checkUpgrade(view, factsOf(world.model, NOW));
  const base = { uid: UID, upgradeId: upgrade.id, now: NOW };
  if (check.outcome === 'rejected') throw new Error(check.findings.map(({ sentence }) => sentence).join('; '));
  return decided(world, { type: 'RecordCheck', data: { ...base, ...check, planHash: planHash(check.plan) } });
};

const sorted = (names: readonly string[]): string => [...names].sort().join(',');

/** States are immutable and mostly shared between moves: each key is computed once. */
const keptFor = <Value extends object>(keyOfOne: (value: Value) => string): ((value: Value) => string) => {
  const keys = new WeakMap<Value, string>();
  return (value) => {
    const known = keys.get(value);
    if (known !== undefined) return known;
    const key = keyOfOne(value);
    keys.set(value, key);
    return key;
  };
};

/** The key of an operation's state, without revisions, times and the order in which gates and nodes answered. */
const operationKey = keptFor((state: OperationState): string =>
  [
    state.status,
    Object.values(state.passed).map(sorted).join('/'),
    sorted(state.staged),
    state.allowed,
    state.touched,
    Object.entries(state.drains).map(([node, { cordon, emptied }]) =>
      [node, cordon?.byPlan, cordon?.since === null, emptied].join('/'),
    ),
    state.leaderMoved,
    state.revision === null,
    state.nodeReady,
    state.uncordoned,
    state.withdrawn,
    state.effect,
    state.postponed,
    state.retryDesired,
    state.trouble === null,
  ].join(';'),
);

const nodeKey = keptFor((node: ModelNode): string =>
  [
    Object.values(node.components ?? {}).join(),
    node.software['kubelet'],
    node.cordoned,
    node.cordonedBy === null,
    node.emptied,
    node.ready,
    node.memberHealthy,
    node.desired.allowed,
    node.desired.change?.id,
    node.desired.stage?.id,
    sorted(node.changesDone),
    node.step,
    sorted(node.stagesDone),
  ].join(';'),
);

const keyOf = ({ rollout: state, model, moves, failures }: World): string => {
  if (state.status === 'absent' || state.upgrade === null) return 'nothing';
  const { upgrade, nodes } = state;
  return [
    ...Object.values(upgrade.operations).map(operationKey),
    ...nodesOf(model).map(nodeKey),
    sorted(Object.values(nodes).flatMap(({ name, ready }) => (ready ? [name] : []))),
    upgrade.status,
    upgrade.leader,
    upgrade.halted?.rule,
    upgrade.paused?.by,
    upgrade.resumeAsked,
    upgrade.abortAsked === null,
    upgrade.end,
    sorted(upgrade.surging),
    model.surge.desired,
    model.surge.stock,
    model.surge.stays,
    model.surge.machines.map(({ name, stage, leaving }) => `${name}/${stage}/${leaving}`).join(),
    sorted(Object.values(state.extra).map(({ name, leaving }) => `${name}/${leaving}`)),
    state.life,
    model.leader,
    model.applied.length,
    sorted(model.marked),
    model.harm.length,
    moves,
    failures,
  ].join('|');
};

export interface Explored {
  readonly states: number;
  readonly harm: readonly string[];
  /** End states other than a completed rollout. */
  readonly badEnds: readonly string[];
}

const endsWell = ({ rollout: state, model }: World): boolean =>
  state.status === 'known' &&
  (state.upgrade?.end === 'completed' || state.upgrade?.end === 'aborted') &&
  model.surge.machines.length === 0 &&
  nodesOf(model).every(({ cordoned, ready, desired }) => !cordoned && ready && !desired.allowed);

/** Visits every reachable state once. Stops at the first violation, with the path that led to it. */
export const explore = (start: World, atOnce: number, statesMax: number): Explored => {
  const seen = new Set<string>([keyOf(start)]);
  const ways: { readonly world: World; readonly way: readonly string[] }[] = [{ world: start, way: [] }];
  const badEnds: string[] = [];
  while (ways.length > 0) {
    const { world, way } = ways.pop()!;
    const fresh = movesFrom(world)
      .map((move) => ({ ...move, key: keyOf(move.to) }))
      .filter(({ key }) => !seen.has(key));
    if (fresh.length === 0 && movesFrom(world).every(({ to }) => keyOf(to) === keyOf(world)) && !endsWell(world))
      badEnds.push(way.slice(-12).join(' > '));
    for (const { name, to, key } of fresh) {
      if (seen.has(key)) continue;
      seen.add(key);
      const broken = violations(to.model, atOnce);
      if (broken.length > 0)
        return { states: seen.size, harm: [...broken, [...way, name].slice(-30).join(' > ')], badEnds };
      if (seen.size > statesMax) throw new Error(`more than ${statesMax} states`);
      ways.push({ world: to, way: [...way.slice(-30), name] });
    }
  }
  return { states: seen.size, harm: [], badEnds };
};

export const withLeader = (model: Model, leader: NodeName): Model => ({ ...model, leader });

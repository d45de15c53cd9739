import type {
  Cause,
  EventData,
  EventType,
  GateStage,
  NodeName,
  PlanOperation,
  RolloutFactType,
  SoftwareVersions,
  StoredEvent,
} from '@fairlead/contracts';
import { agentCause, attemptFailure, finalFailure } from '../agents/change.failure.js';
import {
  drainOf,
  restartedDrains,
  NEW_OPERATION,
  operationsOf,
  type DrainState,
  type OperationState,
  type Upgrade,
  refuserOf,
} from './rollout.state.js';

/** The ID by which the agent identifies the change: a rollback is a separate change. */
export const changeIdOf = ({ change, id }: PlanOperation, rollingBack: boolean): string =>
  `${change?.id ?? id}${rollingBack ? '/rollback' : ''}`;

/** From its start: a failed or aborted operation has tainted some of its nodes without recording any. */
const mayMark = (upgrade: Upgrade, id: string): Upgrade => {
  const started = operationsOf(upgrade).find(({ operation }) => operation.id === id)?.operation;
  return started?.kind === 'mark-workers' ? withMarks(upgrade, started.nodes) : upgrade;
};

const withMarks = (upgrade: Upgrade, nodes: readonly NodeName[]): Upgrade => ({
  ...upgrade,
  marked: [...new Set([...upgrade.marked, ...nodes])],
});

/** The packages that the node must report before the operation is done. */
export const packagesOf = ({ from, to }: PlanOperation, rollingBack: boolean): SoftwareVersions =>
  rollingBack ? Object.fromEntries(Object.entries(from).filter(([, version]) => version !== 'none')) : to;

export const withOperation = (
  upgrade: Upgrade,
  id: string,
  change: (state: OperationState) => Partial<OperationState>,
): Upgrade => {
  const state = upgrade.operations[id] ?? NEW_OPERATION;
  return { ...upgrade, operations: { ...upgrade.operations, [id]: { ...state, ...change(state) } } };
};

/** The open operation of a node; at most one. */
export const openOn = (upgrade: Upgrade, node: NodeName) =>
  operationsOf(upgrade).find(({ operation, state }) => operation.node === node && state.status === 'open');

const withPassed = ({ passed }: OperationState, stage: GateStage, gate: string): OperationState['passed'] => ({
  ...passed,
  [stage]: [...passed[stage].filter((known) => known !== gate), gate],
});

/** A retried operation is evaluated again. A change still in progress from the last attempt is withdrawn first. */
export const again = (state: OperationState): OperationState =>
  state.allowed && !state.withdrawn
    ? { ...state, retryDesired: true }
    : {
        ...NEW_OPERATION,
        postponed: state.postponed,
        touched: state.touched,
        drains: restartedDrains(state),
        rollingBack: state.rollingBack,
        staged: state.staged,
      };

const notReady = { nodeReady: false, readyAt: null } as const;

const reported = (upgrade: Upgrade, event: StoredEvent<'NodeReady'>): Upgrade => {
  const { node, revision, software } = event.data;
  const open = openOn(upgrade, node);
  if (open === undefined || open.state.revision === null || revision < open.state.revision) return upgrade;
  const desired = Object.entries(packagesOf(open.operation, open.state.rollingBack));
  const nodeReady = desired.every(([name, version]) => software[name] === version);
  return withOperation(upgrade, open.operation.id, ({ readyAt }) =>
    nodeReady ? { nodeReady, readyAt: readyAt ?? event.meta.time, problem: null } : notReady,
  );
};

const desiredSet = (upgrade: Upgrade, { data, meta }: StoredEvent<'DesiredVersionsSet'>): Upgrade => {
  const open = openOn(upgrade, data.node);
  if (open === undefined || data.change?.id !== changeIdOf(open.operation, open.state.rollingBack)) return upgrade;
  if (!data.changesAllowed) return upgrade;
  return withOperation(upgrade, open.operation.id, () => ({
    revision: data.revision,
    changedAt: meta.time,
    ...notReady,
  }));
};

const stageProgressed = (
  upgrade: Upgrade,
  id: string,
  { data, meta }: StoredEvent<'NodeChangeProgressed'>,
): Upgrade => {
  const { node, status } = data;
  const failure = attemptFailure(data);
  if (failure !== undefined)
    return withOperation(upgrade, id, ({ unstaged }) => ({ unstaged: { ...unstaged, [node]: failure.message } }));
  if (status !== 'done') return upgrade;
  return withOperation(upgrade, id, ({ staged }) =>
    staged.includes(node) ? {} : { staged: [...staged, node], stagedAt: meta.time },
  );
};

/** The operation whose change the node's agent reports on, unless the event refers to an earlier request. */
const changing = (upgrade: Upgrade, { node, change, revision }: EventData<'NodeChangeProgressed'>) => {
  const open = openOn(upgrade, node);
  if (open === undefined || change !== changeIdOf(open.operation, open.state.rollingBack)) return undefined;
  return open.state.revision === null || revision < open.state.revision ? undefined : open;
};

/** The last failed attempt ends the operation at once: its agent does not retry until the next request. */
const changeProgressed = (upgrade: Upgrade, event: StoredEvent<'NodeChangeProgressed'>): Upgrade => {
  const { data } = event;
  const staging = operationsOf(upgrade).find(({ operation }) => stageIdOf(upgrade, operation) === data.change);
  if (staging !== undefined && data.phase === 'stage') return stageProgressed(upgrade, staging.operation.id, event);
  const open = changing(upgrade, data);
  if (open === undefined) return upgrade;
  const failure = attemptFailure(data);
  return withOperation(upgrade, open.operation.id, () =>
    failure === undefined ? { problem: null } : { problem: failure, trouble: finalFailure(data) ?? null },
  );
};

/** The problem that keeps its agent from the change while it retries. */
const hindered = (upgrade: Upgrade, node: NodeName, problem: Cause): Upgrade => {
  const open = openOn(upgrade, node);
  return open === undefined || open.state.revision === null || open.state.trouble !== null
    ? upgrade
    : withOperation(upgrade, open.operation.id, () => ({ problem }));
};

export const stageIdOf = ({ id }: Upgrade, operation: PlanOperation): string => `${id}/${operation.id}`;

/** Agent reports that operations wait for. */
export const evolveByAgents = (upgrade: Upgrade, event: StoredEvent): Upgrade => {
  switch (event.type) {
    case 'DesiredVersionsSet':
      return desiredSet(upgrade, event);
    case 'NodeReady':
      return reported(upgrade, event);
    case 'NodeNotReady': {
      const { node, reason, message } = event.data;
      const open = openOn(upgrade, node);
      if (open === undefined) return upgrade;
      const away = withOperation(upgrade, open.operation.id, () => notReady);
      return reason === 'KubernetesNotReady'
        ? hindered(away, node, agentCause(node, 'wait until the node is Ready', message))
        : away;
    }
    case 'NodeInitializationFailed': {
      const { node, item, command, message } = event.data;
      return hindered(upgrade, node, agentCause(node, command === '' ? item : command, message));
    }
    case 'NodeChangeProgressed':
      return changeProgressed(upgrade, event);
    default:
      return upgrade;
  }
};

const withDrain = (
  upgrade: Upgrade,
  { operation, node }: { readonly operation: string; readonly node: NodeName },
  change: (drain: DrainState) => Partial<DrainState>,
): Upgrade =>
  withOperation(upgrade, operation, (state) => {
    const drain = drainOf(state, node);
    return { drains: { ...state.drains, [node]: { ...drain, ...change(drain) } } };
  });

/** Applies a fact to its upgrade. */
export type EvolveUpgrade<Type extends EventType> = (upgrade: Upgrade, event: StoredEvent<Type>) => Upgrade;

/**
 * The effect of an operation without a node: a snapshot was taken, workers are tainted, addons are compatible, surge
 * was requested or released.
 */
const effectSeen = (
  upgrade: Upgrade,
  event: StoredEvent<'NodesMarked' | 'SurgeRequested' | 'SurgeReleased' | 'AddonsUpgraded'>,
): Upgrade => withOperation(upgrade, event.data.operation, () => ({ effect: true, effectAt: event.meta.time }));

export const withoutSurge = (upgrade: Upgrade, pool: string): Upgrade => ({
  ...upgrade,
  surging: upgrade.surging.filter((name) => name !== pool),
});

const surgeFacts = {
  SurgeRequested: (upgrade, event) => {
    const { surging, ...others } = withoutSurge(effectSeen(upgrade, event), event.data.pool);
    return { ...others, surging: [...surging, event.data.pool] };
  },
  SurgeReleased: (upgrade, event) => withoutSurge(effectSeen(upgrade, event), event.data.pool),
  SurgeSkipped: (upgrade, { data, meta }) =>
    withOperation(upgrade, data.operation, () => ({ status: 'skipped', endedAt: meta.time })),
} satisfies { readonly [Type in RolloutFactType]?: EvolveUpgrade<Type> };

const drainFacts = {
  NodeCordoned: (upgrade, { data, meta }) =>
    withDrain(upgrade, data, () => ({ cordon: { byPlan: data.byPlan, since: meta.time } })),
  EvictionRefused: (upgrade, { data }) =>
    withDrain(upgrade, data, ({ refused }) => ({
      refused: { ...refused, [refuserOf(data)]: data.pods },
      words: data.message,
    })),
  NodeEmptied: (upgrade, { data }) => withDrain(upgrade, data, () => ({ emptied: true, refused: {}, words: null })),
  DrainTimedOut: (upgrade, { data: { policy, pods, ...where } }) =>
    withDrain(upgrade, where, () => ({ timedOut: { policy, pods } })),
  NodeUncordoned: (upgrade, { data }) =>
    withOperation(
      withDrain(upgrade, data, () => ({ cordon: null })),
      data.operation,
      () => ({ uncordoned: true }),
    ),
  EtcdLeaderMoved: (upgrade, { data: { to, operation } }) =>
    operation === null ? upgrade : withOperation({ ...upgrade, leader: to }, operation, () => ({ leaderMoved: true })),
} satisfies { readonly [Type in RolloutFactType]?: EvolveUpgrade<Type> };

const gateFacts = {
  GatePassed: (upgrade, { data: { operation, stage, gate, facts }, meta }) => {
    const passed = withOperation(upgrade, operation, (state) => ({
      passed: withPassed(state, stage, gate),
      ...(stage === 'before' ? { gatesPassedAt: meta.time } : {}),
      failing: state.failing?.gate === gate ? null : state.failing,
    }));
    const leader = facts['leader'];
    return gate === 'etcd-leader' && typeof leader === 'string' ? { ...passed, leader: leader as NodeName } : passed;
  },
  GateFailed: (upgrade, { data: { operation, gate, message } }) =>
    withOperation(upgrade, operation, () => ({ failing: { gate, message } })),
} satisfies { readonly [Type in RolloutFactType]?: EvolveUpgrade<Type> };

const nodeFacts = {
  UpgradeAllowed: (upgrade, { data }) =>
    withOperation(upgrade, data.operation, () => ({ allowed: true, touched: true, withdrawn: false })),
  UpgradeWithdrawn: (upgrade, { data }) =>
    withOperation(upgrade, data.operation, (state) =>
      state.retryDesired ? again({ ...state, withdrawn: true }) : { withdrawn: true },
    ),
  NodeQuarantined: (upgrade, { data, meta }) => {
    const open = openOn(upgrade, data.node);
    return open === undefined
      ? upgrade
      : withOperation(upgrade, open.operation.id, () => ({ status: 'quarantined', endedAt: meta.time }));
  },
  NodeSkipped: (upgrade, { data, meta }) =>
    operationsOf(upgrade)
      .filter(({ operation, state }) => operation.node === data.node && state.status !== 'done')
      .reduce(
        (before, { operation }) =>
          withOperation(before, operation.id, () => ({ status: 'skipped', endedAt: meta.time, leaveOut: null })),
        upgrade,
      ),
} satisfies { readonly [Type in RolloutFactType]?: EvolveUpgrade<Type> };

/** Consecutive failures are those of nodes that ended one after the other. */
const operationFailed: EvolveUpgrade<'OperationFailed'> = (upgrade, { data, meta }) => {
  const { operation, node, cause, attempt, attemptsMax, nextAttemptAt } = data;
  const failure = { cause, attempt, attemptsMax, nextAttemptAt, at: meta.time };
  if (nextAttemptAt !== null) return withOperation(upgrade, operation, () => ({ failure }));
  const failed = withOperation(upgrade, operation, () => ({ status: 'failed', endedAt: meta.time, failure }));
  return node === null ? failed : { ...failed, failuresInARow: failed.failuresInARow + 1 };
};

/** The progress of operations, as recorded by upgrade-svc. */
export const OPERATION_FACTS = {
  ...surgeFacts,
  ...drainFacts,
  ...gateFacts,
  ...nodeFacts,
  OperationStarted: (upgrade, { data, meta }) =>
    withOperation(mayMark(upgrade, data.operation), data.operation, () => ({
      status: 'open',
      startedAt: meta.time,
      failure: null,
    })),
  OperationPostponed: (upgrade, { data }) =>
    withOperation(upgrade, data.operation, (state) => ({
      ...NEW_OPERATION,
      drains: restartedDrains(state),
      touched: state.touched,
      rollingBack: state.rollingBack,
      postponed: state.postponed || data.by === 'leader',
    })),
  OperationCompleted: (upgrade, { data, meta }) => {
    const done = withOperation(upgrade, data.operation, () => ({ status: 'done', endedAt: meta.time, failure: null }));
    return data.node === null ? done : { ...done, failuresInARow: 0 };
  },
  OperationFailed: operationFailed,
  EtcdSnapshotTaken: (upgrade, { data, meta }) =>
    data.operation === null
      ? upgrade
      : withOperation(upgrade, data.operation, () => ({ effect: true, effectAt: meta.time })),
  NodesMarked: (upgrade, event) => withMarks(effectSeen(upgrade, event), event.data.nodes),
  NodesUnmarked: (upgrade, { data }) => ({
    ...upgrade,
    marked: upgrade.marked.filter((node) => !data.nodes.includes(node)),
  }),
  PoolReplacementRequested: (upgrade, { data: { operation, requestId, nodes }, meta }) =>
    withOperation(upgrade, operation, () => ({
      effect: true,
      effectAt: meta.time,
      replacement: { requestId, nodes, begun: [], joined: [], isDone: false },
    })),
  AddonsUpgraded: effectSeen,
} satisfies { readonly [Type in RolloutFactType]?: EvolveUpgrade<Type> };

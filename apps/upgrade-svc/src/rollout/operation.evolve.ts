import type { GateStage, NodeName, PlanOperation, SoftwareVersions, StoredEvent } from '@fairlead/contracts';
import {
  drainOf,
  restartedDrains,
  NEW_OPERATION,
  operationsOf,
  type DrainState,
  type OperationState,
  type Upgrade,
} from './rollout.state.js';

/** The id under which the agent remembers what it did: going back is a change of its own. */
export const changeIdOf = ({ change, id }: PlanOperation, rollingBack: boolean): string =>
  `${change?.id ?? id}${rollingBack ? '/rollback' : ''}`;

/** What the node must report to be done: the packages that the operation is about. */
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

/** The operation that is at work on a node now; at most one is. */
export const openOn = (upgrade: Upgrade, node: NodeName) =>
  operationsOf(upgrade).find(({ operation, state }) => operation.node === node && state.status === 'open');

const withPassed = ({ passed }: OperationState, stage: GateStage, gate: string): OperationState['passed'] => ({
  ...passed,
  [stage]: [...passed[stage].filter((known) => known !== gate), gate],
});

/** What is tried again is looked at again. What is still under way of the last try is let go first. */
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
    nodeReady ? { nodeReady, readyAt: readyAt ?? event.meta.time } : notReady,
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

const changeProgressed = (upgrade: Upgrade, { data }: StoredEvent<'NodeChangeProgressed'>): Upgrade => {
  const { node, change, phase, status, message } = data;
  const staging = operationsOf(upgrade).find(({ operation }) => stageIdOf(upgrade, operation) === change);
  if (staging === undefined || phase !== 'stage') return upgrade;
  if (status === 'failed')
    return withOperation(upgrade, staging.operation.id, ({ unstaged }) => ({
      unstaged: { ...unstaged, [node]: message ?? 'it failed' },
    }));
  if (status !== 'done') return upgrade;
  return withOperation(upgrade, staging.operation.id, ({ staged }) => ({
    staged: staged.includes(node) ? staged : [...staged, node],
  }));
};

export const stageIdOf = ({ id }: Upgrade, operation: PlanOperation): string => `${id}/${operation.id}`;

/** What agents say that an operation waits for. */
export const evolveByAgents = (upgrade: Upgrade, event: StoredEvent): Upgrade => {
  switch (event.type) {
    case 'DesiredVersionsSet':
      return desiredSet(upgrade, event);
    case 'NodeReady':
      return reported(upgrade, event);
    case 'NodeNotReady': {
      const open = openOn(upgrade, event.data.node);
      return open === undefined ? upgrade : withOperation(upgrade, open.operation.id, () => notReady);
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

const evolveDrain = (upgrade: Upgrade, event: StoredEvent): Upgrade => {
  const { time } = event.meta;
  switch (event.type) {
    case 'NodeCordoned':
      return withDrain(upgrade, event.data, () => ({ cordon: { byPlan: event.data.byPlan, since: time } }));
    case 'EvictionRefused': {
      const { budget, pods } = event.data;
      return withDrain(upgrade, event.data, ({ refused }) => ({ refused: { ...refused, [budget ?? '']: pods } }));
    }
    case 'EtcdLeaderMoved': {
      const moved = { ...upgrade, leader: event.data.to };
      return withOperation(moved, event.data.operation, () => ({ leaderMoved: true }));
    }
    case 'NodeEmptied':
      return withDrain(upgrade, event.data, () => ({ emptied: true, refused: {} }));
    case 'DrainTimedOut': {
      const { policy, pods } = event.data;
      return withDrain(upgrade, event.data, () => ({ timedOut: { policy, pods } }));
    }
    case 'NodeUncordoned': {
      const freed = withDrain(upgrade, event.data, () => ({ cordon: null }));
      return withOperation(freed, event.data.operation, () => ({ uncordoned: true }));
    }
    default:
      return upgrade;
  }
};

const evolveGates = (upgrade: Upgrade, event: StoredEvent): Upgrade => {
  switch (event.type) {
    case 'GatePassed': {
      const { operation, stage, gate, facts } = event.data;
      const passed = withOperation(upgrade, operation, (state) => ({
        passed: withPassed(state, stage, gate),
        failing: state.failing?.gate === gate ? null : state.failing,
      }));
      const leader = facts['leader'];
      return gate === 'etcd-leader' && typeof leader === 'string' ? { ...passed, leader: leader as NodeName } : passed;
    }
    case 'GateFailed': {
      const { operation, gate, message } = event.data;
      return withOperation(upgrade, operation, () => ({ failing: { gate, message } }));
    }
    default:
      return evolveDrain(upgrade, event);
  }
};

/** What effects of an operation without a node came to. */
const evolveEffects = (upgrade: Upgrade, event: StoredEvent): Upgrade => {
  const seen = (): Partial<OperationState> => ({ effect: true, effectAt: event.meta.time });
  switch (event.type) {
    case 'EtcdSnapshotTaken':
      return event.data.operation === null ? upgrade : withOperation(upgrade, event.data.operation, seen);
    case 'NodesMarked':
      return {
        ...withOperation(upgrade, event.data.operation, seen),
        marked: [...new Set([...upgrade.marked, ...event.data.nodes])],
      };
    case 'NodesUnmarked':
      return { ...upgrade, marked: upgrade.marked.filter((node) => !event.data.nodes.includes(node)) };
    case 'SurgeRequested':
    case 'SurgeReleased':
    case 'AddonsUpgraded':
      return withOperation(upgrade, event.data.operation, seen);
    case 'SurgeSkipped':
      return withOperation(upgrade, event.data.operation, () => ({ status: 'skipped', endedAt: event.meta.time }));
    default:
      return evolveGates(upgrade, event);
  }
};

/** The course of an operation, as we told it. */
export const evolveOperations = (upgrade: Upgrade, event: StoredEvent): Upgrade => {
  const { time } = event.meta;
  switch (event.type) {
    case 'OperationStarted':
      return withOperation(upgrade, event.data.operation, () => ({ status: 'open', startedAt: time, failure: null }));
    case 'OperationPostponed':
      return withOperation(upgrade, event.data.operation, (state) => ({
        ...NEW_OPERATION,
        drains: restartedDrains(state),
        touched: state.touched,
        rollingBack: state.rollingBack,
        postponed: state.postponed || event.data.by === 'leader',
      }));
    case 'OperationCompleted':
      return withOperation(upgrade, event.data.operation, () => ({ status: 'done', endedAt: time, failure: null }));
    case 'OperationFailed': {
      const { operation, cause, attempt, attemptsMax, nextAttemptAt } = event.data;
      const status = nextAttemptAt === null ? { status: 'failed' as const, endedAt: time } : {};
      return withOperation(upgrade, operation, () => ({
        ...status,
        failure: { cause, attempt, attemptsMax, nextAttemptAt, at: time },
      }));
    }
    case 'UpgradeAllowed':
      return withOperation(upgrade, event.data.operation, () => ({ allowed: true, touched: true, withdrawn: false }));
    case 'UpgradeWithdrawn':
      return withOperation(upgrade, event.data.operation, (state) =>
        state.retryDesired ? again({ ...state, withdrawn: true }) : { withdrawn: true },
      );
    case 'NodeQuarantined': {
      const open = openOn(upgrade, event.data.node);
      return open === undefined
        ? upgrade
        : withOperation(upgrade, open.operation.id, () => ({ status: 'quarantined', endedAt: time }));
    }
    case 'NodeSkipped':
      return operationsOf(upgrade)
        .filter(({ operation, state }) => operation.node === event.data.node && state.status !== 'done')
        .reduce(
          (before, { operation }) =>
            withOperation(before, operation.id, () => ({ status: 'skipped', endedAt: time, leaveOut: null })),
          upgrade,
        );
    default:
      return evolveEffects(upgrade, event);
  }
};

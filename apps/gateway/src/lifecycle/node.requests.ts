import type { EventData, StoredEvent } from '@fairlead/contracts';
import { leavingIn, replacementIn, requestedSets, type Replacement } from '@fairlead/domain';

/** Nodes that someone asked to be replaced, and why. */
export type AskedNodes = Pick<EventData<'PoolRolloutRequested'>, 'nodes' | 'reason'>;

/** A request for nodes that is not done. */
export interface NodeRequest {
  /** Open: its nodes are on their way. Kept: it failed, and its nodes wait for a retry or for their end. */
  readonly state: 'open' | 'kept';
  /** Its nodes that are not part of the cluster; empty: none is planned yet. */
  readonly nodes: readonly string[];
  /** How many machines it asks for that are not named yet. */
  readonly awaited: number;
  /** Its machines run. */
  readonly announced: boolean;
  /** The node that its node comes in the place of; absent: its nodes are additional. */
  readonly replaces?: string;
  /** The pool whose nodes are replaced, one after the other; absent: it is no rollout. */
  readonly rollout?: string;
  /** Of a rollout: the nodes that someone asked for; absent: those whose machines are not as declared. */
  readonly asked?: AskedNodes;
  /** It is part of a rollout. */
  readonly isOfRollout?: true;
}

/** The requests for nodes of a cluster that are not done, by their ids. */
export type NodeRequests = ReadonlyMap<string, NodeRequest>;

export const NO_NODE_REQUESTS: NodeRequests = new Map();

export const isGrowing = (additions: NodeRequests): boolean =>
  [...additions.values()].some(({ state }) => state === 'open');

/** How many machines were asked for and have no name yet. */
export const pendingMachines = (additions: NodeRequests): number =>
  [...additions.values()].reduce((sum, { awaited }) => sum + awaited, 0);

export const isFailedAndKept = (additions: NodeRequests): boolean =>
  [...additions.values()].some(({ state }) => state === 'kept');

export const isReplaced = (additions: NodeRequests, node: string): boolean =>
  [...additions.values()].some(({ replaces }) => replaces === node);

/** A node is being replaced, or those of a pool are. */
export const isReplacing = (additions: NodeRequests): boolean =>
  [...additions.values()].some(
    ({ state, replaces, rollout }) => state === 'open' && (replaces ?? rollout) !== undefined,
  );

/**
 * What is under way is the rollout of pools to what is declared, and nothing else: their templates may change meanwhile. Nodes that
 * someone asked for would be forgotten by the next rollout of their pool.
 */
export const isRollingOut = (additions: NodeRequests): boolean =>
  isGrowing(additions) &&
  [...additions.values()].every(
    ({ state, rollout, isOfRollout, asked }) =>
      state === 'kept' || (rollout !== undefined && asked === undefined) || isOfRollout === true,
  );

/** The rollout of the pool that has failed, and waits for a retry or for another change of the pool. */
export const failedRolloutOf = (additions: NodeRequests, pool: string): NodeRequest | undefined =>
  [...additions.values()].find(({ state, rollout }) => state === 'kept' && rollout === pool);

export const hasFailedRollout = (additions: NodeRequests): boolean =>
  [...additions.values()].some(({ state, rollout }) => state === 'kept' && rollout !== undefined);

const without = (additions: NodeRequests, requestId: string): NodeRequests =>
  new Map([...additions].filter(([id]) => id !== requestId));

const change = (additions: NodeRequests, requestId: string, to: Partial<NodeRequest>): NodeRequests => {
  const addition = additions.get(requestId);
  return addition === undefined ? additions : new Map(additions).set(requestId, { ...addition, ...to });
};

/** A node that has come or gone after all; with the last one there is nothing left to try again. */
const withoutNode = (additions: NodeRequests, node: string, from: (addition: NodeRequest) => boolean): NodeRequests => {
  const left = [...additions].flatMap(([id, addition]): [string, NodeRequest][] => {
    if (!from(addition) || !addition.nodes.includes(node)) return [[id, addition]];
    const nodes = addition.nodes.filter((name) => name !== node);
    return nodes.length === 0 ? [] : [[id, { ...addition, nodes }]];
  });
  return new Map(left);
};

const failed = (
  additions: NodeRequests,
  { requestId, onFailure }: EventData<'VmsFailed' | 'NodesFailed'>,
  nodes: readonly string[],
): NodeRequests =>
  onFailure === 'rollback' ? without(additions, requestId) : change(additions, requestId, { state: 'kept', nodes });

const announced = (additions: NodeRequests, names: readonly string[]): NodeRequests =>
  new Map(
    [...additions].map(([id, addition]) => [
      id,
      addition.nodes.some((name) => names.includes(name)) ? { ...addition, announced: true } : addition,
    ]),
  );

/** A node that is being replaced already is replaced by no other. */
const replaced = (additions: NodeRequests, { requestId, node, rollout }: Replacement): NodeRequests => {
  if (isReplaced(additions, node)) return additions;
  const part = rollout === undefined ? {} : { isOfRollout: true as const };
  return new Map(additions).set(requestId, {
    state: 'open',
    nodes: [],
    awaited: 1,
    announced: false,
    replaces: node,
    ...part,
  });
};

/** The latest rollout of a pool supersedes the one before. */
const rolledOut = (
  additions: NodeRequests,
  { uid: _uid, requestId, pool, ...asked }: EventData<'PoolRolloutRequested'>,
): NodeRequests =>
  new Map([...additions].filter(([, { rollout }]) => rollout !== pool)).set(requestId, {
    state: 'open',
    nodes: [],
    awaited: 0,
    announced: false,
    rollout: pool,
    ...(asked.nodes === undefined ? {} : { asked }),
  });

/** The requests that are not done after an event. */
export const nodeRequestsAfter = (additions: NodeRequests, event: StoredEvent): NodeRequests => {
  switch (event.type) {
    case 'NodesRequested':
      return new Map(additions).set(event.data.requestId, {
        state: 'open',
        nodes: [],
        awaited: requestedSets(event.data).reduce((sum, { count }) => sum + count, 0),
        announced: false,
      });
    case 'VmsPlanned': {
      const { requestId, machines } = event.data;
      return requestId === undefined
        ? additions
        : change(additions, requestId, { state: 'open', nodes: machines.map(({ name }) => name), awaited: 0 });
    }
    case 'VmsCreated':
      return announced(
        additions,
        event.data.machines.map(({ name }) => name),
      );
    case 'PoolRolloutRequested':
      return rolledOut(additions, event.data);
    case 'PoolRolloutFailed':
      return change(additions, event.data.requestId, { state: 'kept' });
    case 'PoolRolloutCompleted':
    case 'NodeReplacementReady':
    case 'NodesRejected':
    case 'NodesAbandoned':
      return without(additions, event.data.requestId);
    case 'VmsFailed':
      return failed(additions, event.data, event.data.machines);
    case 'NodesFailed':
      return failed(additions, event.data, event.data.nodes);
    case 'NodeReady':
      return withoutNode(additions, event.data.node, ({ state }) => state === 'kept');
    case 'VmDeleted':
      return withoutNode(additions, event.data.name, () => true);
    case 'ClusterRetryRequested':
      return new Map([...additions].map(([id, addition]) => [id, { ...addition, state: 'open' }]));
    case 'ClusterReady':
      return new Map([...additions].filter(([, one]) => one.state === 'kept' || !one.announced));
    default: {
      const replacement = replacementIn(event);
      return replacement === undefined ? additions : replaced(additions, replacement);
    }
  }
};

const LEAVING = ['RemoveNode/', 'DeleteMachine/'];

/** What has failed permanently and needs an operator: a step on a node, or a deletion. */
export const stuckAfter = (stuck: ReadonlySet<string>, event: StoredEvent): ReadonlySet<string> => {
  switch (event.type) {
    case 'BootstrapStepFailed': {
      const { step, node = '', nextAttemptAt } = event.data;
      return nextAttemptAt === null ? new Set([...stuck, stuckKey(step, node)]) : stuck;
    }
    case 'VmDeletionFailed': {
      const names = event.data.machines.length === 0 ? [''] : event.data.machines;
      return new Set([...stuck, ...names.map((name) => stuckKey('DeleteMachine', name))]);
    }
    case 'VmDeleted':
      return new Set([...stuck].filter((key) => !key.endsWith(`/${event.data.name}`)));
    case 'NodeRemovalCancelled':
      return new Set([...stuck].filter((key) => key !== stuckKey('RemoveNode', event.data.node)));
    case 'ClusterRetryRequested':
      return new Set();
    case 'ClusterReady': // Of what leaves, it says nothing.
      return new Set([...stuck].filter((key) => LEAVING.some((step) => key.startsWith(step))));
    default: {
      const leaving = new Set(leavingIn(event).map((node) => stuckKey('RemoveNode', node)));
      return leaving.size === 0 ? stuck : new Set([...stuck].filter((key) => !leaving.has(key)));
    }
  }
};

export const stuckKey = (step: string, node: string): string => `${step}/${node}`;

import {
  ACTION_PARTICIPLES,
  isRefusal,
  refuse,
  takesDown,
  type Fact,
  type NodeActionKind,
  type NodeName,
  type NodeSelection,
  type Refusal,
  type StoredEvent,
} from '@fairlead/contracts';
import { majorityOf } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { isReplaced } from '../lifecycle/node.requests.js';
import { refuseBesideActionOf } from '../lifecycle/node.actions.js';
import { refuseWhilePaused } from '../lifecycle/pause.js';
import { isForeign, membershipAfter, type ClusterMembership } from '../lifecycle/membership.js';
import { blocksOthers, latestUpgradeAfter, refuseBeside, type PhasedUpgrade } from '../lifecycle/upgrade.phase.js';
import { selectNodes } from '../lifecycle/selection.rules.js';

interface NamedCluster {
  readonly namespace: string;
  readonly cluster: string;
}

export type RequestAction = Command<
  'RequestAction',
  NamedCluster & {
    readonly requestId: string;
    readonly action: NodeActionKind;
    readonly select: NodeSelection;
    readonly reason: string;
    readonly drain: boolean;
    readonly drainTimeoutSeconds: number;
    readonly maxUnavailable: number;
    readonly expiresAt: string;
  }
>;
/** `operation`: the id of the event that requested it. */
export type CancelAction = Command<
  'CancelAction',
  NamedCluster & { readonly operation: string; readonly reason: string }
>;
export type ActionsCommand = RequestAction | CancelAction;

type ActionRequestFact = Fact<'NodeActionRequested' | 'NodeActionCancelled'>;

/** The cluster of a name, its nodes, and what was asked of them. */
export interface ActionsState {
  readonly cluster: ClusterMembership | undefined;
  readonly upgrade: PhasedUpgrade | undefined;
  /** Nodes that stay cordoned until someone asks for the end. */
  readonly cordoned: ReadonlySet<string>;
}

/** More are refused, so that the state of a cluster stays small. */
const REQUESTS_OPEN_MAX = 20;

const named = ({ namespace, cluster }: NamedCluster): { namespace: string; cluster: string } => ({
  namespace,
  cluster,
});

const blockingWork = ({ cluster, upgrade }: ActionsState, { data }: RequestAction): Refusal | undefined => {
  if (cluster === undefined) return refuse('cluster.unknown', named(data));
  if (cluster.phase === 'Deleting') return refuse('cluster.deleting', { cluster: data.cluster });
  const action = `${data.action} a node`;
  const paused = refuseWhilePaused(cluster.pause, data, action);
  if (paused !== undefined) return paused;
  if (cluster.phase !== 'Provisioned') return refuse('cluster.not-ready', { action, phase: cluster.phase });
  if (upgrade !== undefined && blocksOthers(upgrade)) return refuseBeside(upgrade, named(data), action);
  return cluster.actions.length >= REQUESTS_OPEN_MAX ? refuse('cluster.busy', { ...named(data), action }) : undefined;
};

/** C8, as agents report it; it is checked again before each node. */
const breaksQuorum = (
  { nodes }: ClusterMembership,
  { action }: RequestAction['data'],
  node: string,
): Refusal | undefined => {
  if (!takesDown(action)) return undefined;
  if (nodes[node]?.role !== 'control-plane') return undefined;
  const all = Object.values(nodes).filter(({ role }) => role === 'control-plane');
  const after = all.filter(({ name, ready, lost }) => name !== node && ready && !lost).length;
  if (all.length === 1 || after >= majorityOf(all.length)) return undefined;
  return refuse('node.action-quorum', { action, node, after, before: all.length });
};

/** Why a node that was named cannot be asked for it. */
const faultOf = (
  state: ActionsState,
  cluster: ClusterMembership,
  data: RequestAction['data'],
  node: string,
): Refusal | undefined => {
  const { action } = data;
  if (cluster.nodes[node]?.leaving === true) return refuse('node.leaving', { node });
  if (isReplaced(cluster.additions, node)) return refuse('node.being-replaced', { ...named(data), node });
  const open = refuseBesideActionOf(cluster.actions, { ...named(data), node }, action);
  if (open !== undefined) return open;
  if (action === 'uncordon' && !state.cordoned.has(node)) return refuse('node.not-cordoned', { node });
  return undefined;
};

/** It is so already. */
const isIdle = ({ cordoned }: ActionsState, { action }: RequestAction['data'], node: string): boolean =>
  action === 'cordon' && cordoned.has(node);

/** Nodes that were named must all be able to; of a pool, or of all, those that are not take no part. */
const takingPart = (
  state: ActionsState,
  cluster: ClusterMembership,
  data: RequestAction['data'],
): readonly string[] | Refusal => {
  const selected = selectNodes(cluster.nodes, data.select, data);
  if (isRefusal(selected)) return selected;
  const isNamed = data.select.nodes.length > 0;
  const able: string[] = [];
  for (const node of selected) {
    const fault = faultOf(state, cluster, data, node);
    if (fault === undefined) able.push(node);
    else if (isNamed || fault.code === 'node.action-open') return fault;
  }
  const none = refuse('node.none-selected', { ...named(data), done: ACTION_PARTICIPLES[data.action] }, 'select');
  return able.length === 0 ? none : able;
};

const request = (state: ActionsState, command: RequestAction): readonly ActionRequestFact[] | Refusal => {
  const { data } = command;
  const hindrance = blockingWork(state, command);
  if (hindrance !== undefined || state.cluster === undefined) return hindrance ?? nothing;
  const nodes = takingPart(state, state.cluster, data);
  if (isRefusal(nodes)) return nodes;
  const toDo = nodes.filter((node) => !isIdle(state, data, node));
  const { cluster } = state;
  const quorum = toDo.flatMap((node) => breaksQuorum(cluster, data, node) ?? [])[0];
  if (quorum !== undefined || toDo.length === 0) return quorum ?? nothing;
  const { requestId, action, reason, drain, drainTimeoutSeconds, maxUnavailable, expiresAt } = data;
  return [
    {
      type: 'NodeActionRequested',
      data: {
        ...{ uid: state.cluster.uid, requestId, action, reason, drain, drainTimeoutSeconds, maxUnavailable, expiresAt },
        nodes: toDo as NodeName[],
      },
    },
  ];
};

const cancel = ({ cluster }: ActionsState, { data }: CancelAction): readonly ActionRequestFact[] | Refusal => {
  const { operation, reason } = data;
  if (cluster === undefined) return refuse('cluster.unknown', named(data));
  const found = cluster.actions.find((one) => one.operation === operation);
  const detail = 'it is no request about nodes that is under way';
  if (found === undefined) return refuse('operation.not-cancellable', { ...named(data), operation, detail });
  if (found.cancelled) return nothing;
  const paused = refuseWhilePaused(cluster.pause, data, 'cancel an operation');
  const { uid } = cluster;
  return paused ?? [{ type: 'NodeActionCancelled', data: { uid, requestId: found.requestId, reason } }];
};

const cordonedAfter = (cordoned: ReadonlySet<string>, event: StoredEvent): ReadonlySet<string> => {
  const without = (name: string): ReadonlySet<string> => new Set([...cordoned].filter((one) => one !== name));
  switch (event.type) {
    case 'NodeActionCordoned':
      return event.data.byRequest ? new Set([...cordoned, event.data.node]) : cordoned;
    case 'NodeActionUncordoned':
      return without(event.data.node);
    case 'VmDeleted':
      return without(event.data.name);
    default:
      return cordoned;
  }
};

/** What people may ask of nodes that stay. */
export const actions: Decider<ActionsState, ActionsCommand, ActionRequestFact> = {
  initial: { cluster: undefined, upgrade: undefined, cordoned: new Set() },
  reads: 'cluster',

  decide: (state, command) => (command.type === 'RequestAction' ? request(state, command) : cancel(state, command)),

  evolve: (state, event) => {
    const cluster = membershipAfter(state.cluster, event);
    if (event.type === 'ClusterRequested' || cluster === undefined) return { ...actions.initial, cluster };
    if (isForeign(cluster, event)) return state;
    return {
      cluster,
      upgrade: latestUpgradeAfter(state.upgrade, event),
      cordoned: cordonedAfter(state.cordoned, event),
    };
  },
};

import type { ClusterUid, EventData, NodeName, StoredEvent } from '@fairlead/contracts';
import { nothing, type Decider, type Reconciler } from '@fairlead/event-sourcing';
import { outdated, planner } from './network.planner.js';
import {
  basisAfter,
  NO_NETWORK,
  podNetworkOf,
  withServing,
  type Network,
  type NetworkBasis,
  type NetworkState,
} from './network.state.js';

/** Data of the task: these nodes must be assigned their current network configuration. */
export interface SetNetwork {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly nodes: readonly NodeName[];
  readonly again: boolean;
}

type Due = NetworkState['due'];

const dueWithout = (due: Due, gone: string): Due =>
  Object.fromEntries(
    Object.entries(due)
      .map(([id, { nodes, again }]) => [id, { nodes: nodes.filter((name) => name !== gone), again }] as const)
      .filter(([, { nodes }]) => nodes.length > 0),
  );

const dueFor = (due: Due, id: string, nodes: readonly NodeName[], again: boolean): Due =>
  nodes.length === 0 ? due : { ...due, [id]: { nodes, again } };

const begin = ({ data: { uid, spec } }: StoredEvent<'ClusterRequested'>): Network => ({
  status: 'known',
  uid,
  basis: {
    uid,
    ...podNetworkOf(spec),
    declared: {},
    balancer: null,
    jumps: [],
    nodes: {},
    routerIds: {},
    serving: {},
    drains: [],
  },
  said: {},
  due: {},
});

/** VRRP groups in use are kept, and a node no longer holds what it must give up. */
const given = (basis: NetworkBasis, { node, loadBalancing }: EventData<'DesiredNetworkSet'>): NetworkBasis => {
  const held = loadBalancing?.addresses ?? [];
  const ids = Object.fromEntries(held.map(({ name, routerId }) => [name, routerId]));
  const isKnown = Object.entries(ids).every(([name, id]) => basis.routerIds[name] === id);
  const kept = (basis.serving[node] ?? []).filter((name) => name in ids);
  return withServing(isKnown ? basis : { ...basis, routerIds: { ...basis.routerIds, ...ids } }, node, kept);
};

/** A withdrawn task may have assigned an older configuration than the current one, which is then assigned again. */
const set = (before: NetworkState, { data, meta }: StoredEvent<'DesiredNetworkSet'>): NetworkState => {
  const { node, revision, attempt, loadBalancing } = data;
  const state = { ...before, basis: given(before.basis, data) };
  const addresses = loadBalancing?.addresses.map(({ name }) => name);
  const words = { revision, attempt, failed: false, ...(addresses === undefined ? {} : { addresses }) };
  const said = { ...state.said, [node]: words };
  const due = dueWithout(state.due, node);
  const known = state.basis.nodes[node];
  const isOlder = known !== undefined && planner(state.basis)(known).revision !== revision;
  return { ...state, said, due: dueFor(due, meta.id, isOlder ? [node] : [], false) };
};

/** Records the result. A report about an earlier configuration is ignored. */
const ended = (
  { said }: NetworkState,
  { node, revision, attempt }: EventData<'NodeNetworkApplied'>,
  failed: boolean,
): Pick<NetworkState, 'said'> | undefined => {
  const known = said[node];
  if (known?.revision !== revision || known.attempt !== attempt || known.failed === failed) return undefined;
  return { said: { ...said, [node]: { ...known, failed } } };
};

const failedIn = ({ said }: NetworkState): readonly NodeName[] =>
  Object.entries(said).flatMap(([name, { failed }]) => (failed ? [name as NodeName] : []));

const forget = (state: NetworkState, name: string): Pick<NetworkState, 'said' | 'due'> => {
  const { [name]: _gone, ...said } = state.said;
  return { said, due: dueWithout(state.due, name) };
};

/** Determines the nodes that need another configuration after the event. */
const replanned = (state: NetworkState, { meta }: StoredEvent): NetworkState => {
  const kept = Object.fromEntries(Object.entries(state.due).filter(([, { again }]) => again));
  return { ...state, due: dueFor(kept, meta.id, outdated(state.basis, state.said), false) };
};

/** A starting agent affects no other nodes unless there are virtual addresses. */
const rebased = (state: NetworkState, event: StoredEvent): NetworkState => {
  const basis = basisAfter(state.basis, event);
  if (basis === state.basis) return state;
  const gone = event.type === 'VmDeleted' ? forget(state, event.data.name) : {};
  const after = { ...state, ...gone, basis };
  if (event.type === 'AgentStarted' && basis.declared.virtualAddresses === undefined) {
    const own = outdated(basis, after.said).filter((name) => name === event.data.node);
    return { ...after, due: dueFor(after.due, event.meta.id, own, false) };
  }
  return replanned(after, event);
};

/** A node that can hold an address may relieve a leaving one. */
const applied = (state: NetworkState, event: StoredEvent<'NodeNetworkApplied'>): NetworkState => {
  const { node, revision, attempt } = event.data;
  const known = state.said[node];
  const said = ended(state, event.data, false);
  const after = said === undefined ? state : { ...state, ...said };
  if (known?.revision !== revision || known.attempt !== attempt) return after;
  const basis = withServing(state.basis, node, known.addresses ?? []);
  return basis === state.basis ? after : replanned({ ...after, basis }, event);
};

const evolveKnown = (state: NetworkState, event: StoredEvent): NetworkState => {
  switch (event.type) {
    case 'DesiredNetworkSet':
      return set(state, event);
    case 'NodeNetworkApplied':
      return applied(state, event as StoredEvent<'NodeNetworkApplied'>);
    case 'NodeNetworkFailed': {
      const said = ended(state, event.data, true);
      return said === undefined ? state : { ...state, ...said };
    }
    case 'NetworkRetryRequested':
      return { ...state, due: dueFor(state.due, event.meta.id, failedIn(state), true) };
    default:
      return rebased(state, event);
  }
};

const evolve = (state: Network, event: StoredEvent): Network => {
  if (event.type === 'ClusterRequested') return begin(event);
  if (state.status === 'none' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  // Its nodes are removed one by one; their firewalls no longer matter.
  if (event.type === 'ClusterDeletionRequested' || event.type === 'ClusterDeleted') return NO_NETWORK;
  const after = evolveKnown(state, event);
  return after === state ? state : { status: 'known', ...after };
};

/** Has no commands: the configuration of nodes is decided in a stream per node (network.decider.ts). */
const networks: Decider<Network, never, never> = {
  initial: NO_NETWORK,
  reads: 'cluster',
  decide: () => nothing,
  evolve,
};

/** Assigns changed network configurations to nodes. */
export const networkReconciler: Reconciler<Network, never, never> = {
  name: 'network',
  version: 5,
  context: 'rollout',
  decider: networks,
  generation: (state) => (state.status === 'none' ? '' : state.uid),

  tasks: (state) =>
    state.status === 'none'
      ? []
      : Object.entries(state.due).map(([id, { nodes, again }]) => {
          const data: SetNetwork = { uid: state.uid, nodes, again };
          const reason = again ? 'an operator asked for another try' : 'what nodes accept has changed';
          return { type: 'SetDesiredNetwork', key: `SetDesiredNetwork/${id}`, reason, data };
        }),
};

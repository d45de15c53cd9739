import {
  CONTROL_PLANE_POOL,
  readinessAfter,
  replacedIn,
  replacementIn,
  without,
  type Cause,
  type DeclaredSpec,
  type EventData,
  type HealthCheck,
  type MachinePlan,
  type NodeName,
  type Readiness,
  type ReadinessEvent,
  type StoredEvent,
} from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { BUILDING, evolveLifecycle } from '../lifecycle/lifecycle.evolve.js';
import {
  ABSENT,
  isOurs,
  newMember,
  type Known,
  type Member,
  type Open,
  type Remediation,
} from './remediation.state.js';

const begin = ({ data: { uid } }: StoredEvent<'ClusterRequested'>): Known => ({
  status: 'known',
  uid,
  ...BUILDING,
  checks: {},
  members: {},
  open: {},
  requests: 0,
  suspended: {},
  resumedAt: null,
  permitted: {},
});

const checksOf = ({ controlPlane, pools }: DeclaredSpec): Known['checks'] =>
  Object.fromEntries(
    [{ name: CONTROL_PLANE_POOL, health: controlPlane.health }, ...pools].flatMap(
      ({ name, health }): [string, HealthCheck][] => (health === undefined ? [] : [[name, health]]),
    ),
  );

const openOf = ({ open }: Known, requestId: string | undefined): Open | undefined =>
  requestId === undefined ? undefined : open[requestId];

const withOpen = (state: Known, requestId: string, change: Partial<Open>): Known => {
  const open = state.open[requestId];
  return open === undefined ? state : { ...state, open: { ...state.open, [requestId]: { ...open, ...change } } };
};

/** A replacement counts on from the node that it replaces. */
const planned = (state: Known, { machines, requestId }: EventData<'VmsPlanned'>): Known => {
  const fresh = machines.filter(({ name, surge }: MachinePlan) => surge === undefined && !(name in state.members));
  const replaces = openOf(state, requestId);
  const tried =
    replaces === undefined ? null : { attempt: replaces.attempt, action: replaces.action, at: replaces.startedAt };
  const added = Object.fromEntries(fresh.map((machine) => [machine.name, { ...newMember(machine), tried }]));
  const after = { ...state, members: { ...state.members, ...added } };
  const [first] = fresh;
  return replaces === undefined || first === undefined
    ? after
    : withOpen(after, replaces.requestId, { replacement: first.name });
};

const withMember = (state: Known, name: string, change: (member: Member) => Partial<Member>): Known => {
  const member = state.members[name];
  if (member === undefined) return state;
  return { ...state, members: { ...state.members, [name]: { ...member, ...change(member) } } };
};

/** It reports Ready or not, sends heartbeats or not, has a Node object and its address or not: since when it is well or not follows. */
const observed = (
  state: Known,
  name: NodeName,
  time: string,
  change: Partial<Pick<Member, keyof Readiness | 'lost' | 'movedTo' | 'everReady' | 'kept'>>,
): Known =>
  withMember(state, name, (before) => {
    const member = { ...before, ...change };
    if (!member.everReady) return change;
    if (member.ready && !member.lost && member.movedTo === null)
      return { ...change, wellSince: member.wellSince ?? time, unwellSince: null, skipped: null };
    const wellForMs =
      before.wellSince === null ? before.wellForMs : Math.max(0, Date.parse(time) - Date.parse(before.wellSince));
    return { ...change, wellSince: null, unwellSince: before.unwellSince ?? time, wellForMs };
  });

/** A kubelet, and the certificates and etcd of a control plane, keep the address with which the node joined. */
const moved = (state: Known, { data: { node, privateIp }, meta: { time } }: StoredEvent<'VmAddressChanged'>): Known => {
  const member = state.members[node];
  if (member?.everReady !== true) return withMember(state, node, () => ({ address: privateIp }));
  return observed(state, node, time, { movedTo: privateIp === member.address ? null : privateIp });
};

/**
 * The last heartbeat of a node that is lost, but no longer ago than the limit after which that is stated: after a start, this service
 * knows only what the node has stated last, perhaps days before.
 */
const silentSince = ({ data: { lastSeenAt, limitMs }, meta: { time } }: StoredEvent<'NodeLost'>): string => {
  const earliest = later(time, -limitMs);
  return lastSeenAt === null ? time : lastSeenAt > earliest ? lastSeenAt : earliest;
};

const readinessIn = ({ members }: Known, { type, data }: StoredEvent<ReadinessEvent>): Readiness =>
  readinessAfter(members[data.node] ?? { ready: false }, type);

const evolveHealth = (state: Known, event: StoredEvent): Known => {
  const { time } = event.meta;
  switch (event.type) {
    case 'NodeReady':
      return observed(state, event.data.node, time, {
        ...readinessIn(state, event),
        ...{ lost: false, everReady: true, kept: false },
      });
    case 'NodeNotReady':
    case 'NodeMissing':
    case 'NodeReturned':
    case 'NodeReadinessContradicted':
    case 'NodeReadinessConfirmed':
      return observed(state, event.data.node, time, readinessIn(state, event));
    case 'NodeLost':
      return observed(state, event.data.node, silentSince(event), { lost: true });
    case 'NodeRecovered':
      return observed(state, event.data.node, time, { lost: false });
    case 'VmAddressChanged':
      return moved(state, event);
    case 'DesiredVersionsSet': {
      const { node, change } = event.data;
      const permitted = isOurs(change?.id) ? { ...state.permitted, [node]: change.id } : without(state.permitted, node);
      return permitted === state.permitted ? state : { ...state, permitted };
    }
    default:
      return state;
  }
};

const leaving = (state: Known, names: readonly string[]): Known =>
  names.reduce((before, name) => withMember(before, name, () => ({ leaving: true })), state);

/** A node that someone else replaces is theirs, until that comes to nothing. */
const evolveReplacements = (state: Known, event: StoredEvent): Known => {
  const replacement = event.type === 'RemediationRequested' ? undefined : replacementIn(event);
  const left = replacedIn(event);
  const after = left === undefined ? state : leaving(state, [left]);
  return replacement === undefined
    ? after
    : withMember(after, replacement.node, () => ({ replacedBy: replacement.requestId }));
};

/** The request, or the replacement, came to nothing. */
const ended = (state: Known, requestId: string, cause: Cause): Known => {
  const members = Object.values(state.members).filter(({ replacedBy }) => replacedBy === requestId);
  const free = members.reduce((before, { name }) => withMember(before, name, () => ({ replacedBy: null })), state);
  return withOpen(free, requestId, { failed: cause });
};

const failedRequest = (
  state: Known,
  { requestId, cause, onFailure }: EventData<'VmsFailed' | 'NodesFailed'>,
  names: readonly string[],
): Known => {
  const after = ended(state, requestId, cause);
  if (onFailure === 'rollback') return leaving(after, names);
  return names.reduce((before, name) => withMember(before, name, () => ({ kept: true })), after);
};

const gone = (state: Known, name: NodeName): Known => ({
  ...state,
  members: without(state.members, name),
  permitted: without(state.permitted, name),
});

const created = (state: Known, { data: { machine }, meta: { time } }: StoredEvent<'VmCreated'>): Known =>
  withMember(state, machine.name, () => ({ createdAt: time, address: machine.privateIp }));

const evolveMachines = (state: Known, event: StoredEvent): Known => {
  switch (event.type) {
    case 'VmsPlanned':
      return planned(state, event.data);
    case 'VmCreated':
      return created(state, event);
    case 'NodesRejected': {
      const { requestId, message } = event.data;
      return ended(state, requestId, { operation: 'plan machines', target: requestId, message });
    }
    case 'VmsFailed':
      return failedRequest(state, event.data, event.data.machines);
    case 'NodesFailed':
      return failedRequest(state, event.data, event.data.nodes);
    case 'NodesAbandoned': {
      const { requestId, nodes } = event.data;
      const cause = { operation: 'add nodes', target: requestId, message: 'the request was given up' };
      return leaving(ended(state, requestId, cause), nodes);
    }
    case 'NodeRemovalRequested':
    case 'NodeRemoved':
      return leaving(state, [event.data.node]);
    case 'NodeRemovalCancelled':
      return withMember(state, event.data.node, () => ({ leaving: false }));
    case 'VmDeleted':
      return gone(state, event.data.name);
    case 'NodeActionStarted':
      return withMember(state, event.data.node, () => ({ replacedBy: event.data.requestId }));
    case 'NodeActionSucceeded':
    case 'NodeActionFailed':
    case 'NodeActionVoided': {
      const { requestId, node } = event.data;
      return withMember(state, node, ({ replacedBy }) => (replacedBy === requestId ? { replacedBy: null } : {}));
    }
    default:
      return evolveHealth(state, event);
  }
};

const requested = (state: Known, { data, meta }: StoredEvent<'RemediationRequested'>): Known => {
  const { requestId, node, pool, action, attempt } = data;
  const role = state.members[node]?.role ?? 'worker';
  const at = meta.time;
  const open: Open = {
    requestId,
    node,
    pool,
    role,
    action,
    attempt,
    startedAt: at,
    failed: null,
    replacement: null,
  };
  const after = { ...state, requests: state.requests + 1, open: { ...state.open, [requestId]: open } };
  return withMember(after, node, () => ({ skipped: null, tried: { attempt, action, at } }));
};

const evolveOwn = (state: Known, event: StoredEvent): Known => {
  switch (event.type) {
    case 'RemediationRequested':
      return requested(state, event);
    case 'RemediationSucceeded':
    case 'RemediationFailed':
      return { ...state, open: without(state.open, event.data.requestId) };
    case 'RemediationSkipped':
      return withMember(state, event.data.node, () => ({ skipped: event.data.reason }));
    case 'RemediationSuspended':
      return { ...state, suspended: { ...state.suspended, [event.data.pool]: event.data.reason } };
    case 'RemediationResumed':
      return { ...state, suspended: without(state.suspended, event.data.pool) };
    default:
      return evolveMachines(state, event);
  }
};

/** What concerns the cluster as a whole. */
const evolveCluster = (state: Known, event: StoredEvent): Known => {
  switch (event.type) {
    case 'ClusterSpecChanged':
      return { ...state, checks: checksOf(event.data.spec) };
    case 'ClusterResumed':
      return { ...state, resumedAt: event.meta.time };
    default:
      return evolveLifecycle(state, event) ?? evolveOwn(state, event);
  }
};

export const evolve = (state: Remediation, event: StoredEvent): Remediation => {
  if (event.type === 'ClusterRequested') return begin(event);
  if (state.status === 'absent' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  return event.type === 'ClusterDeleted' ? ABSENT : evolveCluster(evolveReplacements(state, event), event);
};

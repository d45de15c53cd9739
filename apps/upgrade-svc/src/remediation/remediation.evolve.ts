import {
  CONTROL_PLANE_POOL,
  NODE_PRESSURES,
  without,
  type Cause,
  type DeclaredSpec,
  type EventData,
  type HealthCheck,
  type MachinePlan,
  type NodeCondition,
  type NodeName,
  type StoredEvent,
} from '@fairlead/contracts';
import { isHealthEvent, membersAfter, needsSnapshot, NO_SAVES, savesAfter, stepBegunIn } from '@fairlead/domain';
import { later } from '@fairlead/event-sourcing';
import { BUILDING, evolveLifecycle } from '../lifecycle/lifecycle.evolve.js';
import {
  ABSENT,
  isOurs,
  newMember,
  type KnownRemediation,
  type Member,
  type Open,
  type Remediation,
} from './remediation.state.js';

const begin = ({ data: { uid } }: StoredEvent<'ClusterRequested'>): KnownRemediation => ({
  status: 'known',
  uid,
  ...BUILDING,
  checks: {},
  members: {},
  open: {},
  requests: 0,
  suspended: {},
  resumedAt: null,
  saves: NO_SAVES,
  permitted: {},
});

const checksOf = ({ controlPlane, pools }: DeclaredSpec): KnownRemediation['checks'] =>
  Object.fromEntries(
    [{ name: CONTROL_PLANE_POOL, health: controlPlane.health }, ...pools].flatMap(
      ({ name, health }): [string, HealthCheck][] => (health === undefined ? [] : [[name, health]]),
    ),
  );

const openOf = ({ open }: KnownRemediation, requestId: string | undefined): Open | undefined =>
  requestId === undefined ? undefined : open[requestId];

const withOpen = (state: KnownRemediation, requestId: string, change: Partial<Open>): KnownRemediation => {
  const open = state.open[requestId];
  return open === undefined ? state : { ...state, open: { ...state.open, [requestId]: { ...open, ...change } } };
};

const machinesToCheck = (state: KnownRemediation, { machines }: EventData<'VmsPlanned'>): readonly MachinePlan[] =>
  machines.filter(({ name, surge }) => surge === undefined && !(name in state.members));

/** A replacement inherits the attempts of the node that it replaces. */
const entering = (state: KnownRemediation, event: StoredEvent): readonly Member[] => {
  if (event.type !== 'VmsPlanned') return [];
  const replaces = openOf(state, event.data.requestId);
  const tried =
    replaces === undefined ? null : { attempt: replaces.attempt, action: replaces.action, at: replaces.startedAt };
  return machinesToCheck(state, event.data).map((machine) => ({ ...newMember(machine), tried }));
};

const withMember = (
  state: KnownRemediation,
  name: string,
  change: (member: Member) => Partial<Member>,
): KnownRemediation => {
  const member = state.members[name];
  if (member === undefined) return state;
  return { ...state, members: { ...state.members, [name]: { ...member, ...change(member) } } };
};

/** Updates the readiness, heartbeat, Node object or address of a node, and derives since when it is healthy or not. */
const observed = (
  state: KnownRemediation,
  name: NodeName,
  time: string,
  change: Partial<Pick<Member, 'movedTo' | 'kept'>> = {},
): KnownRemediation =>
  withMember(state, name, (before) => {
    const member = { ...before, ...change };
    if (!member.wasReady) return change;
    if (member.ready && !member.lost && member.movedTo === null)
      return { ...change, wellSince: member.wellSince ?? time, unwellSince: null, skipped: null };
    const wellForMs =
      before.wellSince === null ? before.wellForMs : Math.max(0, Date.parse(time) - Date.parse(before.wellSince));
    return { ...change, wellSince: null, unwellSince: before.unwellSince ?? time, wellForMs };
  });

/** A kubelet, and the certificates and etcd of a control plane, keep the address with which the node joined. */
const moved = (
  state: KnownRemediation,
  { data: { node, privateIp }, meta: { time } }: StoredEvent<'VmAddressChanged'>,
): KnownRemediation => {
  const member = state.members[node];
  if (member?.wasReady !== true) return withMember(state, node, () => ({ address: privateIp }));
  return observed(state, node, time, { movedTo: privateIp === member.address ? null : privateIp });
};

/**
 * The last heartbeat of a lost node, but no longer ago than the limit that made it lost: after a start, the service
 * knows only the last recorded report of the node, possibly days old.
 */
const silentSince = ({ data: { lastSeenAt, limitMs }, meta: { time } }: StoredEvent<'NodeLost'>): string => {
  const earliest = later(time, -limitMs);
  return lastSeenAt === null ? time : lastSeenAt > earliest ? lastSeenAt : earliest;
};

const PRESSURES: ReadonlySet<string> = new Set(NODE_PRESSURES);

/** Each event contains all conditions of its kind. */
const conditionsAfter = (
  { conditions: before = {} }: Member,
  event: StoredEvent<'NodeConditionsChanged' | 'NodePressureChanged'>,
): NonNullable<Member['conditions']> => {
  const isPressure = event.type === 'NodePressureChanged';
  const stated: readonly NodeCondition[] = isPressure
    ? NODE_PRESSURES.map((type) => ({ type, status: event.data.conditions.includes(type) ? 'True' : 'False' }))
    : event.data.conditions;
  const others = Object.entries(before).filter(([type]) => PRESSURES.has(type) !== isPressure);
  const now = stated.map(({ type, status }) => {
    const known = before[type];
    return [type, known?.status === status ? known : { status, since: event.meta.time }] as const;
  });
  return Object.fromEntries([...others, ...now]);
};

const evolveHealth = (state: KnownRemediation, event: StoredEvent): KnownRemediation => {
  if (isHealthEvent(event)) {
    const time = event.type === 'NodeLost' ? silentSince(event as StoredEvent<'NodeLost'>) : event.meta.time;
    return observed(state, event.data.node, time, event.type === 'NodeReady' ? { kept: false } : {});
  }
  switch (event.type) {
    case 'NodeConditionsChanged':
    case 'NodePressureChanged':
      return withMember(state, event.data.node, (member) => ({ conditions: conditionsAfter(member, event) }));
    case 'VmAddressChanged':
      return moved(state, event);
    case 'VmPowerManaged':
      return withMember(state, event.data.node, () => ({ powered: event.data.managed }));
    case 'DesiredVersionsSet': {
      const { node, change } = event.data;
      const permitted = isOurs(change?.id) ? { ...state.permitted, [node]: change.id } : without(state.permitted, node);
      return permitted === state.permitted ? state : { ...state, permitted };
    }
    default:
      return state;
  }
};

/** The request or the replacement failed. */
const ended = (state: KnownRemediation, requestId: string, cause: Cause): KnownRemediation =>
  withOpen(state, requestId, { failed: cause });

const failedRequest = (
  state: KnownRemediation,
  { requestId, cause, onFailure }: EventData<'VmsFailed' | 'NodesFailed'>,
  names: readonly string[],
): KnownRemediation => {
  const after = ended(state, requestId, cause);
  if (onFailure === 'rollback') return after;
  return names.reduce((before, name) => withMember(before, name, () => ({ kept: true })), after);
};

const created = (
  state: KnownRemediation,
  { data: { machine }, meta: { time } }: StoredEvent<'VmCreated'>,
): KnownRemediation => withMember(state, machine.name, () => ({ createdAt: time, address: machine.privateIp }));

const evolveMachines = (state: KnownRemediation, event: StoredEvent): KnownRemediation => {
  switch (event.type) {
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
      const { requestId } = event.data;
      const cause = { operation: 'add nodes', target: requestId, message: 'the request was given up' };
      return ended(state, requestId, cause);
    }
    case 'VmDeleted':
      return { ...state, permitted: without(state.permitted, event.data.name) };
    case 'NodeActionStarted':
      return withMember(state, event.data.node, () => ({ actedBy: event.data.requestId }));
    case 'NodeActionSucceeded':
    case 'NodeActionFailed':
    case 'NodeActionVoided': {
      const { requestId, node } = event.data;
      return withMember(state, node, ({ actedBy }) => (actedBy === requestId ? { actedBy: null } : {}));
    }
    default:
      return evolveHealth(state, event);
  }
};

const requested = (state: KnownRemediation, event: StoredEvent<'RemediationRequested'>): KnownRemediation => {
  const { data, meta } = event;
  const { requestId, node, pool, action, means, attempt } = data;
  const role = state.members[node]?.role ?? 'worker';
  const at = meta.time;
  const begun = role === 'control-plane' && needsSnapshot(state.saves, at) ? stepBegunIn(event) : undefined;
  const open: Open = {
    ...(begun === undefined ? {} : { awaitedSnapshot: begun.requestId }),
    requestId,
    node,
    pool,
    role,
    action,
    ...(means === undefined ? {} : { power: 'due' as const }),
    attempt,
    startedAt: at,
    failed: null,
    replacement: null,
  };
  const after = { ...state, requests: state.requests + 1, open: { ...state.open, [requestId]: open } };
  return withMember(after, node, () => ({ skipped: null, tried: { attempt, action, at } }));
};

const evolveOwn = (state: KnownRemediation, event: StoredEvent): KnownRemediation => {
  switch (event.type) {
    case 'RemediationRequested':
      return requested(state, event);
    case 'PowerCycleRequested':
      return withOpen(state, event.data.requestId, { power: 'requested' });
    case 'VmPowerCycleFailed':
      return ended(state, event.data.requestId, event.data.cause);
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

/** Resumes reboots that wait for a snapshot of etcd: the snapshot was taken or, if a request is given, failed. */
const unawaited = (state: KnownRemediation, savedAt: string, requestId?: string): KnownRemediation => {
  const waiting = Object.values(state.open).filter(
    ({ awaitedSnapshot }) => awaitedSnapshot !== undefined && (requestId ?? awaitedSnapshot) === awaitedSnapshot,
  );
  const going = waiting.map(({ awaitedSnapshot: _awaited, ...open }): [string, Open] => [
    open.requestId,
    { ...open, savedAt },
  ]);
  return going.length === 0 ? state : { ...state, open: { ...state.open, ...Object.fromEntries(going) } };
};

/** A control plane reboots after a snapshot of etcd. A failed snapshot does not prevent the reboot. */
const withSnapshots = (before: KnownRemediation, event: StoredEvent): KnownRemediation => {
  const saves = savesAfter(before.saves, event);
  const state = saves === before.saves ? before : { ...before, saves };
  if (event.type === 'EtcdSnapshotTaken') return unawaited(state, event.meta.time);
  return event.type === 'EtcdSnapshotFailed' ? unawaited(state, event.meta.time, event.data.requestId) : state;
};

/** Events about the cluster as a whole. */
const evolveCluster = (state: KnownRemediation, event: StoredEvent): KnownRemediation => {
  switch (event.type) {
    case 'ClusterSpecChanged':
      return { ...state, checks: checksOf(event.data.spec) };
    case 'ClusterResumed':
      return { ...state, resumedAt: event.meta.time };
    default:
      return evolveLifecycle(state, event) ?? evolveOwn(state, event);
  }
};

const evolveMembers = (state: KnownRemediation, event: StoredEvent): KnownRemediation => {
  const members = membersAfter(state.members, event, entering(state, event));
  const after = members === state.members ? state : { ...state, members };
  if (event.type !== 'VmsPlanned') return after;
  const [first] = machinesToCheck(state, event.data);
  const replaces = openOf(state, event.data.requestId);
  return replaces === undefined || first === undefined
    ? after
    : withOpen(after, replaces.requestId, { replacement: first.name });
};

export const evolve = (state: Remediation, event: StoredEvent): Remediation => {
  if (event.type === 'ClusterRequested') return begin(event);
  if (state.status === 'absent' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  return event.type === 'ClusterDeleted'
    ? ABSENT
    : withSnapshots(evolveCluster(evolveMembers(state, event), event), event);
};

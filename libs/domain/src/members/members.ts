import {
  type StoredEvent,
  type NodeName,
  type UpgradeId,
  type MachinePlan,
  type NodeRole,
  without,
} from '@fairlead/contracts';
import { replacementIn } from './replacements.js';
import { departuresIn, endedRequestIn } from './departures.js';
import { healthAfter, isHealthEvent, type Health } from './health.js';

/**
 * A machine of a cluster and its node, from its plan to its deletion. Services add their own fields. A plain JSON
 * value.
 */
export interface Member extends Health {
  readonly name: NodeName;
  readonly role: NodeRole;
  readonly pool: string;
  /** The upgrade for which it is a surge machine; absent: its pool's size counts it. */
  readonly surge?: UpgradeId;
  /** Whether its machine is running and was handed over to bootstrap-svc. */
  readonly announced: boolean;
  /** Whether its node is, or was, part of the cluster. */
  readonly joined: boolean;
  /** Whether its node was ever Ready. */
  readonly wasReady: boolean;
  /** Whether it is being removed. */
  readonly leaving: boolean;
  /** The request for its replacement; null: none. */
  readonly replacedBy: string | null;
}

/** By name. */
export type Members<M extends Member = Member> = Readonly<Record<string, M>>;

export const newMember = ({
  name,
  role,
  pool,
  surge,
}: Pick<MachinePlan, 'name' | 'role' | 'pool' | 'surge'>): Member => ({
  ...{ name, role, pool },
  ...(surge === undefined ? {} : { surge }),
  ...{ announced: false, joined: false, wasReady: false, leaving: false, replacedBy: null },
  ...{ ready: false, lost: false },
});

/** Safe for any name that a user chooses, such as `constructor`. */
export const memberOf = <M extends Member>(members: Members<M>, name: string): M | undefined =>
  Object.hasOwn(members, name) ? members[name] : undefined;

/** Returns the same object if nothing changes. */
export const withMember = <M extends Member>(members: Members<M>, name: string, change: Partial<M>): Members<M> => {
  const member = memberOf(members, name);
  if (member === undefined) return members;
  const isSame = Object.entries(change).every(([field, value]) => member[field as keyof M] === value);
  return isSame ? members : { ...members, [name]: { ...member, ...change } };
};

const withEach = <M extends Member>(
  members: Members<M>,
  names: readonly string[],
  change: Partial<Member>,
): Members<M> => names.reduce((before, name) => withMember(before, name, change as Partial<M>), members);

const withEntering = <M extends Member>(members: Members<M>, entering: readonly M[]): Members<M> => {
  const fresh = entering.filter(({ name }) => memberOf(members, name) === undefined);
  return fresh.length === 0
    ? members
    : { ...members, ...Object.fromEntries(fresh.map((member) => [member.name, member])) };
};

/** From a plan to a node of the cluster, and the end of its machine. */
const withArrivals = <M extends Member>(members: Members<M>, event: StoredEvent): Members<M> => {
  switch (event.type) {
    case 'VmsCreated': {
      const names = event.data.machines.map(({ name }) => name);
      return withEach(members, names, { announced: true });
    }
    case 'ControlPlaneInitialized':
    case 'ControlPlaneJoined':
    case 'WorkerJoined':
      return withEach(members, [event.data.node], { joined: true });
    case 'NodeReady':
      return withEach(members, [event.data.node], { joined: true, wasReady: true });
    case 'VmDeleted':
      return without(members, event.data.name);
    default:
      return members;
  }
};

const withDepartures = <M extends Member>(members: Members<M>, event: StoredEvent): Members<M> =>
  departuresIn(event, members).reduce((before, { node, leaving }) => withEach(before, [node], { leaving }), members);

/** A node that is already being replaced gets no second replacement. */
const withReplacements = <M extends Member>(members: Members<M>, event: StoredEvent): Members<M> => {
  const replacement = replacementIn(event);
  if (replacement !== undefined) {
    const { node, requestId } = replacement;
    return memberOf(members, node)?.replacedBy === null
      ? withEach(members, [node], { replacedBy: requestId })
      : members;
  }
  const ended = endedRequestIn(event);
  if (ended === undefined) return members;
  const names = Object.keys(members).filter((name) => members[name]?.replacedBy === ended);
  return withEach(members, names, { replacedBy: null });
};

const withHealth = <M extends Member>(members: Members<M>, event: StoredEvent): Members<M> => {
  if (!isHealthEvent(event)) return members;
  const { node } = event.data;
  const member = memberOf(members, node);
  return member === undefined ? members : withEach(members, [node], healthAfter(member, event.type));
};

/**
 * The members of a cluster after an event; the same object if nothing changes. `entering` are the members that the
 * event adds: most services know a machine from its plan (`VmsPlanned`), some from its start (`VmsCreated`). A known
 * member is not changed by either.
 */
export const membersAfter = <M extends Member>(
  members: Members<M>,
  event: StoredEvent,
  entering: readonly M[] = [],
): Members<M> => {
  const arrived = withArrivals(withEntering(members, entering), event);
  return withHealth(withReplacements(withDepartures(arrived, event), event), event);
};

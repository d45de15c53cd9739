import { NODES_WITHOUT_MACHINE_MAX, type ClusterUid, type Fact, type NodeName } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import type { AddonFindings } from './addons.planner.js';
import { ABSENT, evolve, type Known, type Presence } from './presence.evolve.js';
import type { Findings, Match, Present, Stranger } from './presence.planner.js';

/** What two looks in a row have found, and what the last one has shown. */
export type RecordPresence = Command<
  'RecordPresence',
  Findings & {
    readonly uid: ClusterUid;
    readonly seen: Match;
    /** Absent: they were not looked at. */
    readonly addons?: AddonFindings | undefined;
  }
>;

type PresenceFact = Fact<
  | 'NodeMissing'
  | 'NodeReturned'
  | 'NodeWithoutMachineFound'
  | 'NodeWithoutMachineExpired'
  | 'NodeWithoutMachineGone'
  | 'AddonDegraded'
  | 'AddonRecovered'
>;

/** A node that joined and stays should have its Node object; one that leaves loses it any moment. */
const isExpected = ({ members }: Known, name: string): boolean => {
  const member = members[name];
  return member?.joined === true && !member.leaving;
};

/** Its machine is planned, created or on its way out, though the rows do not show it yet or any more. */
const isMember = ({ members }: Known, { name, providerId, reason }: Stranger): boolean => {
  const member = members[name];
  if (member === undefined || reason === 'duplicate-provider-id') return false;
  return member.providerId === null || providerId === null || member.providerId === providerId;
};

/**
 * Its Node was deleted, and registered by its kubelet again before two looks could agree that it is missing. While no uid of its Node is
 * recorded, a Node counts that is younger than the record of its joining. If the clock of the API server is ahead, one return too many is
 * recorded, with the uid.
 */
const isRegisteredAgain = (state: Known, { name, registered: { uid, atMs } }: Present): boolean => {
  const member = state.members[name];
  if (member === undefined || !isExpected(state, name)) return false;
  return member.nodeUid === null ? atMs > member.sinceMs : uid !== member.nodeUid;
};

const nodesOf = (state: Known, { missing, seen }: RecordPresence['data']): readonly PresenceFact[] => {
  const { uid } = state;
  const back = seen.present.filter((node) => state.missing.has(node.name) || isRegisteredAgain(state, node));
  const fresh = missing.filter((name) => isExpected(state, name) && !state.missing.has(name));
  return [
    ...back.map(({ name, registered }): PresenceFact => ({
      type: 'NodeReturned',
      data: { uid, node: name as NodeName, nodeUid: registered.uid },
    })),
    ...fresh.map((name): PresenceFact => ({ type: 'NodeMissing', data: { uid, node: name as NodeName } })),
  ];
};

/** Of no machine that is recorded, by its name either. */
const isStranger = ({ strangers, members }: Known, name: string): boolean =>
  strangers.has(name) && members[name] === undefined;

const strangersOf = (state: Known, { strangers, overdue, seen }: RecordPresence['data']): readonly PresenceFact[] => {
  const { uid } = state;
  const there = new Set(seen.strangers.filter((stranger) => !isMember(state, stranger)).map(({ name }) => name));
  const over = [...state.strangers].filter((name) => !there.has(name));
  const room = NODES_WITHOUT_MACHINE_MAX - state.strangers.size + over.length;
  const fresh = strangers
    .filter((stranger) => !isMember(state, stranger) && !state.strangers.has(stranger.name))
    .slice(0, Math.max(0, room));
  const expired = overdue.filter((name) => isStranger(state, name) && !state.expired.has(name) && !state.paused);
  return [
    ...over.map((name): PresenceFact => ({ type: 'NodeWithoutMachineGone', data: { uid, name } })),
    ...fresh.map(({ name, ready, providerId, reason }): PresenceFact => ({
      type: 'NodeWithoutMachineFound',
      data: { uid, name, ready, reason, ...(providerId === null ? {} : { providerId }) },
    })),
    ...expired.map((name): PresenceFact => ({ type: 'NodeWithoutMachineExpired', data: { uid, name } })),
  ];
};

/** Addons that are installed, and no others. */
const addonsOf = (state: Known, { addons }: RecordPresence['data']): readonly PresenceFact[] => {
  const { uid } = state;
  const back = addons?.running.filter((addon) => state.degraded.has(addon)) ?? [];
  const fresh = Object.entries(addons?.degraded ?? {}).filter(
    ([addon]) => state.addons.has(addon) && !state.degraded.has(addon),
  );
  return [
    ...back.map((addon): PresenceFact => ({ type: 'AddonRecovered', data: { uid, addon } })),
    ...fresh.map(([addon, message]): PresenceFact => ({ type: 'AddonDegraded', data: { uid, addon, message } })),
  ];
};

/** The Nodes that may be deleted now: that was stated, and they still have no machine. */
export const deletable = (
  state: Presence,
  { uid, overdue }: Pick<RecordPresence['data'], 'uid' | 'overdue'>,
): readonly string[] =>
  state.status === 'absent' || state.uid !== uid || state.deleting || state.restoring || state.paused
    ? []
    : overdue.filter((name) => isStranger(state, name) && state.expired.has(name));

/** Which nodes Kubernetes lacks, which it has without a machine, and which addons are degraded: each change is stated once. */
export const presence: Decider<Presence, RecordPresence, PresenceFact> = {
  initial: ABSENT,
  reads: 'cluster',
  evolve,

  decide: (state, { data }) =>
    state.status === 'absent' || state.uid !== data.uid || state.deleting || state.restoring
      ? nothing
      : [...nodesOf(state, data), ...strangersOf(state, data), ...addonsOf(state, data)],
};

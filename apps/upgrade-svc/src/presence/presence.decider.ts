import {
  nodeConditionWords,
  NODES_WITHOUT_MACHINE_MAX,
  type ClusterUid,
  type Fact,
  type NodeName,
} from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import type { AddonFindings } from './addons.planner.js';
import { ABSENT, evolve, keyOf, type EtcdProblem, type KnownPresence, type Presence } from './presence.evolve.js';
import type { Findings, Match, Present, Stranger } from './presence.planner.js';
import { findingsText, type ServiceFindings } from './services.planner.js';

/** Findings of two lists in a row, and the contents of the last one. */
export type RecordPresence = Command<
  'RecordPresence',
  Findings & {
    readonly uid: ClusterUid;
    readonly seen: Match;
    /** Absent: addons were not checked. */
    readonly addons?: AddonFindings | undefined;
    /** Problems of etcd; empty: none. Absent: etcd was not checked. */
    readonly etcd?: readonly EtcdProblem[] | undefined;
    /** What Services ask for. Absent: they were not listed. */
    readonly services?: ServiceFindings | undefined;
  }
>;

type PresenceFact = Fact<
  | 'NodeMissing'
  | 'NodeReturned'
  | 'NodeReadinessContradicted'
  | 'NodeReadinessConfirmed'
  | 'NodePressureChanged'
  | 'NodeConditionsChanged'
  | 'NodeWithoutMachineFound'
  | 'NodeWithoutMachineExpired'
  | 'NodeWithoutMachineGone'
  | 'AddonDegraded'
  | 'AddonRecovered'
  | 'EtcdDegraded'
  | 'EtcdRecovered'
  | 'PublishedServicesFound'
>;

/** A node that has joined and is not leaving should have its Node object; a leaving node may lose it at any time. */
const isExpected = ({ members }: KnownPresence, name: string): boolean => {
  const member = members[name];
  return member?.joined === true && !member.leaving;
};

/** Its machine is planned, created or being deleted, although the rows do not show it. */
const isMember = ({ members }: KnownPresence, { name, providerId, reason }: Stranger): boolean => {
  const member = members[name];
  if (member === undefined || reason === 'duplicate-provider-id') return false;
  return member.providerId === null || providerId === null || member.providerId === providerId;
};

/**
 * Its Node was deleted and registered again by its kubelet before two lists could agree that it is missing. While the
 * uid of its Node is not recorded, a Node younger than the record of its joining counts. If the API server's clock is
 * ahead, one return too many is recorded, with the uid.
 */
const isRegisteredAgain = (state: KnownPresence, { name, registered: { uid, atMs } }: Present): boolean => {
  const member = state.members[name];
  if (member === undefined || !isExpected(state, name)) return false;
  return member.nodeUid === null ? atMs > member.sinceMs : uid !== member.nodeUid;
};

const nodesOf = (state: KnownPresence, { missing, seen }: RecordPresence['data']): readonly PresenceFact[] => {
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

/**
 * Kubernetes overrides an agent that reports its node as Ready. A node that its agent reports as not Ready, as during a
 * software change, needs no correction.
 */
const readinessOf = (state: KnownPresence, { contradicted, seen }: RecordPresence['data']): readonly PresenceFact[] => {
  const { uid, members } = state;
  const isWrong = ({ name }: { readonly name: string }): boolean => {
    const { reportedReady = false, contradicted: isKnown = false } = members[name] ?? {};
    return reportedReady && !isKnown && isExpected(state, name);
  };
  // A missing node already counts as not Ready, and has not recovered.
  const unready = seen.present.filter(({ name, ready }) => state.missing.has(name) && !ready);
  const isOver = ({ name, ready }: Present): boolean => ready && members[name]?.contradicted === true;
  return [
    ...seen.present.filter(isOver).map(({ name }): PresenceFact => ({
      type: 'NodeReadinessConfirmed',
      data: { uid, node: name as NodeName },
    })),
    ...[...contradicted, ...unready].filter(isWrong).map(({ name, message }): PresenceFact => ({
      type: 'NodeReadinessContradicted',
      data: { uid, node: name as NodeName, message },
    })),
  ];
};

/** One list is enough to end them: a kubelet keeps such a condition for minutes after its cause is gone. */
const pressuresOf = (state: KnownPresence, { pressures, seen }: RecordPresence['data']): readonly PresenceFact[] => {
  const free = seen.present.flatMap(({ name, pressures: now }) => (now.length === 0 ? [[name, now] as const] : []));
  return [...Object.entries(pressures), ...free]
    .filter(([name, now]) => isExpected(state, name) && state.members[name]?.pressures.join() !== now.join())
    .map(([name, conditions]): PresenceFact => ({
      type: 'NodePressureChanged',
      data: { uid: state.uid, node: name as NodeName, conditions: [...conditions] },
    }));
};

/** Conditions act only after a timeout, so one list is enough. */
const conditionsOf = (state: KnownPresence, { seen }: RecordPresence['data']): readonly PresenceFact[] =>
  seen.present
    .filter(({ name, conditions = [] }) => {
      const { conditions: known = '' } = state.members[name] ?? {};
      return isExpected(state, name) && conditions.map(nodeConditionWords).join() !== known;
    })
    .map(({ name, conditions = [] }): PresenceFact => ({
      type: 'NodeConditionsChanged',
      data: { uid: state.uid, node: name as NodeName, conditions: [...conditions] },
    }));

/** A Node that matches no recorded machine, not even by name. */
const isStranger = ({ strangers, members }: KnownPresence, name: string): boolean =>
  strangers.has(name) && members[name] === undefined;

/** A restore of etcd recreated the Node object of a node that had been removed from the cluster. */
const isBroughtBack = ({ restored, removed, members }: KnownPresence, name: string): boolean =>
  restored && removed.has(name) && members[name] === undefined;

/** They are deleted once Kubernetes itself reports them as not Ready. */
const broughtBack = (state: KnownPresence, strangers: readonly Stranger[]): readonly string[] =>
  strangers.filter(({ name, ready }) => !ready && isBroughtBack(state, name)).map(({ name }) => name);

const strangersOf = (
  state: KnownPresence,
  { strangers, overdue, seen }: RecordPresence['data'],
): readonly PresenceFact[] => {
  const { uid } = state;
  const there = new Set(seen.strangers.filter((stranger) => !isMember(state, stranger)).map(({ name }) => name));
  const over = [...new Set([...state.strangers, ...state.expired])].filter((name) => !there.has(name));
  const room = NODES_WITHOUT_MACHINE_MAX - state.strangers.size + over.length;
  const fresh = strangers
    .filter((stranger) => !isMember(state, stranger) && !state.strangers.has(stranger.name))
    .filter(({ name }) => !isBroughtBack(state, name))
    .slice(0, Math.max(0, room));
  const expired = [...overdue.filter((name) => isStranger(state, name)), ...broughtBack(state, strangers)].filter(
    (name) => !state.expired.has(name) && !state.paused,
  );
  return [
    ...over.map((name): PresenceFact => ({ type: 'NodeWithoutMachineGone', data: { uid, name } })),
    ...fresh.map(({ name, ready, providerId, reason }): PresenceFact => ({
      type: 'NodeWithoutMachineFound',
      data: { uid, name, ready, reason, ...(providerId === null ? {} : { providerId }) },
    })),
    ...expired.map((name): PresenceFact => ({ type: 'NodeWithoutMachineExpired', data: { uid, name } })),
  ];
};

/** Only addons that are installed. */
const addonsOf = (state: KnownPresence, { addons }: RecordPresence['data']): readonly PresenceFact[] => {
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

/** The complete list of problems, recorded again whenever it changes. */
const etcdOf = (state: KnownPresence, { etcd }: RecordPresence['data']): readonly PresenceFact[] => {
  if (etcd === undefined) return nothing;
  const { uid } = state;
  const keys = etcd.map(keyOf).toSorted();
  if (keys.join() === state.etcd.join()) return nothing;
  return etcd.length === 0
    ? [{ type: 'EtcdRecovered', data: { uid } }]
    : [{ type: 'EtcdDegraded', data: { uid, problems: [...etcd] } }];
};

const servicesOf = (
  { uid, services: known }: KnownPresence,
  { services }: RecordPresence['data'],
): readonly PresenceFact[] =>
  services === undefined || findingsText(services) === known
    ? nothing
    : [
        {
          type: 'PublishedServicesFound',
          data: { uid, services: [...services.services], refused: [...services.refused] },
        },
      ];

/** Nodes that may be deleted now: their expiry is recorded, and they still have no machine. */
export const deletable = (
  state: Presence,
  { uid, overdue, strangers }: Pick<RecordPresence['data'], 'uid' | 'overdue' | 'strangers'>,
): readonly string[] =>
  state.status === 'absent' || state.uid !== uid || state.deleting || state.restoring || state.paused
    ? []
    : [...overdue.filter((name) => isStranger(state, name)), ...broughtBack(state, strangers)].filter((name) =>
        state.expired.has(name),
      );

/** Missing Nodes, Nodes without a machine, and degraded addons: each change is recorded once. */
export const presence: Decider<Presence, RecordPresence, PresenceFact> = {
  initial: ABSENT,
  reads: 'cluster',
  evolve,

  decide: (state, { data }) =>
    state.status === 'absent' || state.uid !== data.uid || state.deleting || state.restoring
      ? nothing
      : [
          ...nodesOf(state, data),
          ...readinessOf(state, data),
          ...pressuresOf(state, data),
          ...conditionsOf(state, data),
          ...strangersOf(state, data),
          ...addonsOf(state, data),
          ...etcdOf(state, data),
          ...servicesOf(state, data),
        ],
};

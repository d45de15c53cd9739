import {
  isMassDisappearance,
  without,
  type ClusterUid,
  type ConnectionName,
  type EventData,
  type Fact,
  type Machine,
  type MachineAddresses,
  type NodeName,
  type StoredEvent,
} from '@fairlead/contracts';
import { c8MayRemove, departuresIn, endedRequestIn, replacementIn } from '@fairlead/domain';
import type { Names } from './names.js';

/** What the provider last said of the machines of a cluster, where that differs from what was requested. */
export interface Sights {
  /** Machines that it does not list. `held`: so many were missing at once that nothing is repaired. */
  readonly lost: Readonly<Record<string, 'gone' | 'held'>>;
  /** Of those that are gone: why they are not replaced, as it was stated last. */
  readonly refused: Readonly<Record<string, string>>;
  readonly stopped: readonly NodeName[];
  /** Nodes that leave, with the replacement that may still fail and leave them where they are; empty: nothing does. */
  readonly departing: Readonly<Record<string, string>>;
  /** Nodes that were part of the cluster when it was Ready last. */
  readonly joined: Names;
  /** How many machines were ever stated as gone: two disappearances of one machine have different replacements. */
  readonly goneEver: number;
  /** Nothing may be repaired, and what is missing now may be there again once the cluster is resumed. */
  readonly paused: boolean;
}

export const NO_SIGHTS: Sights = {
  lost: {},
  refused: {},
  stopped: [],
  departing: {},
  joined: {},
  goneEver: 0,
  paused: false,
};

/** One way in which a provider's list differs from the log. Two looks in a row have found it. */
export type Difference = { readonly node: NodeName } & (
  | { readonly kind: 'gone' | 'returned' | 'stopped' | 'started' }
  | { readonly kind: 'moved'; readonly addresses: MachineAddresses }
);

export interface ClusterLook {
  readonly connection: ConnectionName;
  /** Every machine of the cluster on this connection that this look did not find. */
  readonly absent: readonly NodeName[];
  readonly differences: readonly Difference[];
}

/** The part of a cluster that a look is compared with. */
interface Cluster {
  readonly uid: ClusterUid;
  readonly created: Readonly<Record<string, Machine>>;
  readonly announced: Names;
  readonly deletions: Readonly<Record<string, unknown>>;
  readonly sights: Sights;
}

type SightFact = Fact<'VmGone' | 'VmsMissing' | 'VmReturned' | 'VmStopped' | 'VmStarted' | 'VmAddressChanged'>;

/** Machines that are expected to exist: those that were announced and are not on their way out at the provider. */
const expected = ({ created, announced, deletions }: Cluster): readonly Machine[] =>
  Object.values(created).filter(({ name }) => announced[name] === true && deletions[name] === undefined);

const controlPlaneRefusal = (machines: readonly Machine[], lost: ReadonlySet<string>): string => {
  const members = machines.filter(({ role }) => role === 'control-plane');
  const healthy = members.filter(({ name }) => !lost.has(name)).length;
  return c8MayRemove({ members: members.length, healthy }, false)
    ? ''
    : `${healthy} of ${members.length} control planes have a machine, which is no quorum of etcd`;
};

/** Why a machine that is gone is not replaced automatically; empty: it is. */
const refusalOf = (cluster: Cluster, machine: Machine, lost: ReadonlySet<string>): string => {
  const { departing, joined } = cluster.sights;
  if (departing[machine.name] !== undefined) return 'its node is being removed or replaced already';
  if (machine.surge !== undefined) return 'it is a surge machine of an upgrade';
  if (joined[machine.name] === undefined) return 'its node had not joined the cluster yet';
  return machine.role === 'worker' ? '' : controlPlaneRefusal(expected(cluster), lost);
};

/**
 * Each further control plane that is replaced counts as lost for the next one: the order of the names decides. Why a machine is not
 * replaced is stated once, and again when the reason is another one.
 */
const gone = (cluster: Cluster, machines: readonly Machine[], { connection }: ClusterLook): readonly SightFact[] => {
  const { goneEver, refused } = cluster.sights;
  const lost = new Set([...Object.keys(cluster.sights.lost), ...machines.map(({ name }) => name)]);
  return machines
    .map((machine) => ({ machine, reason: refusalOf(cluster, machine, lost) }))
    .filter(({ machine, reason }) => refused[machine.name] !== reason)
    .map(({ machine: { name: node, providerId }, reason }, at) => {
      const requestId = `gone-${node}-${goneEver + at + 1}`;
      const repair = reason === '' ? 'replace' : 'none';
      return {
        type: 'VmGone',
        data: { uid: cluster.uid, node, requestId, connection, providerId, repair, reason },
      } satisfies SightFact;
    });
};

/** Neither its replacement nor its return was stated: each look decides once more, as the reason against it may have ended. */
const isUndecided = ({ lost, refused }: Sights, { name }: Machine): boolean =>
  lost[name] === undefined || lost[name] === 'held' || refused[name] !== undefined;

/** So many are missing that nothing is repaired while they are. */
const held = (
  { uid, sights }: Cluster,
  machines: readonly Machine[],
  counts: Pick<Fact<'VmsMissing'>['data'], 'connection' | 'missing' | 'total'>,
): readonly SightFact[] => {
  const nodes = machines.map(({ name }) => name).filter((name) => sights.lost[name] === undefined);
  return nodes.length === 0 ? [] : [{ type: 'VmsMissing', data: { uid, nodes, ...counts } }];
};

/**
 * Machines that the provider does not list any more: each is gone, or all of them are held because they are too many. While the cluster is
 * paused nothing is stated: what is still missing afterwards is found by the next look.
 */
const vanished = (cluster: Cluster, machines: readonly Machine[], look: ClusterLook): readonly SightFact[] => {
  if (cluster.sights.paused) return [];
  const all = expected(cluster);
  const undecided = machines.filter((machine) => isUndecided(cluster.sights, machine));
  if (undecided.length === 0) return [];
  const isSuspicious = ({ name }: Machine): boolean =>
    cluster.sights.lost[name] === 'held' || (cluster.sights.lost[name] === undefined && look.absent.includes(name));
  const missing = all.filter(isSuspicious).length;
  return isMassDisappearance(missing, all.length)
    ? held(cluster, undecided, { connection: look.connection, missing, total: all.length })
    : gone(cluster, undecided, look);
};

const isAt = ({ publicIp, privateIp, ssh }: Machine, at: MachineAddresses): boolean =>
  publicIp === at.publicIp && privateIp === at.privateIp && ssh.host === at.ssh.host && ssh.port === at.ssh.port;

/** What a difference of a machine that the provider lists means; nothing if the log says so already. */
const listed = ({ uid, sights }: Cluster, machine: Machine, difference: Difference): readonly SightFact[] => {
  const { name: node, providerId } = machine;
  const isStopped = sights.stopped.includes(node);
  switch (difference.kind) {
    case 'gone':
      return [];
    case 'returned':
      return sights.lost[node] === undefined ? [] : [{ type: 'VmReturned', data: { uid, node, providerId } }];
    case 'stopped':
      return isStopped ? [] : [{ type: 'VmStopped', data: { uid, node } }];
    case 'started':
      return isStopped ? [{ type: 'VmStarted', data: { uid, node } }] : [];
    case 'moved':
      return isAt(machine, difference.addresses)
        ? []
        : [{ type: 'VmAddressChanged', data: { uid, node, ...difference.addresses } }];
  }
};

/** What a look at a provider states about one cluster. */
export const factsOfLook = (cluster: Cluster, look: ClusterLook): readonly SightFact[] => {
  const known = new Map(expected(cluster).map((machine) => [machine.name, machine]));
  const of = ({ node }: Difference): readonly Machine[] => [known.get(node)].filter((one) => one !== undefined);
  const vanishing = look.differences.filter(({ kind }) => kind === 'gone').flatMap(of);
  return [
    ...look.differences.flatMap((difference) =>
      of(difference).flatMap((machine) => listed(cluster, machine, difference)),
    ),
    ...vanished(cluster, vanishing, look),
  ];
};

/** The machine is deleted: nothing more follows for it. */
const withoutSight = ({ goneEver, paused, lost, refused, departing, ...lists }: Sights, name: NodeName): Sights => ({
  goneEver,
  paused,
  lost: without(lost, name),
  refused: without(refused, name),
  departing: without(departing, name),
  stopped: lists.stopped.filter((one) => one !== name),
  joined: without(lists.joined, name),
});

/** A create-first replacement leaves the old node where it is until the new one is Ready. The first of several counts. */
const withReplacement = (sights: Sights, event: StoredEvent): Sights => {
  const replacement = replacementIn(event);
  if (replacement === undefined || sights.departing[replacement.node] !== undefined) return sights;
  return { ...sights, departing: { ...sights.departing, [replacement.node]: replacement.requestId } };
};

const withoutReplacement = (sights: Sights, event: StoredEvent): Sights => {
  const ended = endedRequestIn(event);
  const staying = Object.entries(sights.departing).filter(([, by]) => by !== ended);
  return staying.length === Object.keys(sights.departing).length
    ? sights
    : { ...sights, departing: Object.fromEntries(staying) };
};

const withDepartures = (sights: Sights, event: StoredEvent): Sights =>
  departuresIn(event, {}).reduce((before, { node, leaving }) => {
    const departing = leaving ? { ...before.departing, [node]: '' } : without(before.departing, node);
    return { ...before, departing };
  }, sights);

const withGone = (sights: Sights, { node, repair, reason }: EventData<'VmGone'>): Sights => ({
  ...sights,
  lost: { ...sights.lost, [node]: 'gone' },
  refused: repair === 'none' ? { ...sights.refused, [node]: reason } : without(sights.refused, node),
  goneEver: sights.goneEver + 1,
});

export const sightsAfter = (before: Sights, event: StoredEvent, announced: Names): Sights => {
  const sights = withDepartures(withoutReplacement(withReplacement(before, event), event), event);
  switch (event.type) {
    case 'VmGone':
      return withGone(sights, event.data);
    case 'VmsMissing': {
      const held = Object.fromEntries(event.data.nodes.map((node) => [node, 'held' as const]));
      return { ...sights, lost: { ...sights.lost, ...held } };
    }
    case 'VmReturned':
      return {
        ...sights,
        lost: without(sights.lost, event.data.node),
        refused: without(sights.refused, event.data.node),
      };
    case 'VmStopped':
      return { ...sights, stopped: [...sights.stopped, event.data.node] };
    case 'VmStarted':
      return { ...sights, stopped: sights.stopped.filter((name) => name !== event.data.node) };
    case 'ClusterPaused':
      return { ...sights, paused: true };
    case 'ClusterResumed':
      return { ...sights, paused: false };
    case 'ClusterReady':
      return { ...sights, joined: announced };
    case 'VmDeleted':
      return withoutSight(sights, event.data.name);
    default:
      return sights;
  }
};

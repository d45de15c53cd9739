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

/** The drift of a cluster's machines: what the provider last reported, if it differs from what was requested. */
export interface ProviderDrift {
  /** Machines that it does not list. `held`: too many are missing at once, so nothing is repaired. */
  readonly lost: Readonly<Record<string, 'gone' | 'held'>>;
  /** For machines that are gone: the last stated reason why they are not replaced. */
  readonly refused: Readonly<Record<string, string>>;
  readonly stopped: readonly NodeName[];
  /** Machines whose power can be switched. Absent: none. */
  readonly powered?: readonly NodeName[];
  /** Leaving nodes, with the replacement whose failure would keep them; empty if there is none. */
  readonly departing: Readonly<Record<string, string>>;
  /** Nodes that were part of the cluster when it was last Ready. */
  readonly joined: Names;
  /**
   * How many machines were ever stated as gone, so that two disappearances of one machine have different replacements.
   */
  readonly goneEver: number;
  /**
   * While paused, nothing may be repaired, and machines that are missing now may be back once the cluster is resumed.
   */
  readonly paused: boolean;
}

export const NO_DRIFT: ProviderDrift = {
  lost: {},
  refused: {},
  stopped: [],
  departing: {},
  joined: {},
  goneEver: 0,
  paused: false,
};

/** A difference between a provider's list and the log that two consecutive lists show. */
export type Difference = { readonly node: NodeName } & (
  | { readonly kind: 'gone' | 'returned' | 'stopped' | 'started' }
  | { readonly kind: 'moved'; readonly addresses: MachineAddresses }
  | { readonly kind: 'power'; readonly managed: boolean }
);

export interface ListedCluster {
  readonly connection: ConnectionName;
  /** Every machine of the cluster on this connection that this list does not contain. */
  readonly absent: readonly NodeName[];
  readonly differences: readonly Difference[];
}

/** The part of a cluster that is compared with a list. */
interface Cluster {
  readonly uid: ClusterUid;
  readonly created: Readonly<Record<string, Machine>>;
  readonly announced: Names;
  readonly deletions: Readonly<Record<string, unknown>>;
  readonly sights: ProviderDrift;
}

type SightFact = Fact<
  'VmGone' | 'VmsMissing' | 'VmReturned' | 'VmStopped' | 'VmStarted' | 'VmAddressChanged' | 'VmPowerManaged'
>;

/** Machines that must exist: announced ones that are not being deleted. */
const expected = ({ created, announced, deletions }: Cluster): readonly Machine[] =>
  Object.values(created).filter(({ name }) => announced[name] === true && deletions[name] === undefined);

const controlPlaneRefusal = (machines: readonly Machine[], lost: ReadonlySet<string>): string => {
  const members = machines.filter(({ role }) => role === 'control-plane');
  const healthy = members.filter(({ name }) => !lost.has(name)).length;
  return c8MayRemove({ members: members.length, healthy }, false)
    ? ''
    : `${healthy} of ${members.length} control planes have a machine, which is no quorum of etcd`;
};

/** Why a machine that is gone is not replaced automatically; empty if it is. */
const refusalOf = (cluster: Cluster, machine: Machine, lost: ReadonlySet<string>): string => {
  const { departing, joined } = cluster.sights;
  if (departing[machine.name] !== undefined) return 'its node is being removed or replaced already';
  if (machine.surge !== undefined) return 'it is a surge machine of an upgrade';
  if (joined[machine.name] === undefined) return 'its node had not joined the cluster yet';
  return machine.role === 'worker' ? '' : controlPlaneRefusal(expected(cluster), lost);
};

/**
 * Each replaced control plane counts as lost for the next one, in the order of names. Why a machine is not replaced is
 * stated once, and again if the reason changes.
 */
const gone = (cluster: Cluster, machines: readonly Machine[], { connection }: ListedCluster): readonly SightFact[] => {
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

/**
 * Neither its replacement nor its return was stated: each list decides again, because the reason may no longer apply.
 */
const isUndecided = ({ lost, refused }: ProviderDrift, { name }: Machine): boolean =>
  lost[name] === undefined || lost[name] === 'held' || refused[name] !== undefined;

/** Too many are missing, so nothing is repaired until some are back. */
const held = (
  { uid, sights }: Cluster,
  machines: readonly Machine[],
  counts: Pick<Fact<'VmsMissing'>['data'], 'connection' | 'missing' | 'total'>,
): readonly SightFact[] => {
  const nodes = machines.map(({ name }) => name).filter((name) => sights.lost[name] === undefined);
  return nodes.length === 0 ? [] : [{ type: 'VmsMissing', data: { uid, nodes, ...counts } }];
};

/**
 * Machines that the provider no longer lists: each is gone, or all of them are held because they are too many. Nothing
 * is stated while the cluster is paused: machines that are still missing afterwards are found by the next list.
 */
const vanished = (cluster: Cluster, machines: readonly Machine[], look: ListedCluster): readonly SightFact[] => {
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

/** The fact for a difference of a listed machine, unless it is already stated. */
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
    case 'power':
      return (sights.powered ?? []).includes(node) === difference.managed
        ? []
        : [{ type: 'VmPowerManaged', data: { uid, node, managed: difference.managed } }];
    case 'moved':
      return isAt(machine, difference.addresses)
        ? []
        : [{ type: 'VmAddressChanged', data: { uid, node, ...difference.addresses } }];
  }
};

/** The facts for one cluster from a provider's list. */
export const factsOfLook = (cluster: Cluster, look: ListedCluster): readonly SightFact[] => {
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

/** Drops the drift of a deleted machine. */
const withoutSight = (
  { goneEver, paused, lost, refused, departing, powered, ...lists }: ProviderDrift,
  name: NodeName,
): ProviderDrift => ({
  goneEver,
  paused,
  lost: without(lost, name),
  refused: without(refused, name),
  departing: without(departing, name),
  stopped: lists.stopped.filter((one) => one !== name),
  ...(powered === undefined ? {} : { powered: powered.filter((one) => one !== name) }),
  joined: without(lists.joined, name),
});

/** A create-first replacement keeps the old node until the new one is Ready. The first of several is used. */
const withReplacement = (sights: ProviderDrift, event: StoredEvent): ProviderDrift => {
  const replacement = replacementIn(event);
  if (replacement === undefined || sights.departing[replacement.node] !== undefined) return sights;
  return { ...sights, departing: { ...sights.departing, [replacement.node]: replacement.requestId } };
};

const withoutReplacement = (sights: ProviderDrift, event: StoredEvent): ProviderDrift => {
  const ended = endedRequestIn(event);
  const staying = Object.entries(sights.departing).filter(([, by]) => by !== ended);
  return staying.length === Object.keys(sights.departing).length
    ? sights
    : { ...sights, departing: Object.fromEntries(staying) };
};

const withDepartures = (sights: ProviderDrift, event: StoredEvent): ProviderDrift =>
  departuresIn(event, {}).reduce((before, { node, leaving }) => {
    const departing = leaving ? { ...before.departing, [node]: '' } : without(before.departing, node);
    return { ...before, departing };
  }, sights);

const withGone = (sights: ProviderDrift, { node, repair, reason }: EventData<'VmGone'>): ProviderDrift => ({
  ...sights,
  lost: { ...sights.lost, [node]: 'gone' },
  refused: repair === 'none' ? { ...sights.refused, [node]: reason } : without(sights.refused, node),
  goneEver: sights.goneEver + 1,
});

export const driftAfter = (before: ProviderDrift, event: StoredEvent, announced: Names): ProviderDrift => {
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
    case 'VmPowerManaged': {
      const { node, managed } = event.data;
      const others = (sights.powered ?? []).filter((name) => name !== node);
      return { ...sights, powered: managed ? [...others, node] : others };
    }
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

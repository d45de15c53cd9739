import {
  releaseOf,
  softwareOf,
  type ClusterUid,
  type EventData,
  type Machine,
  type NodeName,
  type SoftwareVersions,
  type StoredEvent,
} from '@fairlead/contracts';
import { job, type Process } from '@fairlead/event-sourcing';

/** What of a cluster says which software its nodes shall have. */
export type Wanted =
  | { readonly status: 'none' }
  | {
      readonly status: 'wanted';
      readonly uid: ClusterUid;
      /** That of the control planes: the one that was asked for, then the one that an upgrade brought them to. */
      readonly version: string;
      /** Operations of the present plan after which the control planes have another version. */
      readonly coming: Readonly<Record<string, string>>;
      /** What extra nodes shall have beyond the release: by the operations that ask for them, and of the surges under way. */
      readonly bookings: Readonly<Record<string, SoftwareVersions>>;
      readonly surges: Readonly<Record<string, SoftwareVersions>>;
      /** Nodes whose agents may change them without an upgrade having allowed it: they are being made. */
      readonly inTheMaking: readonly NodeName[];
      /** Nodes that could not join and were kept: their agents keep their permission for the next try. */
      readonly kept: readonly NodeName[];
    };

/** Data of the job: these nodes shall have this software, unless they are gone by then. */
export interface SetDesired {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly nodes: readonly NodeName[];
  readonly software: SoftwareVersions;
}

/** Data of the job: these nodes are made, and from now on only upgrades may change them. */
export interface WithdrawPermissions {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly nodes: readonly NodeName[];
}

const softwareFor = (version: string): SoftwareVersions => {
  const release = releaseOf(version);
  // The gateway refuses unknown versions, so this is a release that lost a row of its catalogue.
  if (release === undefined) throw new Error(`no release ${version} in the catalogue`);
  return softwareOf(release);
};

type Known = Extract<Wanted, { readonly status: 'wanted' }>;

const allowed = (state: Known, { node, changesAllowed, change }: EventData<'DesiredVersionsSet'>): Known => {
  const others = state.inTheMaking.filter((name) => name !== node);
  return { ...state, inTheMaking: changesAllowed && change === undefined ? [...others, node] : others };
};

const coming = (state: Known, { plan }: EventData<'UpgradePlanned'>): Known => ({
  ...state,
  coming: Object.fromEntries(
    plan.operations.flatMap(({ kind, id, to }) =>
      kind === 'addons' && to['kubernetes'] !== undefined ? [[`${plan.upgradeId}/${id}`, to['kubernetes']]] : [],
    ),
  ),
  bookings: Object.fromEntries(
    plan.operations.flatMap(({ kind, id, to }) => (kind === 'book-surge' ? [[`${plan.upgradeId}/${id}`, to]] : [])),
  ),
});

const booked = (state: Known, { upgradeId, operation, pool }: EventData<'SurgeRequested'>): Known => ({
  ...state,
  surges: { ...state.surges, [`${upgradeId}/${pool}`]: state.bookings[`${upgradeId}/${operation}`] ?? {} },
});

/** Extra nodes have the target of their upgrade from the start; those of one surge are told of together. */
const softwareOfMachines = (state: Known, [first]: readonly Machine[]): SoftwareVersions => ({
  ...softwareFor(state.version),
  ...(first?.surge === undefined ? {} : state.surges[`${first.surge}/${first.pool}`]),
});

const evolveKnown = (state: Known, event: StoredEvent): Wanted => {
  switch (event.type) {
    case 'DesiredVersionsSet':
      return allowed(state, event.data);
    case 'NodeRemoved': {
      const { node } = event.data;
      const others = (names: readonly NodeName[]) => names.filter((name) => name !== node);
      return { ...state, inTheMaking: others(state.inTheMaking), kept: others(state.kept) };
    }
    case 'NodesFailed': {
      const { nodes, onFailure } = event.data;
      if (onFailure === 'rollback') return state;
      const kept = state.inTheMaking.filter((name) => nodes.includes(name));
      const inTheMaking = state.inTheMaking.filter((name) => !nodes.includes(name));
      return { ...state, inTheMaking, kept: [...state.kept, ...kept] };
    }
    case 'NodeReady': {
      const { node } = event.data;
      if (!state.kept.includes(node)) return state;
      const kept = state.kept.filter((name) => name !== node);
      return { ...state, inTheMaking: [...state.inTheMaking, node], kept };
    }
    case 'ClusterRetryRequested':
      return { ...state, inTheMaking: [...state.inTheMaking, ...state.kept], kept: [] };
    case 'UpgradePlanned':
      return coming(state, event.data);
    case 'SurgeRequested':
      return booked(state, event.data);
    case 'OperationCompleted': {
      const version = state.coming[`${event.data.upgradeId}/${event.data.operation}`];
      return version === undefined ? state : { ...state, version };
    }
    default:
      return state;
  }
};

/**
 * New machines get the versions of their cluster as soon as all of them run. While they are made their agents may change
 * them; that permission ends when the cluster is Ready.
 */
export const desiredProcess: Process<Wanted> = {
  name: 'desired-versions',
  version: 4,
  initial: { status: 'none' },

  evolve: (state, event) => {
    if (event.type === 'ClusterRequested') {
      const { uid, spec } = event.data;
      const nothing = { coming: {}, bookings: {}, surges: {}, inTheMaking: [], kept: [] };
      return { status: 'wanted', uid, version: spec.kubernetes.version, ...nothing };
    }
    if (state.status === 'none' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
    return event.type === 'ClusterDeleted' ? undefined : evolveKnown(state, event);
  },

  react: (state, event) => {
    if (state.status !== 'wanted' || !('uid' in event.data) || event.data.uid !== state.uid) return [];
    const { uid } = state;
    if (event.type === 'VmsCreated') {
      const nodes = event.data.machines.map(({ name }) => name);
      const data: SetDesired = { uid, nodes, software: softwareOfMachines(state, event.data.machines) };
      return [job('SetDesiredVersions', data)];
    }
    if (event.type !== 'ClusterReady' || state.inTheMaking.length === 0) return [];
    const data: WithdrawPermissions = { uid, nodes: state.inTheMaking };
    return [job('WithdrawPermissions', data)];
  },
};

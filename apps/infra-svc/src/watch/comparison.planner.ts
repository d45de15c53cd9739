import {
  PROVIDER_ID_MAX,
  PROVIDER_TEXT_MAX,
  type ClusterUid,
  type EventData,
  type MachineAddresses,
  type Namespace,
  type NodeName,
} from '@fairlead/contracts';
import type { ListedCluster, Difference } from '../machines/provider.drift.js';
import { clusterOfGroup } from '../providers/group.names.js';
import type { ListedMachine } from '../providers/provider.ports.js';

/** Limits how many new orphans one list records; the next list records more. */
const ORPHANS_PER_LOOK_MAX = 100;

/** A machine from the projections. */
export interface RecordedMachine {
  readonly namespace: Namespace;
  readonly cluster: string;
  readonly uid: ClusterUid;
  readonly name: NodeName;
  /** Its properties once it runs; null before. */
  readonly running: { readonly id: string; readonly addresses: MachineAddresses } | null;
  readonly lost: boolean;
  readonly stopped: boolean;
  /** Absent: its power cannot be switched. */
  readonly power?: boolean;
}

export type Orphan = Omit<EventData<'OrphanVmFound'>, 'connection'>;

/** The findings of the previous list, by subject. */
export type Memory = ReadonlyMap<string, string>;

export const NO_MEMORY: Memory = new Map();

export interface ClusterFindings extends Pick<ListedCluster, 'absent' | 'differences'> {
  readonly namespace: Namespace;
  readonly cluster: string;
  readonly uid: ClusterUid;
}

export interface Comparison {
  /** Clusters for which two consecutive lists showed the same differences. */
  readonly clusters: readonly ClusterFindings[];
  /** Machines that no cluster has planned, and recorded orphans that no longer are; both in two consecutive lists. */
  readonly orphans: { readonly found: readonly Orphan[]; readonly gone: readonly string[] };
  /** For the next list. */
  readonly memory: Memory;
}

export interface World {
  /** The rows before the provider was queried. */
  readonly recorded: readonly RecordedMachine[];
  readonly listed: readonly ListedMachine[];
  /** IDs of the recorded orphans. */
  readonly orphans: readonly string[];
}

const keyOf = ({ namespace, cluster, name }: Pick<RecordedMachine, 'namespace' | 'cluster' | 'name'>): string =>
  `${namespace}/${cluster}/${name}`;

const addressesOf = ({
  publicIp,
  privateIp,
  ssh,
}: Extract<ListedMachine, { status: 'running' }>): MachineAddresses => ({
  publicIp,
  privateIp,
  ssh: { host: ssh.host, port: ssh.port },
});

const isSame = (one: MachineAddresses, other: MachineAddresses): boolean =>
  one.publicIp === other.publicIp &&
  one.privateIp === other.privateIp &&
  one.ssh.host === other.ssh.host &&
  one.ssh.port === other.ssh.port;

/**
 * How the list differs from the row of a running machine; machines that are being created or have failed are ignored.
 * One that remains missing is a new difference each time, so that its replacement is decided again.
 */
const differenceOf = (
  { name: node, lost, stopped, power = false }: RecordedMachine,
  recorded: MachineAddresses,
  report: ListedMachine | undefined,
): Difference | undefined => {
  if (report === undefined) return { node, kind: 'gone' };
  if (lost) return { node, kind: 'returned' };
  if (report.status === 'stopped') return stopped ? undefined : { node, kind: 'stopped' };
  if (report.status !== 'running') return undefined;
  if (stopped) return { node, kind: 'started' };
  const addresses = addressesOf(report);
  if (addresses.ssh.host !== '' && !isSame(addresses, recorded)) return { node, kind: 'moved', addresses };
  const managed = report.power === true;
  return managed === power ? undefined : { node, kind: 'power', managed };
};

/** Collects findings and reports whether the previous list had the same. */
class Twice {
  readonly memory = new Map<string, string>();

  constructor(private readonly before: Memory) {}

  confirms(about: string, found: string): boolean {
    this.memory.set(about, found);
    return this.before.get(about) === found;
  }
}

interface Findings {
  readonly machine: RecordedMachine;
  readonly absent: NodeName[];
  readonly differences: Difference[];
}

const compareMachines = (
  recorded: readonly RecordedMachine[],
  byId: ReadonlyMap<string, ListedMachine>,
  twice: Twice,
): readonly ClusterFindings[] => {
  const clusters = new Map<string, Findings>();
  for (const machine of recorded) {
    if (machine.running === null) continue;
    const { id, addresses } = machine.running;
    const report = byId.get(id);
    const difference = differenceOf(machine, addresses, report);
    if (report !== undefined && difference === undefined) continue;
    const clusterKey = `${machine.namespace}/${machine.cluster}`;
    const findings = clusters.get(clusterKey) ?? { machine, absent: [], differences: [] };
    clusters.set(clusterKey, findings);
    if (report === undefined) findings.absent.push(machine.name);
    if (difference !== undefined && twice.confirms(keyOf(machine), JSON.stringify([id, difference])))
      findings.differences.push(difference);
  }
  return [...clusters.values()]
    .filter(({ differences }) => differences.length > 0)
    .map(({ machine: { namespace, cluster, uid }, absent, differences }) => ({
      namespace,
      cluster,
      uid,
      absent,
      differences,
    }));
};

/** Whether a machine of this name is planned, and it is this one or not created yet. */
const isPlanned = (report: ListedMachine, byKey: ReadonlyMap<string, RecordedMachine>): boolean => {
  const at = clusterOfGroup(report.group);
  const row = at && byKey.get(`${at.namespace}/${at.cluster}/${report.name}`);
  return row !== undefined && (row.running === null || row.running.id === report.id);
};

const bounded = (text: string): string => text.slice(0, PROVIDER_TEXT_MAX);

const orphanOf = (machine: ListedMachine): Orphan => ({
  id: machine.id,
  name: bounded(machine.name),
  group: bounded(machine.group),
  status: machine.status,
  ...(machine.spec === undefined ? {} : { spec: bounded(machine.spec) }),
  ...(machine.status === 'running' ? { zone: bounded(machine.zone) } : {}),
});

const isNameable = ({ id }: ListedMachine): boolean => id !== '' && id.length <= PROVIDER_ID_MAX;

const compareOrphans = ({ recorded, listed, orphans }: World, twice: Twice): Comparison['orphans'] => {
  const byKey = new Map(recorded.map((machine) => [keyOf(machine), machine]));
  const known = new Set(orphans);
  const unplanned = listed.filter((report) => isNameable(report) && !isPlanned(report, byKey));
  const found = unplanned
    .filter(({ id }) => !known.has(id))
    .slice(0, ORPHANS_PER_LOOK_MAX)
    .filter(({ id }) => twice.confirms(`orphan/${id}`, 'found'));
  const still = new Set(unplanned.map(({ id }) => id));
  const gone = orphans.filter((id) => !still.has(id)).filter((id) => twice.confirms(`orphan/${id}`, 'gone'));
  return { found: found.map(orphanOf), gone };
};

/**
 * Compares a complete list of a connection's machines with the rows. A difference counts once two consecutive lists
 * show it.
 */
export const compare = (world: World, before: Memory): Comparison => {
  const twice = new Twice(before);
  const byId = new Map(world.listed.map((report) => [report.id, report]));
  const clusters = compareMachines(world.recorded, byId, twice);
  const orphans = compareOrphans(world, twice);
  return { clusters, orphans, memory: twice.memory };
};

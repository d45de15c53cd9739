import type { ClusterSpec, ClusterUid, Machine, MachinePlan, NodeName, SecretRef } from '@fairlead/contracts';
import type { ClusterIdentity, Declared, HookState } from '@fairlead/domain';
import type { LoadBalancerPlacement } from '../providers/provider.ports.js';
import { batchOf, type Additions } from './additions.js';
import type { Names } from './names.js';
import type { ClusterReservations } from './reservations.js';
import type { Rollouts } from './rollouts.js';
import type { Sights } from './sights.js';
import type { Surges } from './surges.js';

/** The deletion of a machine, or of everything that a cluster made. */
export interface Deletion {
  /** How often it has failed since it was last asked for. */
  readonly failures: number;
  /** RFC 3339: when its next attempt begins, or when the present one began. */
  readonly beginsAt: string;
}

export interface Balancer {
  readonly host: string;
  readonly placement: LoadBalancerPlacement;
  /** The control planes that it sends requests to, where it is the provider's. */
  readonly targets: readonly NodeName[];
}

/** The machines of one incarnation of a cluster. */
export interface Cluster {
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
  /** What its pools must be like now. */
  readonly declared: Declared | undefined;
  /** Grows when a cluster that has failed is retried, and when it has to be deleted: what is under way for an earlier run is void. */
  readonly run: number;
  /** Machines that are named and not deleted. */
  readonly planned: readonly MachinePlan[];
  /** The request that a machine was planned for, by its name; of no other machines. Absent: there are none. */
  readonly plannedFor?: Readonly<Record<string, string>>;
  /** Those of them that run, by name. */
  readonly created: Readonly<Record<string, Machine>>;
  /** Names that a VmsCreated has announced to the other services. */
  readonly announced: Names;
  readonly additions: Additions;
  readonly surges: Surges;
  readonly rollouts: Rollouts;
  /** The address of its API server; null: there is no balancer. */
  readonly balancer: Balancer | null;
  /** A control plane has moved since: the balancer still has its former address. */
  readonly rebalance: boolean;
  readonly sights: Sights;
  /** An index is never used twice, so that a name never means another machine. */
  readonly workersEver: number;
  readonly controlPlanesEver: number;
  readonly poolsEver: number;
  /** Control planes that are drained, and whose machines are not gone: no request should reach them. */
  readonly drained: readonly NodeName[];
  /** When the machines were last desired again (RFC 3339): a provider's deadline counts from here. */
  readonly desiredSince: string;
  /** A retry was requested, so machines that failed are deleted and made again. */
  readonly remake: boolean;
  /** Machines whose node has left, and machines that were given up before they were announced, by name. */
  readonly deletions: Readonly<Record<string, Deletion>>;
  /** Those that may hold the creation and the end of the deletion. Absent: none is declared. */
  readonly hooks?: HookState | undefined;
  /** The SSH key that hosts were last required to accept, by connection; absent: none was rotated. */
  readonly replacements?: Readonly<Record<string, SecretRef>>;
  /** Machines that providers reserve for it, by connection. Absent: none. */
  readonly reservations?: ClusterReservations;
  /** What it has at identity providers. Absent: nothing, and never had. */
  readonly identity?: ClusterIdentity;
}

export type Machines =
  | { readonly status: 'absent' }
  | { readonly status: 'requested'; readonly cluster: Cluster }
  | { readonly status: 'rejected'; readonly cluster: Cluster }
  | { readonly status: 'desired'; readonly cluster: Cluster }
  /** `resumesAs`: where a retry takes it up again. */
  | { readonly status: 'failed'; readonly cluster: Cluster; readonly resumesAs: 'requested' | 'desired' }
  /** `deletion` is null until the cluster is dismantled: its machines run until then. `emptied`: they are gone, and hooks hold its end. */
  | {
      readonly status: 'leaving';
      readonly cluster: Cluster;
      readonly deletion: Deletion | null;
      readonly emptied?: true;
    };

export type PresentMachines = Exclude<Machines, { status: 'absent' }>;

/** The control planes that requests are to reach: all that run, but for those that leave. */
export const targetsOf = ({ created, drained, deletions }: Cluster): readonly Machine[] =>
  Object.values(created).filter(
    ({ role, name }) => role === 'control-plane' && !drained.includes(name) && deletions[name] === undefined,
  );

/** Whether the provider's balancer sends requests to other control planes than it should. */
export const isBalancedWrong = (cluster: Cluster): boolean => {
  const { balancer } = cluster;
  if (balancer?.placement !== 'provider') return false;
  const desired = targetsOf(cluster).map(({ name }) => name);
  return desired.length !== balancer.targets.length || desired.some((name) => !balancer.targets.includes(name));
};

/** The one control plane whose own address is that of the API: it has no balancer in front. */
export const unbalancedAddress = ({ balancer, created }: Cluster): string | undefined =>
  balancer?.placement === 'elsewhere' &&
  Object.values(created).some(({ privateIp, publicIp, ssh }) => [privateIp, publicIp, ssh.host].includes(balancer.host))
    ? balancer.host
    : undefined;

export const isGivenUp = ({ surges, additions }: Cluster, name: NodeName): boolean =>
  surges.leaving.includes(name) || additions.leaving.includes(name);

/** Machines that are to stay: zones are balanced without those whose nodes leave. */
export const stayingOf = (cluster: Cluster): readonly MachinePlan[] =>
  cluster.planned.filter(
    ({ name }) =>
      !isGivenUp(cluster, name) && cluster.deletions[name] === undefined && cluster.sights.departing[name] !== '',
  );

/** Machines that are given up and were never announced: no node has to leave before them. */
export const unannouncedOf = (cluster: Cluster): readonly MachinePlan[] =>
  cluster.planned.filter(({ name }) => isGivenUp(cluster, name) && cluster.announced[name] === undefined);

/** Machines of a batch that are to stay. */
export const stayingIn = (cluster: Cluster, batch: string | null): readonly MachinePlan[] =>
  cluster.planned.filter((plan) => batchOf(cluster.additions, plan) === batch && !isGivenUp(cluster, plan.name));

/** The machines that still have to be made: of the cluster itself, of one request for more, or of one surge. */
export const missingOf = (cluster: Cluster, batch: string | null = null): readonly MachinePlan[] =>
  stayingIn(cluster, batch).filter(({ name }) => cluster.created[name] === undefined);

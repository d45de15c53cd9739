import type { ClusterSpec, ClusterUid, Machine, MachinePlan, NodeName, SecretRef } from '@fairlead/contracts';
import type { ClusterIdentity, Declared, HookState, Publication } from '@fairlead/domain';
import type { LoadBalancerPlacement } from '../providers/provider.ports.js';
import { batchOf, type NodeRequests } from './node.requests.js';
import type { Names } from './names.js';
import type { ClusterReservations } from './reservations.js';
import type { Rollouts } from './rollouts.js';
import type { ProviderDrift } from './provider.drift.js';
import type { Surges } from './surges.js';

/** The deletion of a machine, or of everything of a cluster. */
export interface Deletion {
  /** How often it has failed since it was last requested. */
  readonly failures: number;
  /** RFC 3339: when its next attempt begins, or when the current one began. */
  readonly beginsAt: string;
}

export interface Balancer {
  readonly host: string;
  readonly placement: LoadBalancerPlacement;
  /** The control planes that are its targets, if it belongs to the provider. */
  readonly targets: readonly NodeName[];
}

/** The machines of one incarnation of a cluster. */
export interface Cluster {
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
  /** The current declaration of its pools. */
  readonly declared: Declared | undefined;
  /**
   * Incremented when a failed cluster is retried, and when it must be deleted: work in progress for an earlier run is
   * void.
   */
  readonly run: number;
  /** Planned machines that are not deleted. */
  readonly planned: readonly MachinePlan[];
  /** The request for which a machine was planned, by machine name; only for such machines. Absent: there are none. */
  readonly plannedFor?: Readonly<Record<string, string>>;
  /** The running ones, by name. */
  readonly created: Readonly<Record<string, Machine>>;
  /** Names of machines that a VmsCreated has announced to the other services. */
  readonly announced: Names;
  readonly additions: NodeRequests;
  readonly surges: Surges;
  readonly rollouts: Rollouts;
  /** The address of its API server; null: it has no load balancer. */
  readonly balancer: Balancer | null;
  /** The address of a control plane has changed, and the load balancer still has the former one. */
  readonly rebalance: boolean;
  readonly sights: ProviderDrift;
  /** An index is never reused, so that a name never refers to another machine. */
  readonly workersEver: number;
  readonly controlPlanesEver: number;
  readonly poolsEver: number;
  /** Drained control planes whose machines still exist: they must not receive requests. */
  readonly drained: readonly NodeName[];
  /** When the machines were last requested (RFC 3339): the deadline of a provider starts here. */
  readonly desiredSince: string;
  /** A retry was requested, so failed machines are deleted and created again. */
  readonly remake: boolean;
  /** Machines whose node has left, and machines that were abandoned before they were announced, by name. */
  readonly deletions: Readonly<Record<string, Deletion>>;
  /** Hooks that may block the creation and the end of the deletion. Absent: none is declared. */
  readonly hooks?: HookState | undefined;
  /** The SSH key that hosts were last required to accept, by connection; absent: none was rotated. */
  readonly replacements?: Readonly<Record<string, SecretRef>>;
  /** Machines that providers reserve for it, by connection. Absent: none. */
  readonly reservations?: ClusterReservations;
  /** Its resources at identity providers. Absent: it never had any. */
  readonly identity?: ClusterIdentity;
  /** What it has at the tunnel. Absent: nothing, and never had. */
  readonly publication?: Publication;
}

export type Machines =
  | { readonly status: 'absent' }
  | { readonly status: 'requested'; readonly cluster: Cluster }
  | { readonly status: 'rejected'; readonly cluster: Cluster }
  | { readonly status: 'desired'; readonly cluster: Cluster }
  /** `resumesAs`: the status after a retry. */
  | { readonly status: 'failed'; readonly cluster: Cluster; readonly resumesAs: 'requested' | 'desired' }
  /**
   * `deletion` is null until the cluster is dismantled, because its machines run until then. `emptied`: its machines
   * are gone, and hooks block its end.
   */
  | {
      readonly status: 'leaving';
      readonly cluster: Cluster;
      readonly deletion: Deletion | null;
      readonly emptied?: true;
    };

export type PresentMachines = Exclude<Machines, { status: 'absent' }>;

/** The control planes that receive requests: all running ones, except those that are leaving. */
export const targetsOf = ({ created, drained, deletions }: Cluster): readonly Machine[] =>
  Object.values(created).filter(
    ({ role, name }) => role === 'control-plane' && !drained.includes(name) && deletions[name] === undefined,
  );

/** Whether the targets of the provider's load balancer differ from the desired ones. */
export const isBalancedWrong = (cluster: Cluster): boolean => {
  const { balancer } = cluster;
  if (balancer?.placement !== 'provider') return false;
  const desired = targetsOf(cluster).map(({ name }) => name);
  return desired.length !== balancer.targets.length || desired.some((name) => !balancer.targets.includes(name));
};

/** The address of the only control plane, if it is also that of the API, without a load balancer. */
export const unbalancedAddress = ({ balancer, created }: Cluster): string | undefined =>
  balancer?.placement === 'elsewhere' &&
  Object.values(created).some(({ privateIp, publicIp, ssh }) => [privateIp, publicIp, ssh.host].includes(balancer.host))
    ? balancer.host
    : undefined;

export const isGivenUp = ({ surges, additions }: Cluster, name: NodeName): boolean =>
  surges.leaving.includes(name) || additions.leaving.includes(name);

/** Machines that remain: zones are balanced without those whose nodes are leaving. */
export const stayingOf = (cluster: Cluster): readonly MachinePlan[] =>
  cluster.planned.filter(
    ({ name }) =>
      !isGivenUp(cluster, name) && cluster.deletions[name] === undefined && cluster.sights.departing[name] !== '',
  );

/** Abandoned machines that were never announced: no node has to leave before them. */
export const unannouncedOf = (cluster: Cluster): readonly MachinePlan[] =>
  cluster.planned.filter(({ name }) => isGivenUp(cluster, name) && cluster.announced[name] === undefined);

/** Machines of a batch that remain. */
export const stayingIn = (cluster: Cluster, batch: string | null): readonly MachinePlan[] =>
  cluster.planned.filter((plan) => batchOf(cluster.additions, plan) === batch && !isGivenUp(cluster, plan.name));

/** The machines that are still to be created: of the cluster itself, of a request for more, or of a surge. */
export const missingOf = (cluster: Cluster, batch: string | null = null): readonly MachinePlan[] =>
  stayingIn(cluster, batch).filter(({ name }) => cluster.created[name] === undefined);

import type { KeyPair } from '../certificates/certificate.authority.js';
import type { Clock } from '../clock/clock.js';
import type { SimulationDelays } from '../clock/simulation.delays.js';
import type { EvictionFault } from '../disruption/eviction.planner.js';
import type { ClusterSnapshot } from './cluster.snapshot.js';

export interface SimulatedClusterOptions {
  readonly name: string;
  /** `v1.34.4` */
  readonly version: string;
  readonly podCidr: string;
  /** Prefix length of each node's range of it; absent: Kubernetes' default. */
  readonly nodeCidrMask?: number | undefined;
  readonly serviceCidr: string;
  readonly clock?: Clock;
  readonly ca?: KeyPair;
  readonly delays?: Partial<SimulationDelays>;
  /** The administrator's first client certificate counts as made so long ago. */
  readonly certificateAgeMs?: number;
  /** How the eviction of a pod on this node is denied or fails; absent or undefined: it is decided as Kubernetes does. */
  readonly evictionFault?: (node: string) => EvictionFault | undefined;
  /** How many changes are remembered for watches that resume (2,000 when not given); older versions are answered with 410 Gone. */
  readonly watchHistoryMax?: number;
  /** `host:port` that kubeadm's ConfigMaps name as the control plane's endpoint. */
  readonly controlPlaneEndpoint?: string;
  /** Where an etcd answers that kubeadm does not run; absent: it is kubeadm's. */
  readonly etcdEndpoints?: readonly string[];
  /** The cluster continues from here; name, version, networks and authority are then the snapshot's. */
  readonly state?: ClusterSnapshot;
}

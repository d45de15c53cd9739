import type { KeyPair } from '../certificates/certificate.authority.js';
import type { Clock } from '../clock/clock.js';
import type { SimulationDelays } from '../clock/simulation.delays.js';
import type { EvictionFault } from '../disruption/eviction.planner.js';
import type { ClusterSnapshot } from './cluster.snapshot.js';

export interface SimulatedClusterOptions {
  readonly name: string;
  /** For example `v1.34.4`. */
  readonly version: string;
  readonly podCidr: string;
  /** Prefix length of each node's range of it; absent: the default of Kubernetes. */
  readonly nodeCidrMask?: number | undefined;
  readonly serviceCidr: string;
  readonly clock?: Clock;
  readonly ca?: KeyPair;
  readonly delays?: Partial<SimulationDelays>;
  /** The age of the administrator's first client certificate. */
  readonly certificateAgeMs?: number;
  /** How the eviction of a pod on this node is denied or fails; absent or undefined: decided as in Kubernetes. */
  readonly evictionFault?: (node: string) => EvictionFault | undefined;
  /** How many changes are kept for watches that resume (default 2,000); older versions are answered with 410 Gone. */
  readonly watchHistoryMax?: number;
  /** The control plane endpoint in kubeadm's ConfigMaps, `host:port`. */
  readonly controlPlaneEndpoint?: string;
  /** Endpoints of an external etcd; absent: kubeadm runs etcd. */
  readonly etcdEndpoints?: readonly string[];
  /** The cluster resumes from this snapshot, with its name, version, networks and authority. */
  readonly state?: ClusterSnapshot;
}

import { releaseOf, WorldFailure, type Machine } from '@fairlead/contracts';
import type { ClusterSettings, NodeSettings, Tuning } from '@fairlead/node-scripts';
import type { Host, Known } from '../bootstrap/bootstrap.state.js';

/**
 * Labels that a kubelet may give itself; `kubernetes.io/cluster` is not one of them (NodeRestriction admission), so that
 * one is put on by the administrator.
 */
export const nodeLabels = (machine: Machine): Readonly<Record<string, string>> => ({
  'topology.cloud-barista.github.io/csp': machine.csp,
  'topology.kubernetes.io/region': machine.region,
  'topology.kubernetes.io/zone': machine.zone,
});

/** CB-Ladybug's label that names the cluster. */
export const clusterLabel = (cluster: string): Readonly<Record<string, string>> => ({
  'kubernetes.io/cluster': cluster,
});

/** The private address is the one that the machine itself has; a public one may be translated on the way. */
export const nodeSettings = ({ machine }: Host): NodeSettings => ({
  name: machine.name,
  address: machine.privateIp,
  providerId: machine.providerId,
  labels: nodeLabels(machine),
});

export const clusterSettings = (state: Known, tuning: Tuning): ClusterSettings => {
  const { name, kubernetes } = state.spec;
  const release = releaseOf(kubernetes.version);
  if (release === undefined)
    throw new WorldFailure({
      operation: 'configure kubeadm',
      target: name,
      message: `Kubernetes ${kubernetes.version} is not among the known releases`,
      retryable: false,
    });
  if (state.endpoint === null) throw new Error(`the plan does nothing to ${name}'s control plane without its address`);
  return {
    api: release.kubeadmApi,
    kubernetesVersion: kubernetes.version,
    clusterName: name,
    endpoint: state.endpoint,
    podCidr: kubernetes.podCidr,
    serviceCidr: kubernetes.serviceCidr,
    dnsDomain: kubernetes.serviceDnsDomain,
    tuning,
  };
};

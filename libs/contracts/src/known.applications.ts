import type { ApplicationSettings } from './application.js';

/** An application that can be registered by name alone. */
export interface KnownApplication extends Pick<
  ApplicationSettings,
  'repository' | 'chart' | 'range' | 'label' | 'description'
> {
  /** What of this version was run with Fairlead, and what was not. */
  readonly ran: string;
}

/**
 * Charts as tagged by their repositories, installed by the real helm into a cluster of the lab, which pulls no images.
 */
const IN_THE_LAB = 'installed, compared and uninstalled in the lab; its image never ran';

/** Each with the one tested version: for others, register a version range. */
export const KNOWN_APPLICATIONS: Readonly<Record<string, KnownApplication>> = {
  'metrics-server': {
    repository: 'https://kubernetes-sigs.github.io/metrics-server',
    chart: 'metrics-server',
    range: '3.13.1',
    label: 'Metrics Server',
    description: 'CPU and memory of nodes and pods, for kubectl top and for autoscaling of pods',
    ran: IN_THE_LAB,
  },
  'cert-manager': {
    repository: 'oci://quay.io/jetstack/charts',
    chart: 'cert-manager',
    range: 'v1.21.1',
    label: 'cert-manager',
    description: 'Certificates for what runs in the cluster, issued and renewed',
    ran: IN_THE_LAB,
  },
  traefik: {
    repository: 'https://traefik.github.io/charts',
    chart: 'traefik',
    range: '41.3.0',
    label: 'Traefik',
    description: 'Ingress and Gateway API: HTTP from outside to services in the cluster',
    ran: IN_THE_LAB,
  },
  'nfs-subdir-external-provisioner': {
    repository: 'https://kubernetes-sigs.github.io/nfs-subdir-external-provisioner',
    chart: 'nfs-subdir-external-provisioner',
    range: '4.0.18',
    label: 'NFS provisioner',
    description: 'Volumes as folders of an NFS server; its values need nfs.server and nfs.path',
    ran: IN_THE_LAB,
  },
  'cluster-autoscaler': {
    repository: 'https://kubernetes.github.io/autoscaler',
    chart: 'cluster-autoscaler',
    range: '9.59.0',
    label: 'Cluster Autoscaler',
    description: 'Chooses the size of pools through the external gRPC provider of Fairlead',
    ran: IN_THE_LAB,
  },
};

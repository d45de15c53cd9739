import type { ApplicationSettings } from './application.js';
import { CLOUD_CHARTS } from './cloud.charts.js';

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

/** Pinned by what their repositories had tagged: no public chart site could be read when they were listed. */
const NEVER = 'never installed by Fairlead, neither its chart nor its program';

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
  'openstack-cloud-controller-manager': {
    repository: 'https://kubernetes.github.io/cloud-provider-openstack',
    chart: 'openstack-cloud-controller-manager',
    range: CLOUD_CHARTS.openstack.controller.version,
    label: 'OpenStack cloud controller manager',
    description:
      'Initializes nodes, and makes load balancers for services, in clusters with cloudController: openstack',
    ran: NEVER,
  },
  'openstack-cinder-csi': {
    repository: 'https://kubernetes.github.io/cloud-provider-openstack',
    chart: 'openstack-cinder-csi',
    range: CLOUD_CHARTS.openstack.controller.version,
    label: 'Cinder CSI driver',
    description: 'Volumes of Cinder, in clusters with cloudController: openstack',
    ran: NEVER,
  },
  'aws-cloud-controller-manager': {
    repository: 'https://kubernetes.github.io/cloud-provider-aws',
    chart: 'aws-cloud-controller-manager',
    range: CLOUD_CHARTS.aws.controller.version,
    label: 'AWS cloud controller manager',
    description: 'Initializes nodes, and makes load balancers for services, in clusters with cloudController: aws',
    ran: NEVER,
  },
  'aws-ebs-csi-driver': {
    repository: 'https://kubernetes-sigs.github.io/aws-ebs-csi-driver',
    chart: 'aws-ebs-csi-driver',
    range: CLOUD_CHARTS.aws.storage.version,
    label: 'EBS CSI driver',
    description: 'Volumes of EBS, in clusters with cloudController: aws',
    ran: NEVER,
  },
};

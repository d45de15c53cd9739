import {
  ClusterManifest,
  compareVersions,
  completeTemplate,
  MANIFEST_API_VERSION,
  MANIFEST_KIND,
  minorsAhead,
  refuse,
  type ClusterTemplateManifest,
  type Namespace,
  type Refusal,
  type RefusalCode,
  type TemplateCluster,
} from '@fairlead/contracts';
import { faultsOfCluster } from '../clusters/clusters.rules.js';
import { faultsOfManifest, inManifest, requestOfManifest } from '../clusters/manifest.rules.js';

const ANY = 'any';
const EXTERNAL_ETCD_MIN = 3;

/** A small cluster of the template: what it leaves out has a value that no rule objects to. */
const sampleOf = (cluster: TemplateCluster): ClusterManifest => {
  const { controlPlane, pools, ...others } = completeTemplate(cluster);
  const connection = controlPlane?.connection ?? pools?.connection ?? ANY;
  const replicas = controlPlane?.etcd === 'external' ? EXTERNAL_ETCD_MIN : 1;
  const machines = { connection, machineType: ANY };
  return ClusterManifest.parse({
    apiVersion: MANIFEST_API_VERSION,
    kind: MANIFEST_KIND,
    metadata: { name: ANY },
    spec: {
      ...others,
      controlPlane: { replicas, ...machines, ...controlPlane },
      pools: [{ name: ANY, replicas: 1, ...machines, ...pools }],
    },
  });
};

/** Clusters have the pools that these rules are about. */
const OF_POOLS: ReadonlySet<RefusalCode> = new Set<RefusalCode>(['drain.rule-pool', 'firewall.rule-pool']);

const inTemplate = (field: string): string => field.replace(/^spec\.(pools)?(\[\d+\])?/, 'spec.cluster.$1');

/** Why no cluster could be made of a template. Connections and machine sizes are looked at when one is. */
export const templateFaults = ({ spec: { cluster } }: ClusterTemplateManifest): readonly Refusal[] => {
  const sample = sampleOf(cluster);
  const address = { namespace: ANY as Namespace, cluster: sample.metadata.name };
  const faults = [
    ...inManifest(faultsOfCluster(requestOfManifest(sample), []), [0]),
    ...faultsOfManifest(sample, address),
  ];
  return faults
    .filter(({ code }) => !OF_POOLS.has(code))
    .map((fault) => (fault.field === undefined ? fault : { ...fault, field: inTemplate(fault.field) }));
};

/** A node with the version of its kubelet; empty: not reported yet. */
export interface Kubelet {
  readonly node: string;
  readonly version: string;
}

/** Another template of a cluster that there is. */
export interface TemplateChange {
  readonly template: string;
  readonly before: string;
  readonly after: string;
  readonly kubelets: readonly Kubelet[];
}

/** Nodes that are held out of upgrades may be older than their cluster. */
const oldestOf = (kubelets: readonly Kubelet[]): Kubelet | undefined =>
  kubelets
    .filter(({ version }) => version !== '')
    .toSorted((one, other) => compareVersions(one.version, other.version))[0];

/** Why the version of a template is not one that the cluster can be upgraded to by naming it. */
export const templateVersionFaults = ({ template, before, after, kubelets }: TemplateChange): readonly Refusal[] => {
  const field = 'spec.template';
  const words = { template, before, after };
  if (compareVersions(after, before) < 0) return [refuse('template.version-lower', words, field)];
  if (minorsAhead(before, after) > 1) return [refuse('template.version-step', words, field)];
  const oldest = oldestOf(kubelets);
  return oldest !== undefined && minorsAhead(oldest.version, after) > 1
    ? [refuse('template.kubelet-too-old', { ...words, kubelet: oldest.version, node: oldest.node }, field)]
    : [];
};

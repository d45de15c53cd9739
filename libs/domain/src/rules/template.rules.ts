import {
  type Namespace,
  ClusterManifest,
  MANIFEST_API_VERSION,
  MANIFEST_KIND,
  type ClusterTemplateManifest,
  type TemplateCluster,
  type Refusal,
  type RefusalCode,
} from '@fairlead/contracts';
import { completeTemplate } from '../manifest/cluster.template.resolve.js';
import type { OwnReleases } from '../releases.fold.js';
import { faultsOfManifest, newClusterFaults } from './manifest.rules.js';

const ANY = 'any';
const EXTERNAL_ETCD_MIN = 3;

/** A small cluster of the template: omitted fields get values that pass every rule. */
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

/** Rules about pools, which only clusters have. */
const OF_POOLS: ReadonlySet<RefusalCode> = new Set<RefusalCode>(['drain.rule-pool', 'firewall.rule-pool']);

const inTemplate = (field: string): string => field.replace(/^spec\.(pools)?(\[\d+\])?/, 'spec.cluster.$1');

/** Why no cluster could be created from a template. Connections and machine sizes are checked when one is created. */
export const templateFaults = (
  { spec: { cluster } }: ClusterTemplateManifest,
  own?: OwnReleases,
): readonly Refusal[] => {
  const sample = sampleOf(cluster);
  const address = { namespace: ANY as Namespace, cluster: sample.metadata.name };
  const faults = [...newClusterFaults(sample, [], own), ...faultsOfManifest(sample, address)];
  return faults
    .filter(({ code }) => !OF_POOLS.has(code))
    .map((fault) => (fault.field === undefined ? fault : { ...fault, field: inTemplate(fault.field) }));
};

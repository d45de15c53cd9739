import { MANIFEST_API_VERSION, MANIFEST_KIND } from '@fairlead/contracts';
import type { ClusterView, ManifestView, NodeView } from '../api/views.js';
import { exported } from '../document/manifest.document.js';

/** A cluster for programs: its manifest, which can be applied as it is, with its status. */
export const clusterObject = (manifest: ManifestView, cluster: ClusterView) => {
  const { apiVersion, kind, metadata, status } = manifest;
  const { spec } = exported(manifest);
  return { apiVersion, kind, metadata, spec, status: { ...status, ...statusOf(cluster) } };
};

/** The cluster at a moment whose manifest is unknown. */
export const clusterWithoutSpec = (cluster: ClusterView) => {
  const { name, namespace, uid, createdTime: creationTimestamp } = cluster;
  return {
    ...{ apiVersion: MANIFEST_API_VERSION, kind: MANIFEST_KIND },
    metadata: { name, namespace, uid, creationTimestamp },
    status: statusOf(cluster),
  };
};

const statusOf = ({
  status,
  k8sVersion,
  endpoint,
  conditions,
  lease,
  cost,
  addons,
  services,
  progress,
  nodes,
}: ClusterView) => ({
  ...status,
  version: k8sVersion,
  endpoint,
  conditions,
  ...(lease === undefined ? {} : { lease }),
  ...(cost === undefined ? {} : { cost }),
  ...(addons === undefined ? {} : { addons }),
  ...(services === undefined ? {} : { services }),
  progress,
  nodes: nodes.map(nodeStatusOf),
});

/** Without CB-Ladybug's provider fields. */
const nodeStatusOf = ({
  csp: _provider,
  cspLabel: _,
  regionLabel: _region,
  zoneLabel: _zone,
  spec,
  ...node
}: NodeView) => ({
  ...node,
  machineType: spec,
});

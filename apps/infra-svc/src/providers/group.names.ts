import type { ClusterSpec, ClusterUid, ConnectionName, Namespace } from '@fairlead/contracts';
import type { GroupRef } from './provider.ports.js';

export interface ClusterRef {
  readonly namespace: Namespace;
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
}

/** The provider's group of a cluster's machines on one connection. Names have no dots, so it is unique. */
export const groupOf = ({ namespace, uid, spec }: ClusterRef, connection: ConnectionName): GroupRef => ({
  name: `${namespace}.${spec.name}.${connection}`,
  namespace,
  cluster: spec.name,
  uid,
});

/** The cluster of a group; names have no dots. undefined: the group has no name of Fairlead's. */
export const clusterOfGroup = (group: string): { readonly namespace: string; readonly cluster: string } | undefined => {
  const [namespace, cluster, connection, ...rest] = group.split('.');
  return namespace && cluster && connection && rest.length === 0 ? { namespace, cluster } : undefined;
};

import type { ClusterSpec, ClusterUid, ConnectionName, Namespace } from '@fairlead/contracts';
import type { GroupRef } from './provider.ports.js';

export interface ClusterRef {
  readonly namespace: Namespace;
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
}

/** What a provider calls the machines of a cluster on one connection. Names have no dots, so no two clusters share one. */
export const groupOf = ({ namespace, uid, spec }: ClusterRef, connection: ConnectionName): GroupRef => ({
  name: `${namespace}.${spec.name}.${connection}`,
  namespace,
  cluster: spec.name,
  uid,
});

/** The cluster that a group was made for; names have no dots. undefined: the group has no name of ours. */
export const clusterOfGroup = (group: string): { readonly namespace: string; readonly cluster: string } | undefined => {
  const [namespace, cluster, connection, ...rest] = group.split('.');
  return namespace && cluster && connection && rest.length === 0 ? { namespace, cluster } : undefined;
};

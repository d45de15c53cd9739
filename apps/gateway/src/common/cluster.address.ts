import type { ClusterName, Namespace } from '@fairlead/contracts';

/** Which cluster a request is about. */
export interface ClusterAddress {
  readonly namespace: Namespace;
  readonly cluster: ClusterName;
}

/** Key of the rows of a cluster. */
export const clusterKey = (namespace: string, cluster: string): string => `${namespace}/${cluster}`;

/** Key of the rows of a node. */
export const nodeKey = (namespace: string, cluster: string, node: string): string => `${namespace}/${cluster}/${node}`;

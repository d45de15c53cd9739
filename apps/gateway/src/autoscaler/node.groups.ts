import { recordedProviderId, type Autoscaling, type DeclaredPool } from '@fairlead/contracts';
import type { Declared } from '@fairlead/domain';
import type { ClusterAddress } from '../common/cluster.address.js';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import {
  ERROR_CLASSES,
  INSTANCE_STATES,
  type GroupNode,
  type Instance,
  type NodeGroup,
} from './externalgrpc.messages.js';

/** A pool that an autoscaler may scale: to the autoscaler it is a node group with the name of the pool. */
export type ScaledPool = DeclaredPool & { readonly autoscaling: Autoscaling };

const isScaled = (pool: DeclaredPool): pool is ScaledPool => pool.autoscaling !== undefined;

export const scaledPools = ({ spec }: Pick<Declared, 'spec'>): readonly ScaledPool[] => spec.pools.filter(isScaled);

export const nodeGroup = ({ namespace, cluster }: ClusterAddress, pool: ScaledPool): NodeGroup => {
  const { min, max } = pool.autoscaling;
  return {
    id: pool.name,
    minSize: min,
    maxSize: max,
    debug: `pool ${pool.name} of ${namespace}/${cluster}: ${pool.replicas} nodes, ${min} to ${max}`,
  };
};

/** Of a node that belongs to no group: its id is empty. */
export const NO_GROUP: NodeGroup = { id: '', minSize: 0, maxSize: 0, debug: '' };

/** Until its machine has an id of its provider, an instance is known by this one. */
const instanceId = ({ namespace, cluster, name, machine }: NodeDoc): string =>
  machine?.providerId ?? `fairlead://${namespace}/${cluster}/${name}`;

/** Whether it is this node: by its provider ID, or by its name where Kubernetes has none of it. */
const isNode = (doc: NodeDoc, { providerID, name }: GroupNode): boolean =>
  providerID === '' ? doc.name === name : instanceId(doc) === recordedProviderId(providerID);

/** Surge nodes are none of the pool's size. */
export const nodesOfPool = (docs: readonly NodeDoc[], pool: string): readonly NodeDoc[] =>
  docs.filter((doc) => doc.pool === pool && doc.surge === undefined);

export const findNode = (docs: readonly NodeDoc[], node: GroupNode): NodeDoc | undefined =>
  docs.find((doc) => doc.surge === undefined && isNode(doc, node));

const errorOf = ({ isKept = false, reason }: NodeDoc): Pick<Instance['status'], 'errorInfo'> =>
  isKept
    ? {
        errorInfo: {
          errorCode: 'provisioning-failed',
          errorMessage: reason,
          instanceErrorClass: ERROR_CLASSES.other,
        },
      }
    : {};

/** A node as the autoscaler sees it. The client looks at errors of instances that are being created, and of no others. */
export const instanceOf = (doc: NodeDoc, { nodes: counted }: Pick<Declared, 'nodes'>): Instance => {
  const id = instanceId(doc);
  if (doc.isRemoving || !(doc.name in counted)) return { id, status: { instanceState: INSTANCE_STATES.deleting } };
  const isCreating = doc.machine === null || doc.isKept === true;
  return {
    id,
    status: {
      instanceState: isCreating ? INSTANCE_STATES.creating : INSTANCE_STATES.running,
      ...errorOf(doc),
    },
  };
};

/** Nodes that are counted and have no machine yet, the newest first. */
export const unmade = (docs: readonly NodeDoc[], { nodes: counted }: Pick<Declared, 'nodes'>): readonly NodeDoc[] =>
  docs
    .filter(({ name, machine, isRemoving }) => machine === null && !isRemoving && name in counted)
    .toSorted((one, other) => other.planSeq - one.planSeq);

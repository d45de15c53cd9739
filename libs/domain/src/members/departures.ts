import type { StoredEvent, NodeName, UpgradeId } from '@fairlead/contracts';
import { replacedIn } from './replacements.js';

/**
 * The nodes that begin to leave with the event: their removal was requested, they are being replaced, their request is
 * rolled back or abandoned, or their surge ends. Every fold, projection and decider uses this list.
 */
export const leavingIn = (event: StoredEvent): readonly NodeName[] => {
  switch (event.type) {
    case 'NodeRemovalRequested':
    case 'NodeRemoved':
      return [event.data.node];
    case 'NodesAbandoned':
    case 'SurgeReleased':
      return event.data.nodes;
    case 'VmsFailed':
      return event.data.onFailure === 'rollback' ? event.data.machines : [];
    case 'NodesFailed':
      return event.data.onFailure === 'rollback' ? event.data.nodes : [];
    default: {
      const node = replacedIn(event);
      return node === undefined ? [] : [node];
    }
  }
};

/** The nodes whose removal was cancelled. */
export const stayingIn = (event: StoredEvent): readonly NodeName[] =>
  event.type === 'NodeRemovalCancelled' ? [event.data.node] : [];

/** The fields of a node on which its departure depends. */
interface Departing {
  readonly pool: string;
  readonly surge?: UpgradeId | undefined;
}

/** `SurgeFailed` names no nodes: all nodes of its upgrade and pool leave. */
const surgeIn = (event: StoredEvent, nodes: Readonly<Record<string, Departing>>): readonly NodeName[] => {
  if (event.type !== 'SurgeFailed') return [];
  const { upgradeId, pool } = event.data;
  return Object.entries(nodes).flatMap(([name, node]) =>
    node.surge === upgradeId && node.pool === pool ? [name as NodeName] : [],
  );
};

/** The nodes that begin to leave with the event, and those whose removal was cancelled. */
export const departuresIn = (
  event: StoredEvent,
  nodes: Readonly<Record<string, Departing>>,
): readonly { readonly node: NodeName; readonly leaving: boolean }[] => [
  ...[...leavingIn(event), ...surgeIn(event, nodes)].map((node) => ({ node, leaving: true })),
  ...stayingIn(event).map((node) => ({ node, leaving: false })),
];

/** The request that ends with the event and leaves its nodes unchanged; undefined: none. */
export const endedRequestIn = (event: StoredEvent): string | undefined => {
  switch (event.type) {
    case 'NodesRejected':
    case 'VmsFailed':
    case 'NodesFailed':
    case 'NodesAbandoned':
    case 'RemediationSucceeded':
    case 'RemediationFailed':
      return event.data.requestId;
    default:
      return undefined;
  }
};

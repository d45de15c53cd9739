import { ACTION_PARTICIPLES, refuse, type NodeActionKind, type Refusal, type StoredEvent } from '@fairlead/contracts';
import { actionRequestedIn } from '@fairlead/domain';

/** A request about nodes that is not over. */
export interface OpenAction {
  /** The id of the event that requested it. */
  readonly operation: string;
  readonly requestId: string;
  readonly action: NodeActionKind;
  /** Those that are not through. */
  readonly nodes: ReadonlySet<string>;
  readonly cancelled: boolean;
}

/** The request is through on the node; with the last one it is over. */
const ended = (
  open: readonly OpenAction[],
  { requestId, node }: { readonly requestId: string; readonly node: string },
): readonly OpenAction[] =>
  open.flatMap((one) => {
    if (one.requestId !== requestId) return [one];
    const nodes = new Set([...one.nodes].filter((name) => name !== node));
    return nodes.size === 0 ? [] : [{ ...one, nodes }];
  });

/** The requests about nodes that are not over after an event. */
export const openActionsAfter = (open: readonly OpenAction[], event: StoredEvent): readonly OpenAction[] => {
  switch (event.type) {
    case 'NodeActionRequested':
    case 'DriftRepairRequested': {
      const requested = actionRequestedIn(event);
      if (requested === undefined) return open;
      const { requestId, action, nodes } = requested;
      return [...open, { operation: event.meta.id, requestId, action, nodes: new Set(nodes), cancelled: false }];
    }
    case 'NodeActionCancelled': {
      const { requestId } = event.data;
      return open.map((one) => (one.requestId === requestId ? { ...one, cancelled: true } : one));
    }
    case 'NodeActionSucceeded':
    case 'NodeActionFailed':
    case 'NodeActionVoided':
      return ended(open, event.data);
    default:
      return open;
  }
};

/** Nothing else is asked of a node of which something is asked already. */
export const refuseBesideActionOf = (
  open: readonly OpenAction[],
  { namespace, cluster, node }: { readonly namespace: string; readonly cluster: string; readonly node: string },
  action: string,
): Refusal | undefined => {
  const found = open.find(({ nodes }) => nodes.has(node));
  if (found === undefined) return undefined;
  const { operation } = found;
  return refuse('node.action-open', {
    namespace,
    cluster,
    action,
    node,
    done: ACTION_PARTICIPLES[found.action],
    operation,
  });
};

/** Nodes do not change for two reasons at once (B1). */
export const refuseBesideActions = (
  open: readonly OpenAction[],
  { namespace, cluster }: { readonly namespace: string; readonly cluster: string },
  action: string,
): Refusal | undefined => {
  const [first] = open;
  if (first === undefined) return undefined;
  return refuse('cluster.nodes-busy', { namespace, cluster, action, operation: first.operation, what: first.action });
};

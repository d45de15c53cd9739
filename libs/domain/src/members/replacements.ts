import {
  type OnFailure,
  type StoredEvent,
  type NodeName,
  conditionSentence,
  type ReplacementOrder,
} from '@fairlead/contracts';

/** The replacement of a node by a new one of the same pool. */
export interface Replacement {
  readonly uid: string;
  /** The VmsPlanned for it, and its failures, have this id. */
  readonly requestId: string;
  readonly node: NodeName;
  readonly order: ReplacementOrder;
  readonly reason: string;
  /** The rollout of a pool that it belongs to; absent: none. */
  readonly rollout?: string;
}

/** The replacement that an event requests; undefined: none. All code about replacements uses this function. */
export const replacementIn = (event: StoredEvent): Replacement | undefined => {
  switch (event.type) {
    case 'NodeReplacementRequested':
    case 'NodeReplacementPlanned':
      return event.data;
    case 'VmGone': {
      const { uid, requestId, node, repair } = event.data;
      if (repair !== 'replace') return undefined;
      return { uid, requestId, node, order: 'remove-first', reason: 'its machine no longer exists at its provider' };
    }
    case 'RemediationRequested': {
      const { uid, requestId, node, action, order = 'create-first', reason } = event.data;
      if (action !== 'replace') return undefined;
      return {
        uid,
        requestId,
        node,
        order,
        reason: conditionSentence(reason.condition, reason.since, reason.nodeCondition),
      };
    }
    default:
      return undefined;
  }
};

/** A failed new node is rolled back while the old one exists; otherwise it is kept for a retry. */
export const onFailureOf = ({ order }: Pick<Replacement, 'order'>): OnFailure =>
  order === 'create-first' ? 'rollback' : 'keep';

/** The node that begins to leave with the event because it is replaced; undefined: none. */
export const replacedIn = (event: StoredEvent): NodeName | undefined => {
  if (event.type === 'NodeReplacementReady') return event.data.node;
  const replacement = replacementIn(event);
  return replacement?.order === 'remove-first' ? replacement.node : undefined;
};

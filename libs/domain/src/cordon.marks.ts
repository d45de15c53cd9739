const PREFIX = 'action-';

/** The id of a change on a node, and the mark of a cordon, that an operator requested. */
export const actionMark = (requestId: string): string => `${PREFIX}${requestId}`;

/** The request of an operator that a change on a node, or a cordon, belongs to; undefined: it belongs to none. */
export const requestOfMark = (mark: string | undefined): string | undefined =>
  mark?.startsWith(PREFIX) === true ? mark.slice(PREFIX.length) : undefined;

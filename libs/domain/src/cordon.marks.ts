const PREFIX = 'action-';

/** The id of a node change, or of a cordon, that an operator requested. */
export const actionMark = (requestId: string): string => `${PREFIX}${requestId}`;

/** The operator's request behind a node change or a cordon; undefined: none. */
export const requestOfMark = (mark: string | undefined): string | undefined =>
  mark?.startsWith(PREFIX) === true ? mark.slice(PREFIX.length) : undefined;

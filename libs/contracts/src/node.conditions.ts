/** The conditions of a Node, besides Ready, that keep pods away from it. */
export const NODE_PRESSURES = ['DiskPressure', 'MemoryPressure', 'NetworkUnavailable', 'PIDPressure'] as const;
export type NodePressure = (typeof NODE_PRESSURES)[number];

/** Longest sentence of a Node's condition that is recorded. */
export const NODE_MESSAGE_MAX = 300;

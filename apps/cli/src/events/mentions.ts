import type { EventView } from '../api/views.js';

/** Larger than the depth of any event's data. */
const DEPTH_MAX = 16;

const contains = (value: unknown, name: string, depth = 0): boolean => {
  if (value === name) return true;
  if (typeof value !== 'object' || value === null || depth === DEPTH_MAX) return false;
  return Object.values(value).some((inner) => contains(inner, name, depth + 1));
};

/** Whether a node reported an event, or occurs anywhere in its data. */
export const mentions = ({ actor, data }: EventView, node: string): boolean =>
  actor === `node/${node}` || contains(data, node);

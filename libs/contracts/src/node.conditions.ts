import * as z from 'zod';

/** Node conditions besides Ready that keep pods away. */
export const NODE_PRESSURES = ['DiskPressure', 'MemoryPressure', 'NetworkUnavailable', 'PIDPressure'] as const;
export type NodePressure = (typeof NODE_PRESSURES)[number];

/** Maximum recorded length of a Node condition's message. */
export const NODE_MESSAGE_MAX = 300;

/** Per Node: further conditions are ignored. */
export const NODE_CONDITIONS_MAX = 30;
const CONDITION_TYPE_LENGTH_MAX = 316;
/** Kubernetes' form of a condition type: `KernelDeadlock`, `example.com/Disks`. */
const CONDITION_TYPE = /^([a-z0-9]([-.a-z0-9]*[a-z0-9])?\/)?[A-Za-z]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

export const NodeConditionType = z
  .string()
  .max(CONDITION_TYPE_LENGTH_MAX)
  .regex(CONDITION_TYPE, 'must be a type of Node conditions such as KernelDeadlock');
export const NodeConditionStatus = z.enum(['True', 'False', 'Unknown']);

/** A Node condition without its time and reason. */
export const NodeCondition = z.strictObject({ type: NodeConditionType, status: NodeConditionStatus });
export type NodeCondition = z.infer<typeof NodeCondition>;

/** "KernelDeadlock is True". */
export const nodeConditionWords = ({ type, status }: NodeCondition): string => `${type} is ${status}`;

import * as z from 'zod';

/** The conditions of a Node, besides Ready, that keep pods away from it. */
export const NODE_PRESSURES = ['DiskPressure', 'MemoryPressure', 'NetworkUnavailable', 'PIDPressure'] as const;
export type NodePressure = (typeof NODE_PRESSURES)[number];

/** Longest sentence of a Node's condition that is recorded. */
export const NODE_MESSAGE_MAX = 300;

/** Of one Node: more are not looked at. */
export const NODE_CONDITIONS_MAX = 30;
const CONDITION_TYPE_LENGTH_MAX = 316;
/** As Kubernetes names them: `KernelDeadlock`, `example.com/Disks`. */
const CONDITION_TYPE = /^([a-z0-9]([-.a-z0-9]*[a-z0-9])?\/)?[A-Za-z]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

export const NodeConditionType = z
  .string()
  .max(CONDITION_TYPE_LENGTH_MAX)
  .regex(CONDITION_TYPE, 'must be a type of Node conditions such as KernelDeadlock');
export const NodeConditionStatus = z.enum(['True', 'False', 'Unknown']);

/** A condition of a Node, without when it was seen and why. */
export const NodeCondition = z.strictObject({ type: NodeConditionType, status: NodeConditionStatus });
export type NodeCondition = z.infer<typeof NodeCondition>;

/** "KernelDeadlock is True". */
export const nodeConditionWords = ({ type, status }: NodeCondition): string => `${type} is ${status}`;

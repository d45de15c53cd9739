import { NODE_PRESSURES, type NodeCondition, type NodePressure, type UnhealthyCondition } from '@fairlead/contracts';

/** What is seen of a node right before it is remediated. Times are those of one monotonic clock. */
export interface Seen {
  /** The API answered: whether it has a Node object of it, and calls it Ready. */
  readonly kubernetes: 'absent' | 'not-ready' | 'ready';
  /** Of its Node object; null: it has none. */
  readonly internalIp: string | null;
  /** The private address that its machine has now, where it is another one than the one with which it joined; null: it is that one. */
  readonly machineIp: string | null;
  readonly nowMs: number;
  /** Since when this replica receives all heartbeats; undefined: it does not. */
  readonly listeningSinceMs: number | undefined;
  readonly heardAtMs: number | undefined;
  readonly limitMs: number;
}

const heartbeatDoubt = ({ nowMs, listeningSinceMs, heardAtMs, limitMs }: Seen): string | undefined => {
  if (listeningSinceMs === undefined) return 'no heartbeats can be received';
  if (nowMs - listeningSinceMs <= limitMs) return 'heartbeats have been received for too short a time';
  return heardAtMs !== undefined && nowMs - heardAtMs <= limitMs ? 'it sends heartbeats again' : undefined;
};

/** Why the node may be well although the log says otherwise; undefined: it is unhealthy. */
export const doubtOf = (condition: UnhealthyCondition, seen: Seen): string | undefined => {
  switch (condition) {
    case 'Lost':
      return heartbeatDoubt(seen);
    case 'NotReady':
      return seen.kubernetes === 'ready' ? 'Kubernetes calls it Ready' : undefined;
    case 'Missing':
      return seen.kubernetes === 'absent' ? undefined : 'Kubernetes has its Node object';
    case 'NotStarted':
    case 'NodeCondition':
      return undefined;
    case 'Moved':
      return seen.kubernetes !== 'absent' && seen.internalIp === seen.machineIp
        ? 'its kubelet has the address of its machine'
        : undefined;
  }
};

interface SeenConditions {
  readonly pressures: readonly NodePressure[];
  readonly conditions?: readonly NodeCondition[];
}

/** The same of a condition that its health check names. */
export const conditionDoubt = (
  { type, status }: NodeCondition,
  seen: SeenConditions | undefined,
): string | undefined => {
  if (seen === undefined) return 'Kubernetes has no Node object of it';
  const pressure = NODE_PRESSURES.find((one) => one === type);
  const pressed = pressure !== undefined && seen.pressures.includes(pressure) ? 'True' : 'False';
  const now = pressure === undefined ? seen.conditions?.find((one) => one.type === type)?.status : pressed;
  return now === status ? undefined : `its condition ${type} is ${now ?? 'gone'}`;
};

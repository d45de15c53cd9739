import { NODE_PRESSURES, type NodeCondition, type NodePressure, type UnhealthyCondition } from '@fairlead/contracts';

/** The state of a node right before its remediation. Times are of one monotonic clock. */
export interface Seen {
  /** From the API: whether the node has a Node object, and whether it is Ready. */
  readonly kubernetes: 'absent' | 'not-ready' | 'ready';
  /** The address in its Node object; null: none. */
  readonly internalIp: string | null;
  /** The current private address of its machine if it differs from the one with which it joined; null: unchanged. */
  readonly machineIp: string | null;
  readonly nowMs: number;
  /** Since when this replica has received all heartbeats; undefined: it does not. */
  readonly listeningSinceMs: number | undefined;
  readonly heardAtMs: number | undefined;
  readonly limitMs: number;
}

const heartbeatDoubt = ({ nowMs, listeningSinceMs, heardAtMs, limitMs }: Seen): string | undefined => {
  if (listeningSinceMs === undefined) return 'no heartbeats can be received';
  if (nowMs - listeningSinceMs <= limitMs) return 'heartbeats have been received for too short a time';
  return heardAtMs !== undefined && nowMs - heardAtMs <= limitMs ? 'it sends heartbeats again' : undefined;
};

/** Why the node may be healthy although the log reports otherwise; undefined: it is unhealthy. */
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

/** The same for a condition listed in the health check. */
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

import { timeOf } from '../clock/clock.js';
import { isReady, type Pod } from '../objects/core.types.js';
import { conditionOf } from '../objects/kube.object.js';

/** When a ready pod reaches `minReadySeconds`; undefined while it is not ready. */
const availableAtMs = (pod: Pod, minReadySeconds: number): number | undefined => {
  if (!isReady(pod)) return undefined;
  return (
    timeOf(conditionOf(pod, 'Ready')?.lastTransitionTime ?? pod.metadata.creationTimestamp) + minReadySeconds * 1000
  );
};

export const isAvailable = (pod: Pod, minReadySeconds: number, nowMs: number): boolean => {
  if (minReadySeconds === 0) return isReady(pod);
  const atMs = availableAtMs(pod, minReadySeconds);
  return atMs !== undefined && atMs <= nowMs;
};

/** The next time at which one of these ready pods becomes available, if any is still waiting. */
export const nextAvailableMs = (pods: readonly Pod[], minReadySeconds: number, nowMs: number): number | undefined => {
  const times = pods
    .map((pod) => availableAtMs(pod, minReadySeconds))
    .filter((atMs) => atMs !== undefined && atMs > nowMs);
  return times.reduce<number | undefined>(
    (least, atMs) => (least === undefined || (atMs ?? 0) < least ? atMs : least),
    undefined,
  );
};

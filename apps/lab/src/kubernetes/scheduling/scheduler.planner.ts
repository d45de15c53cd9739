import { event, replace, type Operation } from '../operations/operation.js';
import type { Node, Pod } from '../objects/core.types.js';
import { conditionOf, controllerOf, withCondition } from '../objects/kube.object.js';
import { PODS } from '../resources/builtin.resources.js';
import { loadsOf, misfit, onlyNodeOf, place, type NodeLoad } from './node.fit.js';
import { topologyMisfit } from './topology.fit.js';

export interface SchedulingWorld {
  readonly pods: readonly Pod[];
  readonly nodes: readonly Node[];
  readonly now: string;
}

const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** Whether the pod is not assigned yet and is for the default scheduler. */
export const isUnscheduled = ({ spec, status, metadata }: Pod): boolean =>
  (spec.nodeName === undefined || spec.nodeName === '') &&
  metadata.deletionTimestamp === undefined &&
  status?.phase === 'Pending' &&
  (spec.schedulerName === undefined || spec.schedulerName === 'default-scheduler');

/** Assigns every waiting pod, by priority, and reports why the others cannot be scheduled. */
export const planScheduling = ({ pods, nodes, now }: SchedulingWorld): readonly Operation[] => {
  const waiting = pods.filter(isUnscheduled);
  if (waiting.length === 0) return [];
  const loads = loadsOf(nodes, pods);
  const important = [...waiting].sort((a, b) => (b.spec.priority ?? 0) - (a.spec.priority ?? 0));
  return important.flatMap((pod) => {
    const reasons = new Map<string, number>();
    const only = onlyNodeOf(pod.spec);
    const fitting = (only === undefined ? loads : loads.filter(({ node }) => node.metadata.name === only)).filter(
      (load) => fits(pod, load, { loads, reasons }),
    );
    const best = bestOf(pod, fitting, loads);
    if (best === undefined) return unschedulable(pod, { nodes: nodes.length, reasons, now });
    place(best, pod);
    return bound(pod, best.node.metadata.name, now);
  });
};

const fits = (
  pod: Pod,
  load: NodeLoad,
  { loads, reasons }: { readonly loads: readonly NodeLoad[]; readonly reasons: Map<string, number> },
): boolean => {
  const why = misfit(pod, load) ?? topologyMisfit(pod, load, loads);
  if (why !== undefined) reasons.set(why, (reasons.get(why) ?? 0) + 1);
  return why === undefined;
};

/**
 * Chooses the node with the fewest pods of the same controller; among equals, the one in the emptier zone, then the
 * least loaded one.
 */
const bestOf = (pod: Pod, fitting: readonly NodeLoad[], all: readonly NodeLoad[]): NodeLoad | undefined => {
  if (fitting.length < 2) return fitting[0];
  const owner = controllerOf(pod)?.uid ?? '';
  const siblings = (load: NodeLoad): number => (owner === '' ? 0 : (load.perOwner.get(owner) ?? 0));
  const zones = new Map<string, number>();
  for (const load of all) {
    const zone = load.node.metadata.labels?.[ZONE_LABEL] ?? '';
    zones.set(zone, (zones.get(zone) ?? 0) + siblings(load));
  }
  const score = (load: NodeLoad): readonly number[] => [
    siblings(load),
    zones.get(load.node.metadata.labels?.[ZONE_LABEL] ?? '') ?? 0,
    softTaints(load.node),
    load.pods.length,
    load.cpu,
  ];
  return fitting.reduce<NodeLoad | undefined>(
    (best, load) => (best === undefined || isLess(score(load), score(best)) ? load : best),
    undefined,
  );
};

const softTaints = ({ spec }: Node): number =>
  (spec.taints ?? []).filter(({ effect }) => effect === 'PreferNoSchedule').length;

const isLess = (a: readonly number[], b: readonly number[]): boolean => {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
};

const bound = (pod: Pod, nodeName: string, now: string): readonly Operation[] => {
  const conditions = withCondition(pod.status?.conditions, {
    type: 'PodScheduled',
    status: 'True',
    lastTransitionTime: now,
  });
  const placed = { ...pod, spec: { ...pod.spec, nodeName }, status: { ...pod.status, conditions } };
  const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
  return [
    replace(PODS, placed, `it fits on ${nodeName}`),
    event(pod, 'Scheduled', `Successfully assigned ${name} to ${nodeName}`),
  ];
};

interface Refusal {
  readonly nodes: number;
  readonly reasons: ReadonlyMap<string, number>;
  readonly now: string;
}

const unschedulable = (pod: Pod, { nodes, reasons, now }: Refusal): readonly Operation[] => {
  const counted = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
  const message = `0/${nodes} nodes are available${counted.length === 0 ? '' : `: ${counted.join(', ')}`}.`;
  if (conditionOf(pod, 'PodScheduled')?.message === message) return [];
  const condition = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message,
    lastTransitionTime: now,
  } as const;
  const conditions = withCondition(pod.status?.conditions, condition);
  return [
    replace(PODS, { ...pod, status: { ...pod.status, conditions } }, message),
    event(pod, 'FailedScheduling', message, 'Warning'),
  ];
};

import { parseQuantity } from '@fairlead/kubernetes/quantity';
import type {
  Node,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Pod,
  PodSpec,
  ResourceList,
} from '../objects/core.types.js';
import { isTerminal } from '../objects/core.types.js';
import { controllerOf } from '../objects/kube.object.js';
import { remembered } from '../objects/remembered.js';
import { untolerated } from './taints.js';

/** A node and the pods assigned to it. Mutable: owned by a planner for one round. */
export interface NodeLoad {
  readonly node: Node;
  cpu: number;
  memory: number;
  pods: Pod[];
  /** How many of its pods have anti-affinity rules. */
  guards: number;
  readonly perOwner: Map<string, number>;
}

const requestOf = ({ containers, initContainers = [] }: PodSpec, resource: 'cpu' | 'memory'): number => {
  const request = (list: ResourceList | undefined): number => parseQuantity(list?.[resource] ?? 0) ?? 0;
  const running = containers.reduce((sum, { resources }) => sum + request(resources?.requests), 0);
  return Math.max(running, ...initContainers.map(({ resources }) => request(resources?.requests)));
};

const requestsOf = remembered((spec: PodSpec) => ({ cpu: requestOf(spec, 'cpu'), memory: requestOf(spec, 'memory') }));

export const place = (load: NodeLoad, pod: Pod): void => {
  const { cpu, memory } = requestsOf(pod.spec);
  load.cpu += cpu;
  load.memory += memory;
  load.pods.push(pod);
  if (pod.spec.affinity?.podAntiAffinity !== undefined) load.guards += 1;
  const owner = controllerOf(pod)?.uid ?? '';
  load.perOwner.set(owner, (load.perOwner.get(owner) ?? 0) + 1);
};

export const loadsOf = (nodes: readonly Node[], pods: readonly Pod[]): readonly NodeLoad[] => {
  const loads = new Map(nodes.map((node) => [node.metadata.name, emptyLoad(node)]));
  for (const pod of pods) {
    const load = isTerminal(pod) ? undefined : loads.get(pod.spec.nodeName ?? '');
    if (load !== undefined) place(load, pod);
  }
  return [...loads.values()];
};

const emptyLoad = (node: Node): NodeLoad => ({ node, cpu: 0, memory: 0, pods: [], guards: 0, perOwner: new Map() });

/** Rounding errors in sums of milli-CPUs must not make a pod unschedulable. */
const EPSILON = 1e-9;

/** Returns the scheduler's reason why node and pod do not match, regardless of other pods; undefined if they match. */
export const misfit = (pod: Pod, load: NodeLoad): string | undefined => {
  const { node } = load;
  if (!selectsNode(pod.spec, node)) return "node(s) didn't match Pod's node affinity/selector";
  const taint = untolerated(node.spec.taints, pod.spec.tolerations);
  if (node.spec.unschedulable === true && !toleratesUnschedulable(pod)) return 'node(s) were unschedulable';
  if (taint !== undefined) return `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`;
  const free = node.status?.allocatable ?? {};
  if (load.pods.length + 1 > (parseQuantity(free['pods'] ?? 0) ?? 0)) return 'Too many pods';
  if (load.cpu + requestsOf(pod.spec).cpu > (parseQuantity(free['cpu'] ?? 0) ?? 0) + EPSILON) return 'Insufficient cpu';
  if (load.memory + requestsOf(pod.spec).memory > (parseQuantity(free['memory'] ?? 0) ?? 0) + EPSILON)
    return 'Insufficient memory';
  return undefined;
};

const UNSCHEDULABLE = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' } as const;

const toleratesUnschedulable = (pod: Pod): boolean => untolerated([UNSCHEDULABLE], pod.spec.tolerations) === undefined;

/** The single node in the pod's node affinity, as for daemon pods, or undefined. */
export const onlyNodeOf = ({ affinity }: PodSpec): string | undefined => {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const field = terms.length === 1 ? terms[0]?.matchFields?.[0] : undefined;
  return field?.key === 'metadata.name' && field.operator === 'In' && field.values?.length === 1
    ? field.values[0]
    : undefined;
};

/** Whether the node matches the node selector and the required node affinity. */
export const selectsNode = (spec: PodSpec, node: Node): boolean => {
  const labels = node.metadata.labels ?? {};
  const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return selected && (terms === undefined || terms.some((term) => meetsTerm(term, node)));
};

const meetsTerm = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean =>
  matchExpressions.length + matchFields.length > 0 &&
  matchExpressions.every((requirement) => meets(requirement, node.metadata.labels?.[requirement.key])) &&
  matchFields.every((requirement) =>
    meets(requirement, requirement.key === 'metadata.name' ? node.metadata.name : undefined),
  );

const meets = ({ operator, values = [] }: NodeSelectorRequirement, value: string | undefined): boolean => {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && Number(value) > Number(values[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(values[0]);
  }
};

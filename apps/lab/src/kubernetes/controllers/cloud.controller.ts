import { UNINITIALIZED } from '../nodes/node.planner.js';
import { isReady, type Node, type Service } from '../objects/core.types.js';
import { objectKey } from '../objects/kube.object.js';
import { NODES, PODS, SECRETS, SERVICES } from '../resources/builtin.resources.js';
import { event, replace, type Operation } from '../operations/operation.js';
import type { Controller } from './controller.js';
import { byKey, concerns, keysOf, type World } from './world.js';

/** Label of pods that are a cloud controller in the simulation. The name of the Secret that they need is its value. */
export const CLOUD_CONTROLLER = 'lab.fairlead.dev/cloud-controller';
const NAMESPACE = 'kube-system';
/** Of Kubernetes: the load balancer of a service still exists. */
const CLEANUP = 'service.kubernetes.io/load-balancer-cleanup';
/** A documentation address (RFC 5737): nothing listens on it. */
const ADDRESS = '203.0.113.10';

/**
 * A simulated cloud controller manager: while one of its pods is Ready and its Secret exists, nodes are initialized, and
 * services of type LoadBalancer get an address and keep their load balancer until it is released.
 */
export const cloudController = ({ store }: World): Controller => {
  const runs = (): boolean =>
    store
      .list(PODS, NAMESPACE)
      .some(
        (pod) =>
          isReady(pod) &&
          store.get(SECRETS, NAMESPACE, pod.metadata.labels?.[CLOUD_CONTROLLER] ?? '')?.data?.['cloud.conf'] !==
            undefined,
      );
  const all = (): readonly string[] => [
    ...store.list(NODES).map(({ metadata }) => nodeKey(metadata.name)),
    ...keysOf(store, SERVICES),
  ];
  return {
    name: 'cloud-controller-manager',
    keysFor: (change) => {
      if (concerns(change, NODES)) return [nodeKey(change.object.metadata.name)];
      if (concerns(change, SERVICES)) return [objectKey(change.object)];
      const concernsIt =
        (concerns(change, PODS) && change.object.metadata.labels?.[CLOUD_CONTROLLER] !== undefined) ||
        (concerns(change, SECRETS) && change.object.metadata.namespace === NAMESPACE);
      return concernsIt ? all() : [];
    },
    allKeys: all,
    plan: (key) => {
      const node = key.startsWith(NODE) ? store.get(NODES, undefined, key.slice(NODE.length)) : undefined;
      const service = key.startsWith(NODE) ? undefined : byKey(store, SERVICES, key);
      if ((node === undefined && service === undefined) || !runs()) return [];
      return node === undefined ? planService(service!) : planNode(node);
    },
  };
};

/** No namespace has this name. */
const NODE = '//';
const nodeKey = (name: string): string => `${NODE}${name}`;

const planNode = (node: Node): readonly Operation[] => {
  const taints = node.spec.taints ?? [];
  const others = taints.filter(({ key }) => key !== UNINITIALIZED.key);
  if (others.length === taints.length) return [];
  const { name } = node.metadata;
  const providerID = node.spec.providerID ?? `lab://${name}`;
  return [
    replace(NODES, { ...node, spec: { ...node.spec, providerID, taints: others } }, 'the cloud knows its machine'),
    event(node, 'Synced', `Node ${name} synced successfully (simulated)`),
  ];
};

const planService = (service: Service): readonly Operation[] => {
  const { finalizers = [], deletionTimestamp } = service.metadata;
  const held = finalizers.includes(CLEANUP);
  const withFinalizers = (next: readonly string[]): Service => ({
    ...service,
    metadata: { ...service.metadata, finalizers: next },
  });
  if (deletionTimestamp !== undefined || service.spec.type !== 'LoadBalancer')
    return held
      ? [replace(SERVICES, withFinalizers(finalizers.filter((one) => one !== CLEANUP)), 'its load balancer is deleted')]
      : [];
  if (held) return [];
  const balanced = {
    ...withFinalizers([...finalizers, CLEANUP]),
    status: { loadBalancer: { ingress: [{ ip: ADDRESS }] } },
  };
  return [
    replace(SERVICES, balanced, 'its load balancer exists'),
    event(service, 'EnsuredLoadBalancer', 'Ensured load balancer (simulated)'),
  ];
};

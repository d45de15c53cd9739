import { create, remove, replace, type Operation } from '../operations/operation.js';
import {
  isReady,
  isTerminal,
  type Endpoints,
  type EndpointSlice,
  type Pod,
  type Service,
  type ServicePort,
} from '../objects/core.types.js';
import type { Draft } from '../objects/kube.object.js';
import { ENDPOINT_SLICES, ENDPOINTS } from '../resources/builtin.resources.js';

export interface EndpointsWorld {
  readonly service: Service;
  /** The pods in its namespace that match its selector. */
  readonly pods: readonly Pod[];
  readonly endpoints: Endpoints | undefined;
  readonly slice: EndpointSlice | undefined;
}

/** The label of a slice with the name of its service. */
const SERVICE_LABEL = 'kubernetes.io/service-name';

/** The endpoints of a service, as Endpoints and as an EndpointSlice. Services without a selector are left unchanged. */
export const planEndpoints = (world: EndpointsWorld): readonly Operation[] => {
  const { service } = world;
  if (service.spec.selector === undefined || service.metadata.deletionTimestamp !== undefined) return [];
  const reached = world.pods.filter(
    (pod) => pod.status?.podIP !== undefined && !isTerminal(pod) && pod.metadata.deletionTimestamp === undefined,
  );
  return [planObject(world, reached), planSlice(world, reached)];
};

const planObject = ({ service, endpoints }: EndpointsWorld, pods: readonly Pod[]): Operation => {
  const subsets = subsetsOf(service, pods);
  if (endpoints !== undefined) return replace(ENDPOINTS, { ...endpoints, subsets }, 'its pods have changed');
  const draft: Draft<Endpoints> = { apiVersion: 'v1', kind: 'Endpoints', metadata: named(service), subsets };
  return create(ENDPOINTS, draft, 'the service has none yet');
};

const named = ({ metadata }: Service): Draft['metadata'] => ({
  name: metadata.name,
  namespace: metadata.namespace ?? '',
  ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
});

const subsetsOf = (service: Service, pods: readonly Pod[]): readonly object[] => {
  const serves = (pod: Pod): boolean => isReady(pod) || service.spec.publishNotReadyAddresses === true;
  const ready = pods.filter(serves).map(addressOf);
  const notReady = pods.filter((pod) => !serves(pod)).map(addressOf);
  const ports = portsOf(service, pods[0]);
  if (ready.length + notReady.length === 0) return [];
  return [
    {
      ...(ready.length === 0 ? {} : { addresses: ready }),
      ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady }),
      ...(ports.length === 0 ? {} : { ports }),
    },
  ];
};

const addressOf = (pod: Pod): object => ({
  ip: pod.status?.podIP,
  nodeName: pod.spec.nodeName,
  targetRef: referenceTo(pod),
});

const referenceTo = ({ metadata }: Pod): object => ({
  kind: 'Pod',
  name: metadata.name,
  namespace: metadata.namespace,
  uid: metadata.uid,
});

const portsOf = (service: Service, pod: Pod | undefined): readonly object[] =>
  (service.spec.ports ?? []).map((port) => ({
    ...(port.name === undefined ? {} : { name: port.name }),
    port: targetOf(port, pod),
    protocol: port.protocol ?? 'TCP',
  }));

/** A target port may be the name of a container's port. */
const targetOf = ({ targetPort, port }: ServicePort, pod: Pod | undefined): number => {
  if (typeof targetPort === 'number') return targetPort;
  const named = pod?.spec.containers.flatMap(({ ports }) => ports ?? []).find(({ name }) => name === targetPort);
  return named?.containerPort ?? port;
};

const planSlice = ({ service, slice }: EndpointsWorld, pods: readonly Pod[]): Operation => {
  const content = { endpoints: pods.map((pod) => endpointOf(service, pod)), ports: portsOf(service, pods[0]) };
  if (slice !== undefined) return replace(ENDPOINT_SLICES, { ...slice, ...content }, 'its pods have changed');
  const { name, uid } = service.metadata;
  const owner = { apiVersion: 'v1', kind: 'Service', name, uid, controller: true, blockOwnerDeletion: true };
  const draft: Draft<EndpointSlice> = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: sliceName(service),
      namespace: service.metadata.namespace ?? '',
      labels: { [SERVICE_LABEL]: name, 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io' },
      ownerReferences: [owner],
    },
    addressType: 'IPv4',
    ...content,
  };
  return create(ENDPOINT_SLICES, draft, 'the service has none yet');
};

/** One slice per service is enough here; its name derives from the service's. */
export const sliceName = ({ metadata }: Service): string => `${metadata.name}-${metadata.uid.slice(0, 5)}`;

const endpointOf = (service: Service, pod: Pod): object => {
  const ready = isReady(pod) || service.spec.publishNotReadyAddresses === true;
  return {
    addresses: [pod.status?.podIP],
    conditions: { ready, serving: ready, terminating: false },
    nodeName: pod.spec.nodeName,
    targetRef: referenceTo(pod),
  };
};

/** Removes the endpoints of a deleted service; the slice is garbage-collected with its owner. */
export const planEndpointsRemoval = (endpoints: Endpoints): readonly Operation[] => [
  remove(ENDPOINTS, endpoints, 'its service is gone'),
];

import { roleOf } from '../nodes/node.planner.js';
import { planApiEndpoints } from '../networking/api.endpoints.planner.js';
import { planEndpoints, planEndpointsRemoval, sliceName } from '../networking/endpoints.planner.js';
import { matchesSelector } from '../objects/label.selector.js';
import { objectKey, splitKey } from '../objects/kube.object.js';
import type { Node, Pod } from '../objects/core.types.js';
import {
  CONFIG_MAPS,
  ENDPOINT_SLICES,
  ENDPOINTS,
  NAMESPACES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  SERVICE_ACCOUNTS,
  SERVICES,
  STORAGE_CLASSES,
} from '../resources/builtin.resources.js';
import { planClaim, planRelease } from '../volumes/claim.planner.js';
import { claimsOf, planProtection } from '../volumes/protection.planner.js';
import type { Change } from '../store/object.store.js';
import type { Controller } from './controller.js';
import { create, type Operation } from '../operations/operation.js';
import { byKey, concerns, keysOf, type World } from './world.js';

/** The endpoints of each service. */
export const endpointsController = ({ store }: World): Controller => ({
  name: 'endpoints-controller',
  keysFor: (change) => {
    if (concerns(change, SERVICES)) return [objectKey(change.object)];
    if (!concerns(change, PODS) || !changesReachability(change)) return [];
    return store
      .list(SERVICES, change.object.metadata.namespace)
      .filter(
        ({ spec }) =>
          spec.selector !== undefined && matchesSelector({ matchLabels: spec.selector }, change.object.metadata.labels),
      )
      .map(objectKey);
  },
  allKeys: () => keysOf(store, SERVICES),
  plan: (key) => {
    const { namespace, name } = splitKey(key);
    const service = store.get(SERVICES, namespace, name);
    const endpoints = store.get(ENDPOINTS, namespace, name);
    if (service === undefined) return endpoints === undefined ? [] : planEndpointsRemoval(endpoints);
    const selector = { matchLabels: service.spec.selector ?? {} };
    const pods = store.list(PODS, namespace).filter(({ metadata }) => matchesSelector(selector, metadata.labels));
    return planEndpoints({
      service,
      pods,
      endpoints,
      slice: store.get(ENDPOINT_SLICES, namespace, sliceName(service)),
    });
  },
});

/** Most changes of a pod (its events, its scheduling) do not affect a service. */
const changesReachability = ({ object, previous }: Change): boolean => {
  const [is, was] = [object as Pod, previous as Pod | undefined];
  const facts = (pod: Pod | undefined): string =>
    JSON.stringify([
      pod?.status?.podIP,
      pod?.status?.phase,
      pod?.metadata.deletionTimestamp,
      pod?.metadata.labels,
      readiness(pod),
    ]);
  return was === undefined || facts(is) !== facts(was);
};

const readiness = (pod: Pod | undefined): string | undefined =>
  pod?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;

/** The endpoints of the API itself. */
export const apiEndpointsController = ({ store }: World): Controller => ({
  name: 'apiserver-endpoints',
  keysFor: (change) =>
    concerns(change, NODES) && roleOf(change.object as Node) === 'control-plane' ? ['kubernetes'] : [],
  allKeys: () => ['kubernetes'],
  plan: () => {
    const controlPlanes = store.list(NODES).filter((node) => roleOf(node) === 'control-plane');
    return planApiEndpoints({
      controlPlanes,
      endpoints: store.get(ENDPOINTS, 'default', 'kubernetes'),
      slice: store.get(ENDPOINT_SLICES, 'default', 'kubernetes'),
    });
  },
});

/** The contents of every namespace: its default service account and the CA certificate. */
export const namespaceContentController = ({ store }: World, caPem: string): Controller => ({
  name: 'namespace-content-controller',
  keysFor: (change) => (concerns(change, NAMESPACES) && change.type === 'ADDED' ? [objectKey(change.object)] : []),
  allKeys: () => keysOf(store, NAMESPACES),
  plan: (key) => {
    const namespace = byKey(store, NAMESPACES, key);
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return [];
    const space = namespace.metadata.name;
    return [
      ...(store.get(SERVICE_ACCOUNTS, space, 'default') === undefined ? [defaultAccount(space)] : []),
      ...(store.get(CONFIG_MAPS, space, ROOT_CA) === undefined ? [rootCertificate(space, caPem)] : []),
    ];
  },
});

const ROOT_CA = 'kube-root-ca.crt';

const defaultAccount = (namespace: string): Operation =>
  create(
    SERVICE_ACCOUNTS,
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } },
    'every namespace has one',
  );

const rootCertificate = (namespace: string, caPem: string): Operation =>
  create(
    CONFIG_MAPS,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: ROOT_CA, namespace }, data: { 'ca.crt': caPem } },
    'every namespace has one',
  );

export const claimController = ({ store }: World): Controller => ({
  name: 'persistentvolume-controller',
  keysFor: (change) => {
    if (concerns(change, PERSISTENT_VOLUME_CLAIMS)) return [objectKey(change.object)];
    return concerns(change, STORAGE_CLASSES) ? keysOf(store, PERSISTENT_VOLUME_CLAIMS) : [];
  },
  allKeys: () => keysOf(store, PERSISTENT_VOLUME_CLAIMS),
  plan: (key) => {
    const { namespace, name } = splitKey(key);
    const claim = store.get(PERSISTENT_VOLUME_CLAIMS, namespace, name);
    const volumes = store.list(PERSISTENT_VOLUMES);
    if (claim === undefined) return planRelease({ namespace, name }, volumes);
    return planClaim({ claim, volumes, classes: store.list(STORAGE_CLASSES) });
  },
});

/** Keeps deleted claims while pods use them. */
export const claimProtectionController = ({ store }: World): Controller => ({
  name: 'pvc-protection-controller',
  keysFor: (change) => {
    if (concerns(change, PERSISTENT_VOLUME_CLAIMS)) return change.type === 'DELETED' ? [] : [objectKey(change.object)];
    if (!concerns(change, PODS) || change.type !== 'DELETED') return [];
    return claimsOf(change.object as Pod).map((name) => `${change.object.metadata.namespace ?? ''}/${name}`);
  },
  allKeys: () => keysOf(store, PERSISTENT_VOLUME_CLAIMS),
  plan: (key) => {
    const claim = byKey(store, PERSISTENT_VOLUME_CLAIMS, key);
    if (claim === undefined) return [];
    return planProtection({ claim, pods: store.list(PODS, claim.metadata.namespace) });
  },
});

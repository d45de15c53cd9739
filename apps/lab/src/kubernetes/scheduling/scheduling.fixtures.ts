import type { Node, Pod, PodSpec, Taint } from '../objects/core.types.js';
import type { Labels } from '../objects/kube.object.js';

let uids = 0;

export const aNode = (
  name: string,
  given: { labels?: Labels; taints?: readonly Taint[]; cpu?: string; cordoned?: boolean } = {},
): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    uid: `node-${name}`,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { 'kubernetes.io/hostname': name, ...given.labels },
  },
  spec: {
    ...(given.taints === undefined ? {} : { taints: given.taints }),
    ...(given.cordoned === true ? { unschedulable: true } : {}),
  },
  status: { allocatable: { cpu: given.cpu ?? '4', memory: '8Gi', pods: '110' } },
});

export interface PodRequest {
  readonly owner?: string;
  readonly labels?: Labels;
  readonly spec?: Partial<PodSpec>;
  readonly cpu?: string;
  readonly phase?: 'Pending' | 'Running';
  readonly ready?: boolean;
  readonly deleted?: boolean;
}

export const aPod = (name: string, request: PodRequest = {}): Pod => {
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: request.owner ?? '',
    uid: request.owner ?? '',
    controller: true,
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid: `pod-${(uids += 1)}`,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: request.labels ?? {},
      ...(request.owner === undefined ? {} : { ownerReferences: [owner] }),
      ...(request.deleted === true ? { deletionTimestamp: '2026-01-01T00:00:30Z' } : {}),
    },
    spec: {
      containers: [
        { name: 'main', image: 'x', resources: request.cpu === undefined ? {} : { requests: { cpu: request.cpu } } },
      ],
      ...request.spec,
    },
    status: {
      phase: request.phase ?? 'Pending',
      conditions:
        request.ready === true ? [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }] : [],
    },
  };
};

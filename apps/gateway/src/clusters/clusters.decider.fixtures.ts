import type { ClusterUid, Fact, MachinePlan, NodeName } from '@fairlead/contracts';
import { toClusterSpec } from '@fairlead/domain';
import { specification } from '@fairlead/event-sourcing/spec';
import { clusters } from './clusters.decider.js';
import { goodRequest } from './clusters.fixtures.js';

export const uid = '00000000-0000-4000-8000-000000000001' as ClusterUid;

export const asked = toClusterSpec(goodRequest);

export const spec = { ...asked, kubernetes: { ...asked.kubernetes, nodeCidrMask: 25 } };

export const named = { namespace: 'default', cluster: 'demo' };

export const requested: Fact = { type: 'ClusterRequested', data: { uid, spec, requestHash: 'hash' } };

export const accepted: Fact = { type: 'ClusterAccepted', data: { uid } };

export const ready: Fact = { type: 'ClusterReady', data: { uid } };

export const failed: Fact = {
  type: 'ClusterFailed',
  data: {
    uid,
    step: 'init-control-plane',
    reason: 'InitControlPlaneFailedReason',
    cause: { operation: 'kubeadm init', target: 'cp-1', message: 'no' },
  },
};

export const deletionRequested: Fact = { type: 'ClusterDeletionRequested', data: { uid } };

export const plan = (name: string, role: MachinePlan['role'], leader = false): MachinePlan =>
  ({
    name,
    role,
    pool: role,
    leader,
    connection: 'lab',
    spec: 's',
    rootDisk: { type: 'default', size: 'default' },
  }) as MachinePlan;

export const planned: Fact = {
  type: 'VmsPlanned',
  data: {
    uid,
    machines: [
      plan('cp-1', 'control-plane', true),
      plan('cp-2', 'control-plane'),
      plan('cp-3', 'control-plane'),
      plan('w-1', 'worker'),
      plan('w-2', 'worker'),
    ],
  },
};

export const nodeReady = (node: string): Fact => ({
  type: 'NodeReady',
  data: { uid, node: node as NodeName, revision: 1, software: {} },
});

export const provisioned: readonly Fact[] = [
  requested,
  accepted,
  planned,
  ...['cp-1', 'cp-2', 'cp-3', 'w-1', 'w-2'].map(nodeReady),
  ready,
];

export const retry = { type: 'RetryCluster', data: named } as const;

export const { given } = specification(clusters);

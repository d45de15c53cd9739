import { create, replace, type Operation } from '../operations/operation.js';
import type { Lease } from '../objects/core.types.js';
import type { Draft } from '../objects/kube.object.js';
import { LEASES } from '../resources/builtin.resources.js';

/** Components with leader election. */
export const LEADER_LEASES = ['kube-controller-manager', 'kube-scheduler'] as const;
const KUBE_SYSTEM = 'kube-system';

export interface LeaderWorld {
  /** The control planes, and whether each one's kubelet runs. */
  readonly controlPlanes: readonly { readonly name: string; readonly running: boolean }[];
  readonly leases: readonly Lease[];
  /** In microseconds, as in leases. */
  readonly now: string;
}

/** A leader keeps its lease while its node exists and runs; otherwise the first other control plane takes over. */
export const planLeaders = ({ controlPlanes, leases, now }: LeaderWorld): readonly Operation[] =>
  LEADER_LEASES.flatMap((name) => {
    const lease = leases.find(({ metadata }) => metadata.name === name);
    const holder = controlPlanes.find((node) => node.name === lease?.spec.holderIdentity?.split('_')[0]);
    const next = controlPlanes.find(({ running }) => running);
    if (holder?.running === true || next === undefined) return [];
    const spec: Lease['spec'] = {
      holderIdentity: `${next.name}_simulated`,
      leaseDurationSeconds: 15,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: (lease?.spec.leaseTransitions ?? -1) + 1,
    };
    if (lease !== undefined) return [replace(LEASES, { ...lease, spec }, 'its holder is gone')];
    const draft: Draft<Lease> = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace: KUBE_SYSTEM },
      spec,
    };
    return [create(LEASES, draft, 'there is no leader yet')];
  });

import { ClusterName, Namespace } from '@fairlead/contracts';
import { reconcilerDecider, type Cause } from '@fairlead/event-sourcing';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { retryOnConflict } from '../append.conflict.js';
import type { ListedMachine } from '../providers/provider.ports.js';
import { providerIdOf } from './machines.planner.js';
import { clusterOfGroup } from '../providers/group.names.js';
import { machinesReconciler } from './machines.reconciler.js';

const readOnly = reconcilerDecider(machinesReconciler);

/** Checks in the log, not in projections, whether a cluster has planned a machine. */
@Injectable()
export class PlannedMachines {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  /** Returns `<namespace>/<cluster>` that has planned it, or undefined. */
  async by(
    { id, name, group }: { readonly name: string } & Pick<ListedMachine, 'id' | 'group'>,
    cause: Cause,
  ): Promise<string | undefined> {
    const at = clusterOfGroup(group);
    const namespace = Namespace.safeParse(at?.namespace);
    const cluster = ClusterName.safeParse(at?.cluster);
    if (!namespace.success || !cluster.success) return undefined;
    const stream = { namespace: namespace.data, cluster: cluster.data, context: 'machines' };
    const look = { type: 'Look', data: null } as const;
    const {
      state: { state },
    } = retryOnConflict(await this.handle(readOnly, stream, look, cause), cluster.data);
    if (state.status === 'absent' || !state.cluster.planned.some((plan) => plan.name === name)) return undefined;
    const made = state.cluster.created[name];
    return made === undefined || providerIdOf(made) === id ? `${namespace.data}/${cluster.data}` : undefined;
  }
}

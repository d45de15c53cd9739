import { ExternalFailure, type ConnectionName, type MachinePlan, type NodeName } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { openConnection } from '../connections/open.connection.js';
import type { Connections, InfrastructureProvider } from '../providers/provider.ports.js';
import { CONNECTIONS } from '../tokens.js';
import { loadBalancerName, loadBalancerOf, providerIdOf, reservationName } from './machines.planner.js';
import { groupOf } from '../providers/group.names.js';
import { targetsOf, type Deletion } from './machines.state.js';
import { clusterOf, DELETE_POLICY, refOf, type MachinesTask } from './machines.task.js';

const STILL_THERE_AGAIN_MS = 2_000;

/** Machines that a provider still lists this long after their deletion began are reported as a failure. */
const DELETION_TIMEOUT_MS = 15 * 60_000;

/** Deletes machines. A provider that does not respond has not confirmed any deletion. */
@Controller()
export class DeletionEffects {
  constructor(
    @Inject(CONNECTIONS) private readonly connections: Connections,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Deletes everything of a cluster: the load balancer first, so that it sends no requests to machines that are being
   * deleted.
   */
  @OnTask('DeleteCluster', DELETE_POLICY)
  async deleteCluster(task: MachinesTask): Promise<RequeueAfter | undefined> {
    const { state, signal } = task;
    const { uid, spec, planned, balancer } = clusterOf(task);
    if (planned.length > 0 || balancer !== null) {
      const provider = await this.open(spec.controlPlane.connection);
      await provider.deleteLoadBalancer(loadBalancerName(refOf(task)), signal);
    }
    const names = [...new Set(planned.map(({ connection }) => connection))];
    const results = await Promise.allSettled(names.map((name) => this.deleteOn(task, name)));
    const remaining = new Set(
      results.flatMap((result, at) =>
        result.status === 'fulfilled'
          ? result.value
          : planned.filter((plan) => plan.connection === names[at]).map(({ name }) => name),
      ),
    );
    const gone = planned.map(({ name }) => name).filter((name) => !remaining.has(name));
    const nothingLeft = remaining.size === 0;
    if (nothingLeft) await this.release(task, gone);
    await task.record({ type: 'RecordDeletion', data: { uid, gone, nothingLeft } });
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const deletion = state.status === 'leaving' ? state.deletion : null;
    if (nothingLeft || deletion === null) return undefined;
    return this.stillThere(task, deletion, 'delete machines', [...remaining]);
  }

  /**
   * Machines before their reservations; the events show the deleted machines even if a provider does not release a
   * reservation.
   */
  private async release(task: MachinesTask, gone: readonly NodeName[]): Promise<void> {
    const { uid, reservations = {} } = clusterOf(task);
    const reserved = Object.keys(reservations) as ConnectionName[];
    if (reserved.length === 0) return;
    await task.record({ type: 'RecordDeletion', data: { uid, gone, nothingLeft: false } });
    for (const connection of reserved) {
      const provider = await this.open(connection);
      await provider.reservations?.release(reservationName(refOf(task), connection), task.signal);
    }
  }

  /** Deletes one machine whose node has left its cluster, or that never became a node. */
  @OnTask('DeleteMachine', DELETE_POLICY)
  async deleteMachine(task: MachinesTask): Promise<RequeueAfter | undefined> {
    const cluster = clusterOf(task);
    const plan = cluster.planned.find(({ name }) => name === task.data.node);
    const deletion = plan && cluster.deletions[plan.name];
    if (plan === undefined || deletion === undefined) return undefined;
    if (plan.role === 'control-plane') await this.unbalance(task, plan.name);
    if (!(await this.deleteOne(task, plan))) return this.stillThere(task, deletion, 'delete machine', [plan.name]);
    await task.record({ type: 'RecordRemoval', data: { uid: cluster.uid, name: plan.name } });
    return undefined;
  }

  /** Returns false while the provider still lists it. */
  private async deleteOne(task: MachinesTask, { name, connection }: MachinePlan): Promise<boolean> {
    const { signal } = task;
    const ref = refOf(task);
    const provider = await this.open(connection);
    const find = async () =>
      (await provider.describeMachines(groupOf(ref, connection), signal)).find(
        (report) => report.name === name && report.uid === ref.uid,
      );
    const found = await find();
    if (found === undefined) return true;
    await provider.deleteMachine(found.id, signal);
    return (await find()) === undefined;
  }

  /** The machines of this incarnation that a connection still lists after their deletion was requested. */
  private async deleteOn(task: MachinesTask, name: ConnectionName): Promise<readonly NodeName[]> {
    const ref = refOf(task);
    const provider = await this.open(name);
    const group = groupOf(ref, name);
    await provider.deleteGroup(group, task.signal);
    const left = await provider.describeMachines(group, task.signal);
    return left.filter(({ uid }) => uid === ref.uid).map((report) => report.name);
  }

  private async unbalance(task: MachinesTask, leaving: NodeName): Promise<void> {
    const cluster = clusterOf(task);
    const { balancer, spec } = cluster;
    if (balancer === null) return;
    const provider = await this.open(spec.controlPlane.connection);
    const staying = targetsOf(cluster).filter(({ name }) => name !== leaving);
    await provider.ensureLoadBalancer(loadBalancerOf(refOf(task), staying.map(providerIdOf)), task.signal);
  }

  private stillThere(
    task: MachinesTask,
    { beginsAt }: Deletion,
    operation: string,
    names: readonly string[],
  ): RequeueAfter {
    const deadline = later(beginsAt, DELETION_TIMEOUT_MS);
    if (this.clock.now().getTime() < Date.parse(deadline)) {
      return task.requeueAfter(STILL_THERE_AGAIN_MS, `still there: ${names.join(', ')}`);
    }
    const message = `the provider still shows it, although its deletion was requested; given up at ${deadline}`;
    throw new ExternalFailure({ operation, target: names.join(', '), message, retryable: false });
  }

  private async open(name: ConnectionName): Promise<InfrastructureProvider> {
    return (await openConnection(this.connections, name, { retryable: true })).provider;
  }
}

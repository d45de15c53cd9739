import { isRefusal, ExternalFailure, type Refusal } from '@fairlead/contracts';
import { requestedSets } from '@fairlead/domain';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import { ProviderValidation } from '../validation/validation.effects.js';
import type { RequestedNodes } from '../validation/validation.planner.js';
import type { Machines } from './machines.state.js';
import { isReconsidered, requestOf, type NodesRequest } from './node.requests.js';
import { Adoption } from './adoption.effects.js';
import { likeOf, planCluster, setsOf, type Adopted } from './machines.planner.js';
import { clusterOf, PLAN_POLICY, refOf, VALIDATE_POLICY, type MachinesTask } from './machines.task.js';
import { Placement, zonesIn, zonesOfAll, type PreparedConnection } from './placement.effects.js';
import { leaseOfCluster } from './reservations.planner.js';
import { requestRefusal, surgeRefusal, type Offered } from './requests.planner.js';
import { surgeLacks, surgeRefused } from './surges.js';

const CHANGED_AGAIN_MS = 500;
const REFUSED_AGAIN_MS = 60_000;

/**
 * Checks requests against connections and quotas, and plans the machines of those that can be met. Only resources that
 * clusters share are created here.
 */
@Controller()
export class AdmissionEffects {
  constructor(
    @Inject(ProviderValidation) private readonly validation: ProviderValidation,
    @Inject(Placement) private readonly placement: Placement,
    @Inject(Adoption) private readonly adoption: Pick<Adoption, 'check'>,
  ) {}

  @OnTask('ValidateCluster', VALIDATE_POLICY)
  async validateCluster(task: MachinesTask): Promise<void> {
    const { uid } = clusterOf(task);
    const desired = { ...refOf(task), lease: leaseOfCluster(clusterOf(task)) };
    const refusal = await this.validation.cluster(desired, task.cause, task.signal);
    await task.record(
      refusal === undefined
        ? { type: 'Accept', data: { uid, reserves: await this.validation.reserving(desired) } }
        : { type: 'Reject', data: { uid, refusal } },
    );
  }

  @OnTask('PlanMachines', PLAN_POLICY)
  async planMachines(task: MachinesTask): Promise<void> {
    const { uid, spec } = clusterOf(task);
    const prepared = await this.placement.prepare([spec.controlPlane, ...spec.workers], task.cause);
    const machines = planCluster(uid, spec, zonesIn(prepared));
    await task.record({ type: 'Plan', data: { uid, machines } });
  }

  @OnTask('PlanNodes', PLAN_POLICY)
  async planNodes(task: MachinesTask): Promise<void> {
    await this.recordPlan(task, await this.offerOrRefusal(task));
  }

  /** Only changes are stated, so that a refusal that lasts for days is one event. */
  @OnTask('ReconsiderNodes', PLAN_POLICY)
  async reconsiderNodes(task: MachinesTask): Promise<RequeueAfter | undefined> {
    try {
      const after = await this.recordPlan(task, await this.offerOrRefusal(task));
      const request =
        after.status === 'absent' ? undefined : requestOf(after.cluster.additions, task.data.requestId ?? '');
      const isRefused = request !== undefined && isReconsidered(request);
      return isRefused ? task.requeueAfter(REFUSED_AGAIN_MS, request.refusal ?? '') : undefined;
    } catch (error) {
      if (!(error instanceof ExternalFailure)) throw error;
      return task.requeueAfter(REFUSED_AGAIN_MS, error.message);
    }
  }

  @OnTask('PlanSurge', PLAN_POLICY)
  async planSurge(task: MachinesTask): Promise<RequeueAfter | undefined> {
    const { surge } = task.data;
    const cluster = clusterOf(task);
    const { uid, planned, surges } = cluster;
    const like = surge === undefined ? undefined : likeOf(planned, surge.pool);
    if (surge === undefined || like === undefined) return undefined;
    const { connection, spec, rootDisk } = like;
    const count = surgeLacks(planned, surges, surge);
    const sets = { workers: [{ connection, spec, rootDisk, count }] };
    const refusal = surgeRefusal(cluster, surge, count) ?? (await this.refusal(task, sets));
    if (refusal !== undefined) {
      await task.record({ type: 'FailSurge', data: { uid, ...surge, cause: surgeRefused(surge, refusal.message) } });
      return undefined;
    }
    const prepared = await this.placement.prepare([like], task.cause);
    const offered = { zones: zonesOfAll(prepared) };
    const after = await task.record({ type: 'PlanSurge', data: { uid, ...surge, count, offered } });
    const isWhole = after.status === 'absent' || surgeLacks(after.cluster.planned, after.cluster.surges, surge) === 0;
    return isWhole ? undefined : task.requeueAfter(CHANGED_AGAIN_MS, 'the size of the surge has changed');
  }

  /** What providers offer for a request, or why it is refused; undefined: there is no such request. */
  private async offerOrRefusal(task: MachinesTask): Promise<Offered | Refusal | undefined> {
    const cluster = clusterOf(task);
    const request = requestOf(cluster.additions, task.data.requestId ?? '');
    if (request === undefined) return undefined;
    const sets = setsOf(cluster, request);
    const refusal = requestRefusal(cluster, request) ?? (await this.refusal(task, sets));
    if (refusal !== undefined) return refusal;
    const prepared = await this.placement.prepare(requestedSets(sets), task.cause);
    const adopted = await this.adopted(task, request, sets, prepared);
    return isRefusal(adopted) ? adopted : { zones: zonesOfAll(prepared), adopted };
  }

  private async recordPlan(task: MachinesTask, offered: Offered | Refusal | undefined): Promise<Machines> {
    const { uid } = clusterOf(task);
    const { requestId = '' } = task.data;
    if (offered === undefined) return task.state;
    return task.record(
      isRefusal(offered)
        ? { type: 'RejectNodes', data: { uid, requestId, refusal: offered } }
        : { type: 'PlanNodes', data: { uid, requestId, offered } },
    );
  }

  /** The machine that a request adopts, or why it cannot; undefined: its machines are created. */
  private async adopted(
    task: MachinesTask,
    { adopts: id }: NodesRequest,
    { workers: [set] }: RequestedNodes,
    prepared: readonly PreparedConnection[],
  ): Promise<Adopted | Refusal | undefined> {
    const on = prepared.find(({ open }) => open.connection.name === set?.connection);
    if (id === undefined || set === undefined || on === undefined) return undefined;
    return this.adoption.check({ task, id, set, prepared: on });
  }

  /** Why a cluster cannot have these additional nodes. */
  private refusal(task: MachinesTask, nodes: RequestedNodes): Promise<Refusal | undefined> {
    const { requestId } = task.data;
    const desired = { ...refOf(task), ...(requestId === undefined ? {} : { requestId }) };
    return this.validation.nodes(desired, nodes, task.cause, task.signal);
  }
}

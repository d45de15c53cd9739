import type { NodeSet, Refusal } from '@fairlead/contracts';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import { WorldValidation } from '../validation/validation.effects.js';
import { requestOf } from './additions.js';
import { likeOf, planCluster, planSurge, planWorkers } from './machines.planner.js';
import { stayingOf } from './machines.state.js';
import { clusterOf, PLAN_POLICY, refOf, VALIDATE_POLICY, type MachinesTask } from './machines.task.js';
import { Placement, zonesIn } from './placement.effects.js';
import { surgeLacks, surgeRefused } from './surges.js';

const CHANGED_AGAIN_MS = 500;

/** Checks requests against the world, and names the machines of those that can be met. Nothing is made here but what clusters share. */
@Controller()
export class AdmissionEffects {
  constructor(
    @Inject(WorldValidation) private readonly validation: WorldValidation,
    @Inject(Placement) private readonly placement: Placement,
  ) {}

  @OnTask('ValidateCluster', VALIDATE_POLICY)
  async validateCluster(task: MachinesTask): Promise<void> {
    const { uid } = clusterOf(task);
    const refusal = await this.validation.cluster(refOf(task), task.cause, task.signal);
    await task.record(
      refusal === undefined ? { type: 'Accept', data: { uid } } : { type: 'Reject', data: { uid, refusal } },
    );
  }

  @OnTask('PlanMachines', PLAN_POLICY)
  async planMachines(task: MachinesTask): Promise<void> {
    const { uid, spec } = clusterOf(task);
    const prepared = await this.placement.prepare([spec.controlPlane, ...spec.workers], task.cause);
    const machines = planCluster(uid, spec, zonesIn(prepared));
    await task.record({ type: 'Plan', data: { uid, machines, requestId: undefined } });
  }

  @OnTask('PlanNodes', PLAN_POLICY)
  async planNodes(task: MachinesTask): Promise<void> {
    const cluster = clusterOf(task);
    const { uid } = cluster;
    const request = requestOf(cluster.additions, task.data.requestId ?? '');
    if (request === undefined) return;
    const { requestId, workers } = request;
    const refusal = await this.refusal(task, workers);
    if (refusal !== undefined) {
      await task.record({ type: 'RejectNodes', data: { uid, requestId, refusal } });
      return;
    }
    const prepared = await this.placement.prepare(workers, task.cause);
    const machines = planWorkers({ ...cluster, staying: stayingOf(cluster) }, workers, zonesIn(prepared));
    await task.record({ type: 'Plan', data: { uid, machines, requestId } });
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
    const refusal = await this.refusal(task, [{ connection, spec, rootDisk, count }]);
    if (refusal !== undefined) {
      await task.record({ type: 'FailSurge', data: { uid, ...surge, cause: surgeRefused(surge, refusal.message) } });
      return undefined;
    }
    const prepared = await this.placement.prepare([like], task.cause);
    const machines = planSurge({ ...cluster, staying: stayingOf(cluster) }, { ...surge, count }, zonesIn(prepared));
    const after = await task.record({ type: 'PlanSurge', data: { uid, ...surge, machines } });
    const isWhole = after.status === 'absent' || surgeLacks(after.cluster.planned, after.cluster.surges, surge) === 0;
    return isWhole ? undefined : task.requeueAfter(CHANGED_AGAIN_MS, 'the size of the surge has changed');
  }

  /** Why a cluster cannot have these workers too. */
  private refusal(task: MachinesTask, workers: readonly NodeSet[]): Promise<Refusal | undefined> {
    const { requestId } = task.data;
    const desired = { ...refOf(task), ...(requestId === undefined ? {} : { requestId }) };
    return this.validation.workers(desired, workers, task.cause, task.signal);
  }
}

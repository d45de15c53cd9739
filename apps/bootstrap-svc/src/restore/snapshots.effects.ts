import { AGENT_PATHS } from '@fairlead/contracts';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { renderStep } from '@fairlead/node-scripts';
import type { SnapshotStore } from '@fairlead/service-kit/snapshots';
import { Controller, Inject } from '@nestjs/common';
import { keyOf, type NodeStep } from '../bootstrap/bootstrap.planner.js';
import type { Host } from '../bootstrap/bootstrap.state.js';
import { hostOf, othersOn, type RunningTask } from '../bootstrap/running.task.js';
import { HOST_ACCESS, SNAPSHOTS } from '../bootstrap/tokens.js';
import type { HostAccess } from '../hosts/host.access.js';
import { PRIVATE, withSnapshotFile } from './snapshot.file.js';

const AGAIN_MS = 1_000;

/**
 * Copies a snapshot of etcd to the control planes that restore it, and removes it after a failure: over SSH, because
 * the API is unavailable without etcd.
 */
@Controller()
export class SnapshotsEffects {
  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(SNAPSHOTS) private readonly snapshots: Pick<SnapshotStore, 'read'>,
  ) {}

  @OnTask('PlaceSnapshot', { attemptsMax: 4, backoffFirstMs: 2_000, timeoutMs: 30 * 60_000 })
  async placeSnapshot(step: RunningTask): Promise<RequeueAfter | void> {
    const { restore, uid } = step.state.cluster;
    if (restore === null) throw new Error('the plan brings no snapshot where none is restored');
    const host = hostOf(step);
    const { requestId, snapshot, sha256 } = restore;
    if (await this.isAtWork('RemoveSnapshot', host, step))
      return step.requeueAfter(AGAIN_MS, 'the one before still goes');
    await withSnapshotFile(this.snapshots, restore, (content) =>
      this.hosts.on(host, step, ({ session }) =>
        session.upload({ path: AGENT_PATHS.snapshot, content, mode: PRIVATE, sha256 }, step.signal),
      ),
    );
    const data = { uid, node: host.machine.name, requestId, snapshot, sha256 };
    const after = await step.record({ type: 'EtcdSnapshotPlaced', data });
    const current = after.status === 'absent' ? null : after.cluster.abandoned;
    // The copy is too late: the step that removes it may already have run.
    if (current?.requestId !== requestId || current.failed) await this.remove(host, step);
    return undefined;
  }

  @OnTask('RemoveSnapshot', { attemptsMax: 8, backoffFirstMs: 5_000, timeoutMs: 5 * 60_000 })
  async removeSnapshot(step: RunningTask): Promise<RequeueAfter | void> {
    const { abandoned, uid } = step.state.cluster;
    if (abandoned === null) throw new Error('the plan removes no snapshot where none was placed');
    const host = hostOf(step);
    const { requestId } = abandoned;
    if (await this.isAtWork('PlaceSnapshot', host, step)) return step.requeueAfter(AGAIN_MS, 'it is still on its way');
    await this.remove(host, step);
    await step.record({ type: 'EtcdSnapshotRemoved', data: { uid, node: host.machine.name, requestId } });
    return undefined;
  }

  private async remove(host: Host, step: RunningTask): Promise<void> {
    await this.hosts.on(host, step, (worker) => worker.run(renderStep('remove-snapshot', {})));
  }

  private async isAtWork(other: NodeStep, { machine: { name } }: Host, step: RunningTask): Promise<boolean> {
    return (await othersOn(name, step)).includes(keyOf({ step: other, node: name }));
  }
}

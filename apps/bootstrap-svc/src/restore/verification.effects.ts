import { ExternalFailure, type Cause } from '@fairlead/contracts';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { renderStep, VERIFIED_SNAPSHOT, type VerifySnapshotResult } from '@fairlead/node-scripts';
import type { SnapshotStore } from '@fairlead/service-kit/snapshots';
import { Controller, Inject } from '@nestjs/common';
import { controlPlanesOf, type DesiredVerification, type Host } from '../bootstrap/bootstrap.state.js';
import type { RunningTask } from '../bootstrap/running.task.js';
import { HOST_ACCESS, SNAPSHOTS } from '../bootstrap/tokens.js';
import type { HostAccess } from '../hosts/host.access.js';
import { PRIVATE, withSnapshotFile } from './snapshot.file.js';
import { verdictOf, verifierOf } from './verification.rules.js';

const MINUTE_MS = 60_000;
const OPERATION = 'verify a snapshot of etcd';

/** Restores snapshots into a temporary etcd on a control plane, whose etcd version is used for it. */
@Controller()
export class VerificationEffects {
  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(SNAPSHOTS) private readonly snapshots: Pick<SnapshotStore, 'read'>,
  ) {}

  @OnTask('VerifySnapshot', { attemptsMax: 3, backoffFirstMs: MINUTE_MS, timeoutMs: 45 * MINUTE_MS })
  async verifySnapshot(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const desired = cluster.verifications?.find(({ snapshot }) => snapshot === step.data.snapshot);
    if (desired === undefined) throw new Error('the plan verifies only snapshots for which that is desired');
    const { snapshot } = desired;
    const host = verifierOf(controlPlanesOf(cluster), step.attempt);
    if (host === undefined)
      throw new ExternalFailure({ operation: OPERATION, target: snapshot, message: 'there is no control plane' });
    const node = host.machine.name;
    const said = await this.restored(host, step, desired);
    if (said instanceof ExternalFailure) return this.invalid(step, snapshot, said);
    const verdict = verdictOf(desired, said);
    if (verdict.kind === 'unknown')
      throw new ExternalFailure({ operation: OPERATION, target: node, message: verdict.message });
    if (verdict.kind === 'invalid')
      return this.invalid(step, snapshot, { operation: OPERATION, target: snapshot, message: verdict.message });
    const data = { uid: cluster.uid, snapshot, node, ...verdict.said };
    await step.record({ type: 'EtcdSnapshotVerified', data });
  }

  /** A failure in the answer concerns the snapshot, not the host. */
  private async restored(
    host: Host,
    step: RunningTask,
    desired: DesiredVerification,
  ): Promise<VerifySnapshotResult | ExternalFailure> {
    const { bytes, sha256 } = desired;
    let isRead = false;
    let said: VerifySnapshotResult | undefined;
    const work = (path: string): Promise<void> => {
      isRead = true;
      return this.hosts.on(host, step, async (worker) => {
        const { problem } = await worker.run(renderStep('prepare-verification', { bytes }));
        if (problem !== null)
          throw new ExternalFailure({ operation: OPERATION, target: host.machine.name, message: problem });
        await worker.session.upload({ path: VERIFIED_SNAPSHOT, content: path, mode: PRIVATE, sha256 }, step.signal);
        said = await worker.run(renderStep('verify-snapshot', { bytes }));
      });
    };
    try {
      await withSnapshotFile(this.snapshots, desired, work);
    } catch (error) {
      if (!isRead && error instanceof ExternalFailure && !error.retryable) return error;
      throw error;
    }
    if (said === undefined) throw new Error('a verification that ended said nothing');
    return said;
  }

  private async invalid(step: RunningTask, snapshot: string, { operation, target, message }: Cause): Promise<void> {
    const { uid } = step.state.cluster;
    const cause = { operation, target, message };
    await step.record({ type: 'EtcdSnapshotVerificationFailed', data: { uid, snapshot, invalid: true, cause } });
  }
}

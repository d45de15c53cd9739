import { AGENT_PATHS, WorldFailure } from '@fairlead/contracts';
import { OnJob, type JobContext, type JobLater } from '@fairlead/event-sourcing/jetstream';
import type { SnapshotStore } from '@fairlead/service-kit/snapshots';
import { Controller, Inject } from '@nestjs/common';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WantedSnapshot } from '../bootstrap/bootstrap.state.js';
import { hostOf, type StepData, type StepJob, type StepRunner } from '../bootstrap/step.runner.js';
import { HOST_ACCESS, SNAPSHOTS, STEP_RUNNER } from '../bootstrap/tokens.js';
import type { HostAccess } from '../hosts/host.access.js';

const PRIVATE = 0o600;

/** Brings a snapshot of etcd to the control planes on which it is restored: while etcd is away, SSH is the only way there. */
@Controller()
export class SnapshotsEffects {
  constructor(
    @Inject(STEP_RUNNER) private readonly runner: StepRunner,
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(SNAPSHOTS) private readonly snapshots: Pick<SnapshotStore, 'read'>,
  ) {}

  @OnJob<StepData>('PlaceSnapshot', { attemptsMax: 4, backoffFirstMs: 2_000, timeoutMs: 30 * 60_000 })
  placeSnapshot(job: StepJob, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (step) => {
      const { restore, uid } = step.state;
      if (restore === null) throw new Error('the plan brings no snapshot where none is restored');
      const host = hostOf(step);
      const { requestId, snapshot, sha256 } = restore;
      await this.opened(restore, (content) =>
        this.hosts.on(host, step, ({ session }) =>
          session.upload({ path: AGENT_PATHS.snapshot, content, mode: PRIVATE, sha256 }, step.signal),
        ),
      );
      const data = { uid, node: host.machine.name, requestId, snapshot, sha256 };
      await step.record({ type: 'EtcdSnapshotPlaced', data });
    });
  }

  /** It is larger than memory may be, and lies open in a folder that only this process may read, for as long as it is copied. */
  private async opened({ snapshot, sha256 }: WantedSnapshot, use: (path: string) => Promise<void>): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-snapshot-'));
    try {
      const path = join(folder, 'snapshot.db');
      const file = await open(path, 'wx', PRIVATE);
      try {
        const kept = await this.snapshots.read(snapshot, (chunk) => file.appendFile(chunk));
        if (kept.sha256 !== sha256) throw anotherOne(snapshot);
      } finally {
        await file.close();
      }
      await use(path);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

const anotherOne = (target: string): WorldFailure =>
  new WorldFailure({
    operation: 'read a snapshot of etcd',
    target,
    message: 'it is not the one that was taken under this name',
    retryable: false,
  });

import { NO_SSH_KEY } from '@fairlead/domain';
import { OnTask, type RequeueAfter, type TaskContext, type TaskPolicy } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { HostsOfRotation, type Rotating } from './hosts.of.rotation.effects.js';
import { RotatedKeys } from './rotated.keys.effects.js';
import type { SshKeysCommand, SshKeysState } from './ssh-keys.decider.js';
import type { RotationData } from './ssh-keys.reconciler.js';

export type SshKeysTask = TaskContext<SshKeysState, SshKeysCommand, RotationData>;

export const ROTATION_POLICY: Partial<TaskPolicy> = {
  attemptsMax: 10,
  backoffFirstMs: 1_000,
  backoffMaxMs: 60_000,
  timeoutMs: 5 * 60_000,
};

const AGAIN_FIRST_MS = 1_000;
const AGAIN_MAX_MS = 30_000;
/** A rotation that takes long is checked less often. */
const AGAIN_PER_AGE = 1 / 20;

const againAfterMs = (ageMs: number): number =>
  Math.round(Math.min(Math.max(ageMs * AGAIN_PER_AGE, AGAIN_FIRST_MS), AGAIN_MAX_MS));

interface Replacing extends Rotating {
  readonly forced: boolean;
  readonly requestedAt: string;
}

/** ReplaceSshKey is desired only once the new key was created. */
const replacingOf = ({ state, data: { connection }, key: name }: SshKeysTask): Replacing => {
  const { current: key, rotation, since } = state[connection] ?? NO_SSH_KEY;
  const former = rotation?.former ?? null;
  if (key === null || rotation === null || former === null)
    throw new Error(`${name} is desired before the new key was created`);
  const { forced, requestedAt } = rotation;
  return { connection, key, former, since, forced, requestedAt };
};

/** Rotates the SSH keys of connections. The former key is destroyed last. */
@Controller()
export class SshKeysEffects {
  constructor(
    @Inject(RotatedKeys) private readonly keys: RotatedKeys,
    @Inject(HostsOfRotation) private readonly hosts: HostsOfRotation,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('CreateSshKey', ROTATION_POLICY)
  async create(task: SshKeysTask): Promise<void> {
    const { connection } = task.data;
    const { current } = task.state[connection] ?? NO_SSH_KEY;
    await this.keys.create(connection, current, task.signal, (key, former) =>
      task.record({ type: 'RecordStart', data: { connection, key, former } }),
    );
  }

  @OnTask('ReplaceSshKey', ROTATION_POLICY)
  async replace(task: SshKeysTask): Promise<RequeueAfter | undefined> {
    const replacing = replacingOf(task);
    const { connection, former, forced, requestedAt } = replacing;
    const progress = await this.hosts.progress(replacing);
    await this.hosts.request(replacing, progress, task);
    const counted = { connection, former, ...progress };
    await task.record({ type: 'RecordProgress', data: counted });
    if (progress.pending.length > 0 && !forced) {
      const ageMs = this.clock.now().getTime() - Date.parse(requestedAt);
      return task.requeueAfter(againAfterMs(ageMs), `${progress.pending.length} hosts still need the former key`);
    }
    await this.keys.destroy(connection, former, task.signal);
    await task.record({ type: 'RecordEnd', data: counted });
    return undefined;
  }
}

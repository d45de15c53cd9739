import { HOST_KEY_CHANGED, ExternalFailure, wordsOf } from '@fairlead/contracts';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { renderStep } from '@fairlead/node-scripts';
import { isKeyRefused } from '@fairlead/service-kit/ssh';
import { Controller, Inject } from '@nestjs/common';
import { desiredKeyOf } from '../bootstrap/bootstrap.state.js';
import { hostOf, type RunningTask } from '../bootstrap/running.task.js';
import { HOST_ACCESS } from '../bootstrap/tokens.js';
import type { HostAccess, HostWorker } from './host.access.js';

/** Retry interval for an unreachable host. */
const UNREACHED_AGAIN_MS = 60_000;

const KEY_POLICY = { attemptsMax: 5, backoffFirstMs: 2_000, timeoutMs: 5 * 60_000 } as const;

/**
 * Replaces the SSH key of hosts. The new one is added and verified by a login; once that is recorded, the former one is
 * removed: after a crash at any point, the recorded key opens the host.
 */
@Controller()
export class SshKeysEffects {
  constructor(@Inject(HOST_ACCESS) private readonly hosts: HostAccess) {}

  @OnTask('AddAuthorizedKey', KEY_POLICY)
  addKey(step: RunningTask): Promise<RequeueAfter | undefined> {
    return this.onceReached(step, async (worker) => {
      const host = hostOf(step);
      const { name: node, ssh } = host.machine;
      const { uid } = step.state.cluster;
      const desired = desiredKeyOf(step.state.cluster, host);
      if (desired === undefined) throw new Error(`${step.key} is desired of a host that has the key`);
      const { keyRef, publicKey, former } = desired;
      await worker.run(renderStep('authorized-keys', { user: ssh.user, add: publicKey, remove: [] }));
      if (!(await this.hosts.accepts(host, step, keyRef)))
        throw failure(node, 'the host does not accept the new key, although it was added to authorized_keys');
      await step.record({ type: 'AuthorizedKeyAdded', data: { uid, node, keyRef, former } });
    });
  }

  @OnTask('RemoveAuthorizedKey', KEY_POLICY)
  removeKeys(step: RunningTask): Promise<RequeueAfter | undefined> {
    return this.onceReached(step, async (worker) => {
      const host = hostOf(step);
      const { name: node, ssh } = host.machine;
      const { formerKeys = [] } = host;
      const remove = formerKeys.map(({ publicKey }) => publicKey);
      await worker.run(renderStep('authorized-keys', { user: ssh.user, add: null, remove }));
      for (const { keyRef } of formerKeys) {
        // A key that was destroyed meanwhile cannot be tried.
        const opens = (await this.hosts.hasKey(keyRef)) && (await this.hosts.accepts(host, step, keyRef));
        if (opens)
          throw failure(node, 'the host still accepts the former key, although it was removed from authorized_keys');
        await step.record({ type: 'AuthorizedKeyRemoved', data: { uid: step.state.cluster.uid, node, keyRef } });
      }
    });
  }

  /** An unreachable host is retried until it returns, without recording the attempts. */
  private async onceReached(
    step: RunningTask,
    work: (worker: HostWorker) => Promise<void>,
  ): Promise<RequeueAfter | undefined> {
    let isReached = false;
    try {
      await this.hosts.onIfAlive(hostOf(step), step, async (worker) => {
        isReached = true;
        await work(worker);
      });
    } catch (error) {
      if (isReached || step.signal.aborted || !isUnreachable(error)) throw error;
      return step.requeueAfter(UNREACHED_AGAIN_MS, wordsOf(error));
    }
    return undefined;
  }
}

/** The host or the network is down: a rejection by the host, and a key that does not exist, are failures. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof ExternalFailure &&
  error.cause !== undefined &&
  error.reason !== HOST_KEY_CHANGED &&
  !isKeyRefused(error);

const failure = (target: string, message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'replace the SSH key', target, message });

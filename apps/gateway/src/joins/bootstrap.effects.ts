import { bootstrapKeyRef, bootstrapKeysOwner, isRefusal } from '@fairlead/contracts';
import { HANDLE, OnTask, type Handle, type RequeueAfter, type TaskOf } from '@fairlead/event-sourcing/jetstream';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { History } from '../common/history.js';
import type { BootstrapDataTask, DestroyKeysTask } from './bootstrap.reconciler.js';
import { joins } from './joins.decider.js';

const ID_BYTES = 6;
const KEY_BYTES = 32;
const CONFLICT_AGAIN_MS = 1_000;

/** The key of a pool's tokens is sealed before the log says that the bootstrap data exist. */
@Controller()
export class BootstrapDataEffects {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(SECRETS) private readonly secrets: Pick<SecretStore, 'put' | 'delete' | 'destroyKey'>,
    @Inject(History) private readonly history: Pick<History, 'bootstrapData'>,
  ) {}

  @OnTask('GenerateBootstrapData', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async generate(task: TaskOf<BootstrapDataTask>): Promise<RequeueAfter | void> {
    const { namespace, cluster, cause, data } = task;
    const admission = randomBytes(ID_BYTES).toString('hex');
    const keyRef = bootstrapKeyRef(admission);
    await this.secrets.put(keyRef, randomBytes(KEY_BYTES).toString('base64url'), bootstrapKeysOwner(data.uid));
    const decided = await this.handle(
      joins,
      { namespace, cluster, context: 'joins' },
      { type: 'GenerateBootstrapData', data: { ...data, admission, keyRef } },
      cause,
    );
    if (!isRefusal(decided) && decided.events.length > 0) return undefined;
    // Another delivery has generated them, or the pool is gone.
    await this.secrets.delete(keyRef);
    return isRefusal(decided) ? task.requeueAfter(CONFLICT_AGAIN_MS, decided.message) : undefined;
  }

  /** Of a cluster that is deleted, those of all its pools: the key that seals them is destroyed. */
  @OnTask('DestroyBootstrapKeys', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async destroy({ namespace, cluster, data: { uid, admissions } }: TaskOf<DestroyKeysTask>): Promise<void> {
    if (admissions === undefined) await this.secrets.destroyKey(bootstrapKeysOwner(uid));
    const all = admissions ?? (await this.history.bootstrapData(namespace, cluster, uid));
    for (const admission of all) await this.secrets.delete(bootstrapKeyRef(admission));
  }
}

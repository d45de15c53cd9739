import { isRefusal, type ClusterName, type ClusterUid, type Refusal } from '@fairlead/contracts';
import { missingIn } from '@fairlead/domain';
import {
  HANDLE,
  OnTask,
  type Handle,
  type RequeueAfter,
  type TaskContext,
  type TaskOf,
} from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { manifests, type AskAgain, type TryAgain } from './manifests.decider.js';
import { UnmetManifests } from './unmet.queries.js';
import type { AskAgainTask, TryAgainTask } from './unmet.reconciler.js';

/** What keeps nodes from being added, e.g. an upgrade or a rollout, ends by an event that is not about the pool. */
const HINDERED_AGAIN_MS = 15_000;

/** Who asks for machines again. */
const ACTOR = 'system/manifest';

interface Place {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: ClusterUid;
}

/**
 * Asks for what is declared again, by the same events as people: for machines, and for a retry of rollouts and ends of
 * leases. It calls nothing but the log.
 */
@Controller()
export class UnmetEffects {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(UnmetManifests) private readonly manifests: Pick<UnmetManifests, 'all'>,
  ) {}

  @OnTask('AskAgain', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async askAgain(task: TaskOf<AskAgainTask>): Promise<RequeueAfter | void> {
    const { namespace, cluster, data } = task;
    const { pool, ...at } = { namespace, cluster, ...data };
    const refused = await this.ask(at, pool, task.cause);
    return refused === undefined ? undefined : task.requeueAfter(HINDERED_AGAIN_MS, refused.message);
  }

  @OnTask('TryAgain', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async tryAgain(task: TaskOf<TryAgainTask>): Promise<RequeueAfter | void> {
    const { namespace, cluster, data } = task;
    const refused = await this.retry({ namespace, cluster, ...data }, 'due', task.cause);
    return refused === undefined ? undefined : task.requeueAfter(HINDERED_AGAIN_MS, refused.message);
  }

  /** A connection or a quota has changed: pools do not wait for the end of their pause. */
  @OnTask('AskEverywhere', { attemptsMax: 5, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async askEverywhere({ cause }: TaskContext): Promise<void> {
    for (const { key, doc } of await this.manifests.all()) {
      const [namespace = '', cluster = ''] = key.split('/');
      const place = { namespace, cluster, uid: doc.uid };
      for (const pool of Object.keys(missingIn(doc))) await this.ask(place, pool, cause);
      if ((doc.stopped ?? doc.denied) !== undefined) await this.retry(place, 'room', cause);
    }
  }

  private async ask(
    { namespace, cluster, uid }: Place,
    pool: string,
    cause: TaskContext['cause'],
  ): Promise<Refusal | undefined> {
    const data = { namespace, cluster: cluster as ClusterName, uid, pool, requestId: randomUUID() };
    return this.decide({ type: 'AskAgain', data }, cause);
  }

  private async retry(
    { namespace, cluster, uid }: Place,
    why: 'due' | 'room',
    cause: TaskContext['cause'],
  ): Promise<Refusal | undefined> {
    return this.decide({ type: 'TryAgain', data: { namespace, cluster: cluster as ClusterName, uid, why } }, cause);
  }

  private async decide(command: AskAgain | TryAgain, cause: TaskContext['cause']): Promise<Refusal | undefined> {
    const { namespace, cluster } = command.data;
    const stream = { namespace, cluster, context: 'request' };
    const decided = await this.handle(manifests, stream, command, { ...cause, actor: ACTOR });
    return isRefusal(decided) ? decided : undefined;
  }
}

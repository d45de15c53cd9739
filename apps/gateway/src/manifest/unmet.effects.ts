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
import { manifests, type AskAgain } from './manifests.decider.js';
import { UnmetManifests } from './unmet.queries.js';
import type { AskAgainTask } from './unmet.reconciler.js';

/** What keeps nodes from being added, e.g. an upgrade or a rollout, ends by an event that is not about the pool. */
const HINDERED_AGAIN_MS = 15_000;

/** Who asks for machines again. */
const ACTOR = 'system/manifest';

interface Place {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: ClusterUid;
  readonly pool: string;
}

/** Asks for declared machines again, by the same event as whoever declared them. It calls nothing but the log. */
@Controller()
export class UnmetEffects {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(UnmetManifests) private readonly manifests: Pick<UnmetManifests, 'all'>,
  ) {}

  @OnTask('AskAgain', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async askAgain(task: TaskOf<AskAgainTask>): Promise<RequeueAfter | void> {
    const { namespace, cluster, data } = task;
    const refused = await this.ask({ namespace, cluster, ...data }, task.cause);
    return refused === undefined ? undefined : task.requeueAfter(HINDERED_AGAIN_MS, refused.message);
  }

  /** A connection or a quota has changed: pools do not wait for the end of their pause. */
  @OnTask('AskEverywhere', { attemptsMax: 5, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async askEverywhere({ cause }: TaskContext): Promise<void> {
    for (const { key, doc } of await this.manifests.all()) {
      const [namespace = '', cluster = ''] = key.split('/');
      for (const pool of Object.keys(missingIn(doc))) await this.ask({ namespace, cluster, uid: doc.uid, pool }, cause);
    }
  }

  private async ask(
    { namespace, cluster, uid, pool }: Place,
    cause: TaskContext['cause'],
  ): Promise<Refusal | undefined> {
    const data = { namespace, cluster: cluster as ClusterName, uid, pool, requestId: randomUUID() };
    const command: AskAgain = { type: 'AskAgain', data };
    const stream = { namespace, cluster, context: 'request' };
    const decided = await this.handle(manifests, stream, command, { ...cause, actor: ACTOR });
    return isRefusal(decided) ? decided : undefined;
  }
}

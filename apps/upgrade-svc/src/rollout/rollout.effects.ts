import { releaseOf } from '@fairlead/contracts';
import {
  OnJob,
  type Job,
  type JobContext,
  type JobLater,
  type RecordJobFailure,
} from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject, Logger } from '@nestjs/common';
import { planHash } from '../plan/plan.hash.js';
import type { ClusterSurvey } from '../preflight/cluster.survey.effects.js';
import type { ClusterFacts } from '../rules/cluster.facts.js';
import { checkUpgrade } from './check.planner.js';
import type { AdvanceRollout, CheckUpgrade, RolloutJob } from './rollout.jobs.js';
import type { RolloutRunner, Wanted } from './rollout.runner.js';
import { CLUSTER_SURVEY, ROLLOUT_RUNNER } from './tokens.js';

/** Looks, plans, and lets the decider say what follows. */
@Controller()
export class RolloutEffects {
  constructor(
    @Inject(ROLLOUT_RUNNER) private readonly runner: RolloutRunner,
    @Inject(CLUSTER_SURVEY) private readonly survey: ClusterSurvey,
  ) {}

  @OnJob<CheckUpgrade>('CheckUpgrade', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 10 * 60_000 })
  checkUpgrade(job: Job<CheckUpgrade>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (wanted) => {
      const { known, upgrade } = wanted;
      const check = checkUpgrade(known, upgrade, await this.facts(wanted));
      const outcome = check.outcome === 'planned' ? { ...check, planHash: planHash(check.plan) } : check;
      const { uid, upgradeId } = job.data;
      await this.runner.decide(job, {
        type: 'RecordCheck',
        data: { uid, upgradeId, now: this.runner.now(), ...outcome },
      });
    });
  }

  @OnJob<AdvanceRollout>('AdvanceRollout', { attemptsMax: 50, backoffFirstMs: 250, timeoutMs: 60_000 })
  async advanceRollout(job: Job<AdvanceRollout>): Promise<void> {
    const { uid } = job.data;
    await this.runner.decide(job, { type: 'Advance', data: { uid, now: this.runner.now() } });
  }

  private async facts({ job, known, upgrade, signal, cluster }: Wanted<CheckUpgrade>): Promise<ClusterFacts> {
    const { target, strategy } = upgrade.wish;
    return this.survey.facts({
      namespace: job.namespace,
      name: job.cluster,
      known,
      cluster: await cluster(),
      release: target.kubernetes === undefined ? undefined : releaseOf(target.kubernetes),
      excused: strategy.excusedNodes,
      signal,
    });
  }
}

const isOfRollout = (data: Readonly<Record<string, unknown>>): data is RolloutJob =>
  typeof data['upgradeId'] === 'string' && typeof data['run'] === 'number' && typeof data['type'] === 'string';

/** Every attempt of a roll-out's job that failed becomes an event; what else fails here is the log's or the database's business. */
export const makeRecordFailure =
  (runner: RolloutRunner): RecordJobFailure =>
  async (job, failure) => {
    const { cause, attempt, attemptsMax, nextAttemptAt } = failure;
    new Logger('jobs').warn(
      `${job.type} of ${job.namespace}/${job.cluster}: ${cause.message} (attempt ${attempt} of ${attemptsMax})`,
    );
    const { data } = job;
    if (!isOfRollout(data)) return;
    const command = { job: data, cause, attempt, attemptsMax, nextAttemptAt, now: runner.now() };
    await runner.decide({ ...job, data }, { type: 'RecordFailure', data: command });
  };

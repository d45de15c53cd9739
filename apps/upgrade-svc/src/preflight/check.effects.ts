import { ExternalFailure } from '@fairlead/contracts';
import { findRelease, type OwnReleases } from '@fairlead/domain';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock, type InstallationReleases } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import type { Check } from '../plan/upgrade.planner.js';
import { planHash } from '../plan/plan.hash.js';
import type { ClusterSurvey } from './cluster.survey.effects.js';
import type { ClusterFacts } from '../rules/cluster.facts.js';
import { finding } from '../rules/finding.js';
import { checkUpgrade, dryRunFor } from '../rollout/check.planner.js';
import { viewOf, type RolloutContext } from '../rollout/rollout.context.js';
import { waitsForChecks, isWaiting, LOOK_AGAIN_MS } from '../rollout/rollout.state.js';
import type { CheckUpgrade } from '../rollout/rollout.tasks.js';
import { CHECK_SOURCES, CHECKS_BY_AGENTS } from '../tokens.js';
import type { KubeadmDryRuns } from './kubeadm.dry-run.effects.js';
import type { OfflineRenewal } from './offline.renewal.effects.js';

const RENEWAL_AGAIN_MS = 1_000;

/** Work done by agents before the plan exists. */
export interface ChecksByAgents {
  readonly renewal: OfflineRenewal;
  readonly dryRuns: KubeadmDryRuns;
}

/** The sources of a plan. */
export interface CheckSources {
  readonly clusters: ClusterAccess;
  readonly survey: ClusterSurvey;
  readonly releases: Pick<InstallationReleases, 'latest'>;
}

/** Surveys the cluster and plans its upgrade. */
@Controller()
export class CheckEffects {
  constructor(
    @Inject(CHECK_SOURCES) private readonly sources: CheckSources,
    @Inject(CHECKS_BY_AGENTS) private readonly agents: ChecksByAgents,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('CheckUpgrade', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 10 * 60_000 })
  async checkUpgrade(task: RolloutContext<CheckUpgrade>): Promise<RequeueAfter | undefined> {
    const waits = await this.agents.renewal.renewEnded(task, this.clock.now());
    if (waits !== undefined) return task.requeueAfter(RENEWAL_AGAIN_MS, waits);
    const check = await this.check(task);
    const outcome = check.outcome === 'planned' ? { ...check, planHash: planHash(check.plan) } : check;
    const { uid, upgradeId, run } = task.data;
    const now = this.clock.now().toISOString();
    const after = await task.record({ type: 'RecordCheck', data: { uid, upgradeId, now, ...outcome } });
    const upgrade = after.status === 'known' ? after.upgrade : null;
    const isLeft = upgrade?.id === upgradeId && upgrade.run === run && isWaiting(upgrade);
    return isLeft ? task.requeueAfter(LOOK_AGAIN_MS, 'the upgrade waits for the same findings') : undefined;
  }

  /** An unreachable cluster is a finding like any other for an upgrade that waits. */
  private async check(task: RolloutContext<CheckUpgrade>): Promise<Check> {
    const view = viewOf(task);
    const own = await this.sources.releases.latest();
    try {
      return checkUpgrade(view, await this.factsWithDryRun(task, own), own);
    } catch (error) {
      if (!waitsForChecks(view.upgrade) || !(error instanceof ExternalFailure) || task.signal.aborted) throw error;
      const { operation, target, message } = error;
      return { outcome: 'rejected', findings: [finding('E6.unreachable', { operation, target }, { message })] };
    }
  }

  private async factsWithDryRun(task: RolloutContext<CheckUpgrade>, own: OwnReleases): Promise<ClusterFacts> {
    const facts = await this.facts(task, own);
    const request = dryRunFor(viewOf(task), facts, own);
    if (request === null) return facts;
    const { dryRun, unread } = await this.agents.dryRuns.run(task, request);
    return { ...facts, dryRun, unread: [...facts.unread, ...unread] };
  }

  private async facts(task: RolloutContext<CheckUpgrade>, own: OwnReleases): Promise<ClusterFacts> {
    const { cluster: known, upgrade } = viewOf(task);
    const { target, strategy } = upgrade.request;
    return this.sources.survey.facts({
      namespace: task.namespace,
      name: task.cluster,
      known,
      cluster: await this.sources.clusters.of(known.uid, task.cluster),
      release: target.kubernetes === undefined ? undefined : findRelease(own, target.kubernetes),
      excused: strategy.excusedNodes,
      signal: task.signal,
    });
  }
}

import { releaseOf, WorldFailure, type GateName } from '@fairlead/contracts';
import { OnJob, type Job, type JobContext, type JobLater } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../config.js';
import { Etcd } from '../etcd/etcd.effects.js';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { CheckGates, UpgradeAddons } from '../rollout/rollout.jobs.js';
import { whereOf, type RolloutRunner, type Wanted } from '../rollout/rollout.runner.js';
import { GATE_SOURCES, ROLLOUT_RUNNER, SETTINGS } from '../rollout/tokens.js';
import { ownGate, ruleOfGate, type GateLook, type Verdict } from './gates.js';
import type { GateSources } from './gates.ports.js';
import { askUserGate } from './user.gates.js';
import { fails } from './verdict.js';

const WAITS_MAX = 10_000;
const USER = 'user:';

/** Asks gates in their order until each holds; when their time is over, the job is no longer wanted. */
@Controller()
export class GatesEffects {
  /** Since when a gate is asked, for the telling; a process that dies begins to count anew. */
  private readonly since = new LRUCache<string, number>({ max: WAITS_MAX });

  constructor(
    @Inject(ROLLOUT_RUNNER) private readonly runner: RolloutRunner,
    @Inject(GATE_SOURCES) private readonly sources: GateSources,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnJob<CheckGates>('CheckGates', { attemptsMax: 1, timeoutMs: 10 * 60_000 })
  checkGates(job: Job<CheckGates>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (wanted) => {
      const look = this.look(wanted, await wanted.cluster());
      const sliceEndsMs = this.nowMs() + this.settings.sliceMs;
      for (const gate of wanted.data.gates) {
        const failing = await this.untilItHolds(wanted, { gate, look, sliceEndsMs });
        if (failing !== undefined) return context.later(this.waitFor(gate), `${gate}: ${failing}`);
      }
      return undefined;
    });
  }

  /** kubeadm brings CoreDNS and kube-proxy with the control plane; what else stands in kube-system fits every version of the catalogue. */
  @OnJob<UpgradeAddons>('UpgradeAddons', { attemptsMax: 10, backoffFirstMs: 1_000, timeoutMs: 5 * 60_000 })
  upgradeAddons(job: Job<UpgradeAddons>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (wanted) => {
      const workloads = await (await wanted.cluster()).workloads('kube-system');
      const addons = Object.fromEntries(workloads.map(({ name, version }) => [name, version]));
      await wanted.record({ type: 'AddonsUpgraded', data: { ...whereOf(wanted), addons } });
    });
  }

  /** Within this slice; answers in which words it does not hold. */
  private async untilItHolds(
    wanted: Wanted<CheckGates>,
    { gate, look, sliceEndsMs }: { readonly gate: GateName; readonly look: GateLook; readonly sliceEndsMs: number },
  ): Promise<string | undefined> {
    const key = `${wanted.job.id}/${gate}`;
    const since = this.waitsSince(key);
    for (;;) {
      const verdict = await this.ask(wanted, gate, look);
      const { stage } = wanted.data;
      const node = wanted.data.node ?? null;
      const said = { ...whereOf(wanted), stage, gate, rule: ruleOfGate(gate), node, facts: { ...verdict.facts } };
      if (verdict.holds) {
        this.since.delete(key);
        await wanted.record({ type: 'GatePassed', data: { ...said, waitedMs: Math.round(this.nowMs() - since) } });
        return undefined;
      }
      await wanted.record({ type: 'GateFailed', data: { ...said, message: verdict.message } });
      if (gate.startsWith(USER) || this.nowMs() >= sliceEndsMs) return verdict.message;
      await sleep(this.settings.lookEveryMs, undefined, { signal: wanted.signal });
    }
  }

  /** A world that does not answer is a gate that does not hold. */
  private async ask(wanted: Wanted<CheckGates>, gate: GateName, look: GateLook): Promise<Verdict> {
    try {
      const own = ownGate(gate);
      if (own !== undefined) return await own(look);
      const asked = wanted.upgrade.wish.strategy.gates.find(({ name }) => `${USER}${name}` === gate);
      if (asked === undefined) throw new Error(`there is no gate ${gate}`);
      const { upgradeId, operation, run } = wanted.data;
      const { cluster } = look;
      return await askUserGate(asked, {
        cluster,
        http: this.sources.http,
        asked: `${upgradeId}/${operation}/${run}`,
        signal: wanted.signal,
      });
    } catch (error) {
      wanted.signal.throwIfAborted();
      if (error instanceof WorldFailure) return fails(error.message, { operation: error.operation });
      throw error;
    }
  }

  private look(wanted: Wanted<CheckGates>, cluster: UpgradeCluster): GateLook {
    const { known, signal, data, operation } = wanted;
    const kubernetes = operation?.change?.kubernetes ?? operation?.to['kubernetes'];
    const intervals = { passes: this.settings.passIntervalMs, leases: this.settings.leaseIntervalMs };
    return {
      cluster,
      etcd: new Etcd(cluster, signal),
      survey: this.sources.survey,
      known,
      excused: data.excused,
      node: data.node ?? null,
      software: data.software,
      release: kubernetes === undefined ? undefined : releaseOf(kubernetes),
      rest: (why) => sleep(intervals[why], undefined, { signal }),
    };
  }

  private waitFor(gate: GateName): number {
    return gate.startsWith(USER) ? this.settings.userGateEveryMs : this.settings.lookEveryMs;
  }

  private waitsSince(key: string): number {
    const known = this.since.get(key);
    if (known !== undefined) return known;
    const now = this.nowMs();
    this.since.set(key, now);
    return now;
  }

  private nowMs(): number {
    return this.clock.now().getTime();
  }
}

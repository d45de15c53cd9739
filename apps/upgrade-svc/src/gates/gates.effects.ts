import { releaseOf, ExternalFailure, type GateName } from '@fairlead/contracts';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { kubeadmManifests } from '@fairlead/kubernetes/kubeadm';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../config.js';
import { Etcd } from '../etcd/etcd.effects.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { kubeadmObjects } from '../replacement/replacement.effects.js';
import { operationOf, recordFacts, viewOf, whereOf, type RolloutContext } from '../rollout/rollout.context.js';
import type { CheckGates, UpgradeAddons } from '../rollout/rollout.tasks.js';
import { CLUSTER_ACCESS, GATE_SOURCES, SETTINGS } from '../tokens.js';
import { LEASE_LOOKS_MAX } from './cluster.gates.js';
import type { GateLook, Verdict } from './gate.js';
import { ownGate, ruleOfGate } from './gates.js';
import type { GateSources } from './gates.ports.js';
import { askUserGate } from './user.gates.js';
import { sharedRead } from './shared.read.js';
import { fails } from './verdict.js';

const WAITS_MAX = 10_000;
const USER = 'user:';

/** Evaluates gates in order until each holds; the task is withdrawn when their time is over. */
@Controller()
export class GatesEffects {
  /** Since when a gate is evaluated, for its event; restarts with the process. */
  private readonly since = new LRUCache<string, number>({ max: WAITS_MAX });

  constructor(
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(GATE_SOURCES) private readonly sources: GateSources,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('CheckGates', { attemptsMax: 1, timeoutMs: 10 * 60_000 })
  async checkGates(task: RolloutContext<CheckGates>): Promise<RequeueAfter | undefined> {
    const look = this.look(task, await this.clusters.of(task.data.uid, task.cluster));
    const sliceEndsMs = this.nowMs() + this.settings.sliceMs;
    for (const gate of task.data.gates) {
      const failing = await this.untilItHolds(task, { gate, look, sliceEndsMs });
      if (failing !== undefined) return task.requeueAfter(this.waitFor(gate), `${gate}: ${failing}`);
    }
    return undefined;
  }

  /**
   * kubeadm upgrades CoreDNS and kube-proxy with the control plane; other workloads in kube-system support every
   * version of the catalogue.
   */
  @OnTask('UpgradeAddons', { attemptsMax: 10, backoffFirstMs: 1_000, timeoutMs: 5 * 60_000 })
  async upgradeAddons(task: RolloutContext<UpgradeAddons>): Promise<void> {
    const cluster = await this.clusters.of(task.data.uid, task.cluster);
    if (task.data.install === true) await this.install(task, cluster);
    const workloads = await cluster.workloads('kube-system');
    const addons = Object.fromEntries(workloads.map(({ name, version }) => [name, version]));
    await recordFacts(task, this.clock, { type: 'AddonsUpgraded', data: { ...whereOf(task), addons } });
  }

  /** What kubeadm would have done for the last control plane, had it upgraded it. */
  private async install(task: RolloutContext<UpgradeAddons>, cluster: UpgradeCluster): Promise<void> {
    const { kubernetes } = task.data;
    const release = kubernetes === null ? undefined : releaseOf(kubernetes, viewOf(task).upgrade.plan?.releases);
    if (release === undefined) throw new Error(`no release ${kubernetes} in a plan that leads to it`);
    await cluster.apply(kubeadmManifests(release, await kubeadmObjects(cluster)));
  }

  /** Evaluates within this slice; returns why the gate does not hold. */
  private async untilItHolds(
    task: RolloutContext<CheckGates>,
    { gate, look, sliceEndsMs }: { readonly gate: GateName; readonly look: GateLook; readonly sliceEndsMs: number },
  ): Promise<string | undefined> {
    const key = `${task.id}/${gate}`;
    const since = this.waitsSince(key);
    for (;;) {
      const verdict = await this.ask(task, gate, look);
      const { stage } = task.data;
      const node = task.data.node ?? null;
      const said = { ...whereOf(task), stage, gate, rule: ruleOfGate(gate), node, facts: { ...verdict.facts } };
      if (verdict.holds) {
        this.since.delete(key);
        await recordFacts(task, this.clock, {
          type: 'GatePassed',
          data: { ...said, waitedMs: Math.round(this.nowMs() - since) },
        });
        return undefined;
      }
      await recordFacts(task, this.clock, { type: 'GateFailed', data: { ...said, message: verdict.message } });
      if (gate.startsWith(USER) || this.nowMs() >= sliceEndsMs) return verdict.message;
      await sleep(this.settings.lookEveryMs, undefined, { signal: task.signal });
    }
  }

  /** A gate whose target does not respond does not hold. */
  private async ask(task: RolloutContext<CheckGates>, gate: GateName, look: GateLook): Promise<Verdict> {
    try {
      const own = ownGate(gate);
      if (own !== undefined) return await own(look);
      const asked = viewOf(task).upgrade.request.strategy.gates.find(({ name }) => `${USER}${name}` === gate);
      if (asked === undefined) throw new Error(`there is no gate ${gate}`);
      const { upgradeId, operation, run } = task.data;
      const { cluster } = look;
      return await askUserGate(asked, {
        cluster,
        namespace: task.namespace,
        http: this.sources.http,
        signer: this.sources.signer,
        asked: `${upgradeId}/${operation}/${run}`,
        signal: task.signal,
      });
    } catch (error) {
      task.signal.throwIfAborted();
      if (error instanceof ExternalFailure) return fails(error.message, { operation: error.operation });
      throw error;
    }
  }

  private look(task: RolloutContext<CheckGates>, cluster: UpgradeCluster): GateLook {
    const { signal, data } = task;
    const { cluster: known, upgrade } = viewOf(task);
    const releases = upgrade.plan?.releases;
    const etcd = new Etcd(cluster, signal);
    const operation = operationOf(task)?.operation;
    const kubernetes = operation?.change?.kubernetes ?? operation?.to['kubernetes'];
    const { passIntervalMs: passes, leaseIntervalMs } = this.settings;
    const intervals = { passes, leases: leaseIntervalMs / LEASE_LOOKS_MAX };
    return {
      cluster,
      etcd: sharedRead(
        () => etcd.facts(Object.values(known.nodes)),
        this.settings.lookEveryMs,
        () => this.nowMs(),
      ),
      survey: this.sources.survey,
      known,
      excused: data.excused,
      node: data.node ?? null,
      software: data.software,
      release: kubernetes === undefined ? undefined : releaseOf(kubernetes, releases),
      releases,
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

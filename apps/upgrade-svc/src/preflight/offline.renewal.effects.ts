import { endedOf, endedOfKubelets, streamSubject, ExternalFailure, type NodeName } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import type { Handle } from '@fairlead/event-sourcing/jetstream';
import { LRUCache } from 'lru-cache';
import { sayToNode } from '../desired/decisions.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { certificatesIn } from './node.facts.js';
import type { ClusterSurvey } from './cluster.survey.effects.js';
import { viewOf, type RolloutContext } from '../rollout/rollout.context.js';
import type { CheckUpgrade } from '../rollout/rollout.tasks.js';
import { b2ClusterHealthy, HEALTHY_PASSES_MIN } from '../rules/preflight.rules.js';
import { renewalOf } from '../certificates/renewal.change.js';

/** Timeout for agents, static pods and Fairlead's kubeconfig together; afterwards the survey reports its findings. */
const LIMIT_MS = 5 * 60_000;
const RENEWALS_MAX = 2_000;

interface OfflineRenewalParts {
  readonly store: EventStore;
  readonly handle: Handle;
  readonly clusters: ClusterAccess;
  readonly survey: ClusterSurvey;
}

/**
 * Renews expired certificates before a renewal is planned. Once they have expired, no API server accepts Fairlead and
 * etcd members reject each other, so that no survey and no gate can run, and no order keeps a control plane available.
 * All of them renew at the same time, through their agents.
 */
export class OfflineRenewal {
  /** Start of each upgrade's renewal in this process. After a restart, the timeout starts again. */
  private readonly begun = new LRUCache<string, number>({ max: RENEWALS_MAX });

  constructor(private readonly parts: OfflineRenewalParts) {}

  /** Returns the reason to wait; undefined: no certificate has expired, all were renewed, or the timeout has passed. */
  async renewEnded(task: RolloutContext<CheckUpgrade>, now: Date): Promise<string | undefined> {
    const { upgrade } = viewOf(task);
    const { mode, target } = upgrade.request;
    if (mode === 'dry-run' || !target.renewCertificates) return undefined;
    const ended = await this.ended(task, now.toISOString());
    const beganMs = this.begun.get(upgrade.id);
    if (ended.length === 0 && beganMs === undefined) return undefined;
    const nowMs = now.getTime();
    this.begun.set(upgrade.id, beganMs ?? nowMs);
    if (nowMs - (beganMs ?? nowMs) >= LIMIT_MS) return this.end(task);
    if (ended.length > 0) {
      for (const node of ended) await this.change(task, node, 'AskForChange');
      return `certificates of ${ended.join(', ')} have ended and are renewed by the agents of these nodes`;
    }
    const problem = await this.problem(task);
    return problem ?? this.end(task);
  }

  private async end(task: RolloutContext<CheckUpgrade>): Promise<undefined> {
    for (const node of this.controlPlanes(task)) await this.change(task, node, 'WithdrawPermission');
    this.begun.delete(viewOf(task).upgrade.id);
    return undefined;
  }

  private controlPlanes(task: RolloutContext<CheckUpgrade>): readonly NodeName[] {
    return Object.values(viewOf(task).cluster.nodes).flatMap(({ name, role }) => (role === 'worker' ? [] : [name]));
  }

  private async ended(task: RolloutContext<CheckUpgrade>, now: string): Promise<readonly NodeName[]> {
    const subject = streamSubject({ namespace: task.namespace, cluster: task.cluster, context: '*' });
    const reports = await this.parts.store.read(`${subject}.CertificatesReported`, 0);
    const latest = certificatesIn(
      reports.map(({ event }) => event),
      task.data.uid,
    );
    // The agent of a control plane also renews its kubelet's certificate.
    const isOver = (node: NodeName): boolean => {
      const reported = latest.get(node) ?? [];
      return [...endedOf(reported, now), ...endedOfKubelets(reported, now)].length > 0;
    };
    return this.controlPlanes(task).filter(isOver);
  }

  private async change(
    task: RolloutContext<CheckUpgrade>,
    node: NodeName,
    type: 'AskForChange' | 'WithdrawPermission',
  ): Promise<void> {
    const { uid, upgradeId } = task.data;
    const id = `${upgradeId}-ended`;
    const command =
      type === 'AskForChange'
        ? { type, data: { uid, node, change: renewalOf(id) } }
        : { type, data: { uid, node, change: id } };
    await sayToNode(this.parts.handle, task, node, command);
  }

  /**
   * Connects with Fairlead's renewed certificate, which bootstrap-svc reads from a control plane, and returns the
   * problem if there is one.
   */
  private async problem(task: RolloutContext<CheckUpgrade>): Promise<string | undefined> {
    const { clusters, survey } = this.parts;
    const { cluster: known, upgrade } = viewOf(task);
    clusters.forget(known.uid);
    try {
      const cluster = await clusters.of(known.uid, task.cluster);
      const health = await survey.health({ cluster, known });
      const look = { ...health, healthyPasses: HEALTHY_PASSES_MIN };
      return b2ClusterHealthy(look, upgrade.request.strategy.excusedNodes).map(({ sentence }) => sentence)[0];
    } catch (error) {
      if (!(error instanceof ExternalFailure)) throw error;
      return error.message;
    }
  }
}

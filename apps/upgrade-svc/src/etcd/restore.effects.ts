import { AGENT_PATHS, WorldFailure, type EtcdChange, type NodeChange, type NodeName } from '@fairlead/contracts';
import {
  HANDLE,
  OnJob,
  type Handle,
  type Job,
  type JobContext,
  type JobLater,
} from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import type { Settings } from '../config.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { decideFor, sayToNode } from '../rollout/decisions.js';
import { CLUSTER_ACCESS, SETTINGS } from '../rollout/tokens.js';
import { b3EtcdHealthy } from '../rules/etcd.rules.js';
import { Etcd } from './etcd.effects.js';
import { isAt, restore, type RestoreCommand } from './restore.decider.js';
import type { AdvanceRestoreJob, ReleaseRestoreJob, RestoreStepJob } from './restore.process.js';
import { changeIdOf, nodesIn, type Restores } from './restore.state.js';

const SECOND_MS = 1_000;

/** Sets etcd back to a snapshot: says what agents shall do, one step of all nodes after the other, and looks at the end. */
@Controller()
export class RestoreEffects {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'lookEveryMs'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnJob<AdvanceRestoreJob>('AdvanceRestore', { attemptsMax: 50, backoffFirstMs: 250, timeoutMs: 60 * SECOND_MS })
  async advanceRestore(job: Job<AdvanceRestoreJob>): Promise<void> {
    const { uid } = job.data;
    await this.decide(job, { type: 'AdvanceRestore', data: { uid, now: this.now() } });
  }

  @OnJob<RestoreStepJob>('TakeRestoreStep', { attemptsMax: 50, backoffFirstMs: 500, timeoutMs: 120 * SECOND_MS })
  async takeRestoreStep(job: Job<RestoreStepJob>, context: JobContext): Promise<JobLater | void> {
    const { uid, requestId, step } = job.data;
    const state = await this.decide(job, { type: 'BeginRestoreStep', data: { uid, requestId, step } });
    if (!isAt(state, job.data)) return undefined;
    if (step === 'verify') return this.verify(job, state, context);
    if (step === 'place') return undefined;
    for (const node of nodesIn(state, step)) {
      const change = changeOf(state, job.data, node, step);
      await sayToNode(this.handle, job, node, { type: 'AskForChange', data: { uid, node, change } });
    }
    return undefined;
  }

  @OnJob<ReleaseRestoreJob>('ReleaseRestore', { attemptsMax: 50, backoffFirstMs: 500, timeoutMs: 120 * SECOND_MS })
  async releaseRestore(job: Job<ReleaseRestoreJob>): Promise<void> {
    const { uid, nodes } = job.data;
    for (const node of nodes)
      await sayToNode(this.handle, job, node, { type: 'WithdrawPermission', data: { uid, node } });
  }

  /** Asked again until it is well; the step's own deadline ends it. */
  private async verify(
    job: Job<RestoreStepJob>,
    state: Restores,
    { signal, later }: JobContext,
  ): Promise<JobLater | undefined> {
    const problem = await this.problemOf(job, state, signal);
    if (problem !== undefined) return later(this.settings.lookEveryMs, problem);
    await this.decide(job, { type: 'RecordVerified', data: { ...job.data, now: this.now(), failed: null } });
    return undefined;
  }

  /** What is not well yet, in words; the API that answers has read what it says from the restored etcd. */
  private async problemOf(job: Job<RestoreStepJob>, state: Restores, signal: AbortSignal): Promise<string | undefined> {
    try {
      const cluster = await this.clusters.of(job.data.uid, job.cluster);
      const nodes = nodesIn(state, 'start').map((name) => ({ name, role: 'control-plane' as const }));
      const etcd = await new Etcd(cluster, signal).facts(nodes);
      // A cluster of two control planes is restored as what it was.
      return b3EtcdHealthy({ nodes, etcd }).find(({ facts }) => facts['members'] !== nodes.length)?.sentence;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof WorldFailure) return error.message;
      throw error;
    }
  }

  private decide(job: Job<AdvanceRestoreJob | RestoreStepJob>, command: RestoreCommand): Promise<Restores> {
    return decideFor(this.handle, job, { decider: restore, context: 'rollout', command });
  }

  private now(): string {
    return this.clock.now().toISOString();
  }
}

const changeOf = (
  state: Restores,
  { requestId }: RestoreStepJob,
  node: NodeName,
  step: EtcdChange['step'],
): NodeChange => {
  const members = nodesIn(state, 'start').map((name) => `${name}=${state.nodes[name]?.peerUrl ?? ''}`);
  return {
    id: changeIdOf(requestId, step),
    kubeadm: null,
    kubernetes: null,
    renewCertificates: false,
    reboot: false,
    balancedEndpoint: null,
    stopApiServerFirst: false,
    emulatedVersion: null,
    etcd: {
      step,
      restoreId: requestId,
      snapshotFile: AGENT_PATHS.snapshot,
      peerUrl: state.nodes[node]?.controlPlane === true ? (state.nodes[node].peerUrl ?? null) : null,
      initialCluster: members.join(','),
      token: `fairlead-restore-${requestId}`,
    },
  };
};

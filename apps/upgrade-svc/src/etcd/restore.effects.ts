import { AGENT_PATHS, ExternalFailure, type EtcdChange, type NodeChange, type NodeName } from '@fairlead/contracts';
import { HANDLE, OnTask, type Handle, type RequeueAfter, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import type { Settings } from '../config.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { sayToNode } from '../desired/decisions.js';
import { CLUSTER_ACCESS, SETTINGS } from '../tokens.js';
import { b3EtcdHealthy } from '../rules/etcd.rules.js';
import { Etcd } from './etcd.effects.js';
import type { RecordVerified, StepOfRestore } from './restore.decider.js';
import type { ReleaseRestore } from './restore.reconciler.js';
import { changeIdOf, nodesIn, type Restores } from './restore.state.js';

const SECOND_MS = 1_000;

type RestoreContext<Data extends StepOfRestore | ReleaseRestore> = TaskContext<Restores, RecordVerified, Data>;

/** Restores etcd from a snapshot: requests each step from the agents of all nodes, and verifies the result. */
@Controller()
export class RestoreEffects {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'lookEveryMs'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('TakeRestoreStep', { attemptsMax: 50, backoffFirstMs: 500, timeoutMs: 120 * SECOND_MS })
  async takeRestoreStep(task: RestoreContext<StepOfRestore>): Promise<RequeueAfter | undefined> {
    const { uid, step } = task.data;
    if (step === 'verify') return this.verify(task);
    if (step === 'place') throw new Error('bootstrap-svc places the snapshot');
    for (const node of nodesIn(task.state, step)) {
      const change = changeOf(task.state, task.data, node, step);
      await sayToNode(this.handle, task, node, { type: 'AskForChange', data: { uid, node, change } });
    }
    return undefined;
  }

  @OnTask('ReleaseRestore', { attemptsMax: 50, backoffFirstMs: 500, timeoutMs: 120 * SECOND_MS })
  async releaseRestore(task: RestoreContext<ReleaseRestore>): Promise<void> {
    const { uid, nodes } = task.data;
    for (const node of nodes)
      await sayToNode(this.handle, task, node, { type: 'WithdrawPermission', data: { uid, node } });
  }

  /** Retried until etcd is healthy; the deadline of the step ends it. */
  private async verify(task: RestoreContext<StepOfRestore>): Promise<RequeueAfter | undefined> {
    const problem = await this.problemOf(task);
    if (problem !== undefined) return task.requeueAfter(this.settings.lookEveryMs, problem);
    const { uid, requestId, step } = task.data;
    const now = this.clock.now().toISOString();
    await task.record({ type: 'RecordVerified', data: { uid, requestId, step, now, failed: null } });
    return undefined;
  }

  /** Describes what is not healthy yet. A responding API has read its data from the restored etcd. */
  private async problemOf({
    data,
    cluster: name,
    state,
    signal,
  }: RestoreContext<StepOfRestore>): Promise<string | undefined> {
    try {
      const cluster = await this.clusters.of(data.uid, name);
      const nodes = nodesIn(state, 'start').map((name) => ({ name, role: 'control-plane' as const }));
      const etcd = await new Etcd(cluster, signal).facts(nodes);
      // A cluster of two control planes is restored as such.
      return b3EtcdHealthy({ nodes, etcd }).find(({ facts }) => facts['members'] !== nodes.length)?.sentence;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ExternalFailure) return error.message;
      throw error;
    }
  }
}

const changeOf = (
  state: Restores,
  { requestId }: StepOfRestore,
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

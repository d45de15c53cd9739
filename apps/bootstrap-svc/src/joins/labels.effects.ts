import { actionMark } from '@fairlead/domain';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { ExternalFailure } from '@fairlead/contracts';
import { Controller, Inject } from '@nestjs/common';
import { desiredMetadata } from '../bootstrap/metadata.evolve.js';
import { hostOf, type RunningTask } from '../bootstrap/running.task.js';
import { CLUSTER_ACCESS } from '../bootstrap/tokens.js';
import { clusterLabel } from '../hosts/node.settings.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';

/**
 * Sets the labels and taints of pools on their nodes, and removes those that pools no longer have. Those set by others
 * are kept.
 */
@Controller()
export class LabelsEffects {
  constructor(@Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess) {}

  /**
   * Tried for an hour: after a restore of etcd a node is there again only once its kubelet has registered it. It also gets what was set on it
   * once: the label of the cluster, and the cordon that an operator requested.
   */
  @OnTask('SetNodeLabels', { attemptsMax: 40, backoffFirstMs: 1_000, backoffMaxMs: 120_000, timeoutMs: 2 * 60_000 })
  async setNodeLabels(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const host = hostOf(step);
    const { name } = host.machine;
    const desired = desiredMetadata(cluster, host);
    const { labels = [], taints = [] } = host.metadata?.ours ?? {};
    const api = await this.clusters.of(cluster);
    const change = { ...desired, obsoleteLabels: labels, obsoleteTaints: taints };
    if (!(await api.setNodeMetadata(name, change)))
      throw new ExternalFailure({ operation: 'label the node', target: name, message: 'Kubernetes has no such node' });
    if (host.registersAgain === true) {
      await api.label(name, clusterLabel(cluster.spec.name));
      if (host.cordonedFor !== undefined) await api.cordon(name, actionMark(host.cordonedFor));
    }
    await step.record({ type: 'NodeLabelsSet', data: { uid: cluster.uid, node: name, ...desired } });
  }
}

import { ExternalFailure } from '@fairlead/contracts';
import { publishedServer } from '@fairlead/domain';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { administratorFrom, serverAt, type ExpectedCluster } from '@fairlead/kubernetes/kubeconfig';
import { renderStep } from '@fairlead/node-scripts';
import { Controller, Inject } from '@nestjs/common';
import { authenticationRevision } from '../bootstrap/authentication.evolve.js';
import { hostsOf, isControlPlane, type Host } from '../bootstrap/bootstrap.state.js';
import { hostOf, type RunningTask } from '../bootstrap/running.task.js';
import { CLUSTER_ACCESS, HOST_ACCESS, SETTINGS } from '../bootstrap/tokens.js';
import type { Settings } from '../config.js';
import type { HostAccess } from '../hosts/host.access.js';
import { clusterSettings, nodeSettings } from '../hosts/node.settings.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { untilSettled } from '../kubernetes/waiting.js';
import { runEtcdctl } from './etcd.members.js';
import { controlPlaneProblems } from './control-plane.health.js';

const HEALTHY_WITHIN_MS = 5 * 60_000;

const decoded = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

const expectedOf = ({ machine }: Host, server: string, caCertHash: string | null): ExpectedCluster => ({
  node: machine.name,
  server,
  addresses: [machine.privateIp],
  caCertHash,
});

/** Initialises the first control plane, and verifies that all of them are healthy. */
@Controller()
export class ControlPlaneEffects {
  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'tuning' | 'lookEveryMs'>,
  ) {}

  @OnTask('InitControlPlane', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 20 * 60_000 })
  async initControlPlane(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const host = hostOf(step);
    const settings = clusterSettings(cluster, this.settings.tuning);
    const rendered = renderStep('kubeadm-init', {
      uid: cluster.uid,
      cluster: settings,
      node: nodeSettings(host, this.settings.tuning, cluster.spec),
      schedulable: cluster.spec.singleNode,
    });
    const result = await this.hosts.on(host, step, (worker) => worker.run(rendered));
    await runEtcdctl(this.hosts, step, host);
    const server = serverAt(settings.endpoint);
    // Its CA is now the cluster's: later results of any control plane must have the same one.
    const administrator = administratorFrom(decoded(result.kubeconfig), expectedOf(host, server, null));
    await step.record({
      type: 'ControlPlaneInitialized',
      data: {
        uid: cluster.uid,
        node: host.machine.name,
        endpoint: server,
        kubeconfigRef: await this.clusters.seal(cluster, administrator),
        caCertHash: administrator.caCertHash,
        authentication: authenticationRevision(cluster),
        ...(cluster.published === undefined ? {} : { published: publishedServer(cluster.published) }),
      },
    });
  }

  /** Retried for half a day: without it there is no access once the former certificate has expired. */
  @OnTask('RefreshKubeconfig', {
    attemptsMax: 75,
    backoffFirstMs: 2_000,
    backoffMaxMs: 600_000,
    timeoutMs: 120_000,
  })
  async refreshKubeconfig(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const { uid, controlPlane, kubeconfigEndsAt } = cluster;
    if (controlPlane === null) throw new Error('the plan refreshes no kubeconfig before there is one');
    const host = hostOf(step);
    const result = await this.hosts.on(host, step, (worker) => worker.run(renderStep('read-kubeconfig', {})));
    const { endpoint, caCertHash } = controlPlane;
    const administrator = administratorFrom(decoded(result.kubeconfig), expectedOf(host, endpoint, caCertHash));
    const { expiresAt } = administrator;
    if (kubeconfigEndsAt !== null && expiresAt <= kubeconfigEndsAt)
      throw new ExternalFailure({
        operation: 'take the kubeconfig',
        target: host.machine.name,
        message: `the kubeconfig is refused: its client certificate ends ${expiresAt}, and that of the one in use ${kubeconfigEndsAt}`,
      });
    const kubeconfigRef = await this.clusters.seal(cluster, administrator);
    await step.record({
      type: 'KubeconfigRefreshed',
      data: { uid, node: host.machine.name, kubeconfigRef, expiresAt },
    });
  }

  @OnTask('VerifyControlPlane', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 10 * 60_000 })
  async verifyControlPlane(step: RunningTask): Promise<void> {
    const nodes = await this.healthyControlPlanes(step);
    await step.record({ type: 'ControlPlaneReady', data: { uid: step.state.cluster.uid, nodes: [...nodes] } });
  }

  private async healthyControlPlanes({ state: { cluster }, signal }: RunningTask) {
    const api = await this.clusters.of(cluster);
    const machines = hostsOf(cluster)
      .filter((host) => isControlPlane(host) && host.joinedAt !== null && host.removal === 'none' && !host.failed)
      .map(({ machine }) => machine);
    const problems = await untilSettled(() => controlPlaneProblems(api, machines, cluster.spec.kubernetes.etcd), {
      deadlineMs: HEALTHY_WITHIN_MS,
      everyMs: this.settings.lookEveryMs,
      signal,
    });
    if (problems.length === 0) return machines.map(({ name }) => name);
    throw new ExternalFailure({
      operation: 'verify the control plane',
      target: cluster.spec.name,
      message: problems.join('; '),
    });
  }
}

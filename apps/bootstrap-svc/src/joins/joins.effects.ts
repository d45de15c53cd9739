import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { renderStep, type StepResults } from '@fairlead/node-scripts';
import { Controller, Inject } from '@nestjs/common';
import { hostOf, type Step } from '../bootstrap/step.js';
import { HOST_ACCESS, JOIN_CREDENTIALS, SETTINGS } from '../bootstrap/tokens.js';
import { hasExternalEtcd, type Host } from '../bootstrap/bootstrap.state.js';
import type { Settings } from '../config.js';
import { desiredMetadata } from '../bootstrap/metadata.evolve.js';
import { leaveEtcd, runEtcdctl } from '../control-plane/etcd.members.js';
import type { JoinCredentialsSource } from './join.credentials.js';
import type { HostAccess } from '../hosts/host.access.js';
import { clusterSettings, nodeSettings, versionOn } from '../hosts/node.settings.js';

/** Nodes join: control planes with fresh credentials each, workers with those of the next minutes. */
@Controller()
export class JoinsEffects {
  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(JOIN_CREDENTIALS) private readonly credentials: JoinCredentialsSource,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'tuning'>,
  ) {}

  @OnTask('JoinControlPlane', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 20 * 60_000 })
  async joinControlPlane(step: Step): Promise<void> {
    const host = hostOf(step);
    // The member of an etcd that is not kubeadm's is there before the join, and stays.
    const { interrupted } = await this.join(step, host, hasExternalEtcd(step.state.cluster));
    if (interrupted) {
      await leaveEtcd(this.hosts, step, host);
      await this.join(step, host, true);
    }
    await runEtcdctl(this.hosts, step, host);
    await step.record({ type: 'ControlPlaneJoined', data: { uid: step.state.cluster.uid, node: host.machine.name } });
  }

  @OnTask('JoinWorker', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 20 * 60_000 })
  async joinWorker(step: Step): Promise<void> {
    const { cluster } = step.state;
    const host = hostOf(step);
    const rendered = renderStep('kubeadm-join-worker', {
      uid: cluster.uid,
      cluster: clusterSettings(cluster, this.settings.tuning, versionOn(cluster, host)),
      node: nodeSettings(host, this.settings.tuning, desiredMetadata(cluster, host)),
      credentials: await this.credentials.forWorker(step),
    });
    await this.hosts.on(host, step, (worker) => worker.run(rendered));
    await step.record({ type: 'WorkerJoined', data: { uid: cluster.uid, node: host.machine.name } });
  }

  private async join(
    step: Step,
    host: Host,
    afterInterruption: boolean,
  ): Promise<StepResults['kubeadm-join-control-plane']> {
    const { cluster } = step.state;
    const rendered = renderStep('kubeadm-join-control-plane', {
      uid: cluster.uid,
      cluster: clusterSettings(cluster, this.settings.tuning, versionOn(cluster, host)),
      node: nodeSettings(host, this.settings.tuning),
      credentials: await this.credentials.forControlPlane(step),
      afterInterruption,
    });
    return this.hosts.on(host, step, (worker) => worker.run(rendered));
  }
}

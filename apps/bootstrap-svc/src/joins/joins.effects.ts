import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { renderStep, type StepResults } from '@fairlead/node-scripts';
import { Controller, Inject } from '@nestjs/common';
import { hostOf, type RunningTask } from '../bootstrap/running.task.js';
import { HOST_ACCESS, JOIN_CREDENTIALS, SETTINGS } from '../bootstrap/tokens.js';
import { authenticationRevision } from '../bootstrap/authentication.evolve.js';
import { hasExternalEtcd, type Host } from '../bootstrap/bootstrap.state.js';
import type { Settings } from '../config.js';
import { desiredMetadata } from '../bootstrap/metadata.evolve.js';
import { leaveEtcd, runEtcdctl } from '../control-plane/etcd.members.js';
import type { EndingCredentials, JoinCredentialsSource } from './join.credentials.js';
import type { HostAccess } from '../hosts/host.access.js';
import { checkPortsFrom, checkPortsOn } from './ports.check.js';
import { clusterSettings, nodeSettings, versionOn } from '../hosts/node.settings.js';

/** The sources of the first credentials of an attempt, and of their replacements. */
interface Issuing<C> {
  readonly host: Host;
  readonly first: () => Promise<C>;
  readonly next: () => Promise<C>;
}

interface ControlPlaneJoin {
  readonly credentials: EndingCredentials & { readonly certificateKey: string };
  /** The leftovers of an earlier join may be removed, because etcd has no member of it. */
  readonly again: boolean;
}

/** Joins nodes: control planes each with new credentials, workers with those of the next minutes. */
@Controller()
export class JoinsEffects {
  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(JOIN_CREDENTIALS) private readonly credentials: JoinCredentialsSource,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'tuning'>,
  ) {}

  @OnTask('JoinControlPlane', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 20 * 60_000 })
  async joinControlPlane(step: RunningTask): Promise<void> {
    const host = hostOf(step);
    const alive = await checkPortsOn(this.hosts, step, host);
    await this.hosts.on(host, step, (worker) => checkPortsFrom(worker, step, host, alive));
    const issue = () => this.credentials.forControlPlane(step);
    await this.withToken(step, { host, first: issue, next: issue }, async (credentials, renew) => {
      // The member of an external etcd exists before the join, and is kept.
      const { interrupted } = await this.join(step, host, { credentials, again: hasExternalEtcd(step.state.cluster) });
      if (!interrupted) return;
      await leaveEtcd(this.hosts, step, host);
      await this.join(step, host, { credentials: await renew(), again: true });
    });
    await runEtcdctl(this.hosts, step, host);
    const { cluster } = step.state;
    const read = cluster.authenticationFile === true ? { authentication: authenticationRevision(cluster) } : {};
    await step.record({ type: 'ControlPlaneJoined', data: { uid: cluster.uid, node: host.machine.name, ...read } });
  }

  @OnTask('JoinWorker', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 20 * 60_000 })
  async joinWorker(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const host = hostOf(step);
    const issue = {
      host,
      first: () => this.credentials.forWorker(step),
      next: () => this.credentials.renewed(step),
    };
    await this.withToken(step, issue, async ({ token, caCertHash }) => {
      const rendered = renderStep('kubeadm-join-worker', {
        uid: cluster.uid,
        cluster: clusterSettings(cluster, this.settings.tuning, versionOn(cluster, host)),
        node: nodeSettings(host, this.settings.tuning, {
          metadata: desiredMetadata(cluster, host),
          cloudController: cluster.spec.cloudController,
        }),
        credentials: { token, caCertHash },
      });
      await this.hosts.on(host, step, async (worker) => {
        await checkPortsFrom(worker, step, host);
        await worker.run(rendered);
      });
    });
    await step.record({ type: 'WorkerJoined', data: { uid: cluster.uid, node: host.machine.name } });
  }

  /** A join whose token expired before the host was done is repeated with a new one, once per attempt. */
  private async withToken<C extends EndingCredentials>(
    step: RunningTask,
    { host, first, next }: Issuing<C>,
    join: (credentials: C, renew: () => Promise<C>) => Promise<void>,
  ): Promise<void> {
    const credentials = await first();
    try {
      await join(credentials, next);
    } catch (error) {
      if (!this.credentials.hasEnded(credentials, error)) throw error;
      const { expiresAt } = credentials;
      const fresh = await next();
      const data = { uid: step.state.cluster.uid, node: host.machine.name, endedAt: expiresAt };
      await step.record({ type: 'JoinTokenRenewed', data });
      await join(fresh, next);
    }
  }

  private async join(
    step: RunningTask,
    host: Host,
    { credentials: { token, caCertHash, certificateKey }, again }: ControlPlaneJoin,
  ): Promise<StepResults['kubeadm-join-control-plane']> {
    const { cluster } = step.state;
    const rendered = renderStep('kubeadm-join-control-plane', {
      uid: cluster.uid,
      cluster: clusterSettings(cluster, this.settings.tuning, versionOn(cluster, host)),
      node: nodeSettings(host, this.settings.tuning, cluster.spec),
      credentials: { token, caCertHash, certificateKey },
      afterInterruption: again,
    });
    return this.hosts.on(host, step, (worker) => worker.run(rendered));
  }
}

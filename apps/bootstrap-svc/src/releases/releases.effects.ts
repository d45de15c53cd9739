import type { Addon } from '@fairlead/contracts';
import { OnTask, type RequeueAfter, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { kubeconfigOf } from '@fairlead/kubernetes/kubeconfig';
import { Controller, Inject } from '@nestjs/common';
import { CHART_ARCHIVES, CLUSTER_ACCESS, HELM_RELEASES, SETTINGS } from '../bootstrap/tokens.js';
import type { Settings } from '../config.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { mayRepair, type ReleasesCommand } from './releases.decider.js';
import type { ChartArchives, ChartSource, HelmReleases, ReleaseAt, DesiredRelease } from './releases.ports.js';
import type { ReleaseData } from './releases.reconciler.js';
import type { Release, Releases } from './releases.state.js';

type ReleaseTask = TaskContext<Releases | undefined, ReleasesCommand, ReleaseData>;

const DEFAULT_NAMESPACE = 'default';
/** Objects without a chart have no version. */
export const MANIFESTS_VERSION = '0.0.0';
const DEPLOYED = 'deployed';
const PENDING = /^(pending-|uninstalling)/u;

/** Tried for weeks: what an add-on needs may come much later than it. */
const PATIENT = { attemptsMax: 1_000, backoffFirstMs: 2_000, backoffMaxMs: 3_600_000, timeoutMs: 15 * 60_000 } as const;

/** Add-ons as releases of Helm: installed, upgraded, looked at, repaired and uninstalled. */
@Controller()
export class ReleasesEffects {
  constructor(
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(HELM_RELEASES) private readonly helm: HelmReleases,
    @Inject(CHART_ARCHIVES) private readonly archives: ChartArchives,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'addonsEveryMs'>,
  ) {}

  @OnTask('InstallRelease', PATIENT)
  async install(task: ReleaseTask): Promise<void> {
    const { release, at } = await this.open(task);
    await this.deployed(task, release, at);
  }

  /** Values that render the same change nothing: neither the cluster nor the revision. */
  private async deployed(task: ReleaseTask, { addon }: Release, at: ReleaseAt): Promise<void> {
    const { signal } = task;
    const { uid, declaration } = task.data;
    const desired = await this.desiredOf(addon, signal);
    const { version } = desired.chart;
    const status = await this.settledStatus(at, signal);
    if (status?.status !== DEPLOYED || (await this.helm.differs(at, desired, signal))) {
      await task.record({ type: 'BeginRelease', data: { uid, addon: addon.name, declaration, version } });
      await this.helm.deploy(at, desired, signal);
    }
    const revision = (await this.helm.status(at, signal))?.revision ?? 1;
    await task.record({ type: 'RecordRelease', data: { uid, addon: addon.name, declaration, version, revision } });
  }

  @OnTask('WatchRelease', PATIENT)
  async watch(task: ReleaseTask): Promise<RequeueAfter> {
    const { signal } = task;
    const { uid, addon, declaration } = task.data;
    const { release, at } = await this.open(task);
    const problems = await this.problems(release, at, signal);
    if (problems.length > 0) {
      await task.record({ type: 'RecordDrift', data: { uid, addon, declaration, problems } });
      if (mayRepair(release)) await this.repair(task, release, at);
    } else if (release.drift.length > 0) await this.recordAgain(task, release, at);
    return task.requeueAfter(this.settings.addonsEveryMs, 'it is looked at again');
  }

  private async repair(task: ReleaseTask, release: Release, at: ReleaseAt): Promise<void> {
    await this.settledStatus(at, task.signal);
    await this.helm.deploy(at, await this.desiredOf(release.addon, task.signal), task.signal);
    await this.recordAgain(task, release, at);
  }

  private async recordAgain(task: ReleaseTask, { deployed }: Release, at: ReleaseAt): Promise<void> {
    const { uid, addon, declaration } = task.data;
    const revision = (await this.helm.status(at, task.signal))?.revision ?? 1;
    const version = deployed?.version ?? MANIFESTS_VERSION;
    await task.record({ type: 'RecordRelease', data: { uid, addon, declaration, version, revision } });
  }

  @OnTask('UninstallRelease', PATIENT)
  async uninstall(task: ReleaseTask): Promise<void> {
    const { uid, addon } = task.data;
    const { at } = await this.open(task);
    await task.record({ type: 'BeginUninstall', data: { uid, addon } });
    await this.helm.uninstall(at, task.signal);
    await task.record({ type: 'RecordUninstalled', data: { uid, addon } });
  }

  private async problems({ deployed }: Release, at: ReleaseAt, signal: AbortSignal): Promise<readonly string[]> {
    const status = await this.helm.status(at, signal);
    if (status === undefined) return [`there is no release ${at.name} in ${at.namespace}`];
    if (status.status !== DEPLOYED) return [`the release ${at.name} is ${status.status}`];
    if (status.revision !== deployed?.revision)
      return [
        `the release ${at.name} has revision ${status.revision}, and Fairlead deployed ${deployed?.revision ?? 0}`,
      ];
    return [];
  }

  /** Only one task at a time works on a release: one that is pending was left behind by a process that ended. */
  private async settledStatus(at: ReleaseAt, signal: AbortSignal) {
    const status = await this.helm.status(at, signal);
    if (status === undefined || !PENDING.test(status.status)) return status;
    await this.helm.recover(at, status, signal);
    return this.helm.status(at, signal);
  }

  private async desiredOf(addon: Addon, signal: AbortSignal): Promise<DesiredRelease> {
    return {
      chart: await this.chartOf(addon, signal),
      values: addon.values ?? {},
      waits: addon.class !== 'bootstrap',
    };
  }

  private async chartOf({ application, version, manifests = [] }: Addon, signal: AbortSignal): Promise<ChartSource> {
    if (application === undefined || version === undefined)
      return { kind: 'manifests', manifests, version: MANIFESTS_VERSION };
    return { kind: 'archive', bytes: await this.archives.get(application, version, signal), version };
  }

  private async open(task: ReleaseTask): Promise<{ readonly release: Release; readonly at: ReleaseAt }> {
    const { state, cluster, data } = task;
    const release = state?.releases[data.addon];
    if (state === undefined || state.api === null || release === undefined)
      throw new Error('only known releases of an initialized cluster have tasks');
    const { name, namespace = DEFAULT_NAMESPACE } = release.addon;
    const { administrator } = await this.clusters.open({ uid: state.uid, cluster, recorded: state.api });
    return { release, at: { name, namespace, kubeconfig: kubeconfigOf(cluster, administrator) } };
  }
}

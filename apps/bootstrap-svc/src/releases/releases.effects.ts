import type { Addon, InstalledAddon } from '@fairlead/contracts';
import { OnTask, type RequeueAfter, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { kubeconfigOf } from '@fairlead/kubernetes/kubeconfig';
import { Controller, Inject } from '@nestjs/common';
import { CLUSTER_ACCESS, RELEASE_ENGINES, RELEASE_SOURCES, SETTINGS } from '../bootstrap/tokens.js';
import type { Settings } from '../config.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { mayRepair, type ReleasesCommand } from './releases.decider.js';
import type { DesiredRelease, ReleaseAt, ReleaseEngine, ReleaseEngines, ReleaseStatus } from './releases.ports.js';
import type { ReleaseData } from './releases.reconciler.js';
import type { ReleaseSources } from './releases.sources.js';
import type { Release, Releases } from './releases.state.js';

type ReleaseTask = TaskContext<Releases | undefined, ReleasesCommand, ReleaseData>;

const DEFAULT_NAMESPACE = 'default';
const DEPLOYED = 'deployed';
const PENDING = /^(pending-|uninstalling)/u;
const PROBLEMS_MAX = 20;
const PROBLEM_LENGTH_MAX = 500;

/** Retried for weeks: the dependencies of an add-on may become available much later. */
const PATIENT = { attemptsMax: 1_000, backoffFirstMs: 2_000, backoffMaxMs: 3_600_000, timeoutMs: 15 * 60_000 } as const;

/** A release with its engine. */
interface Opened {
  readonly release: Release;
  readonly at: ReleaseAt;
  readonly engine: ReleaseEngine;
  /** Its objects, if it has no chart. */
  readonly manifests: NonNullable<Addon['manifests']>;
}

/** Installs, upgrades, checks, repairs and uninstalls add-ons as releases. */
@Controller()
export class ReleasesEffects {
  constructor(
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(RELEASE_ENGINES) private readonly engines: ReleaseEngines,
    @Inject(RELEASE_SOURCES) private readonly sources: ReleaseSources,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'addonsEveryMs'>,
  ) {}

  /** Values with the same rendering change neither the cluster nor the revision. */
  @OnTask('InstallRelease', PATIENT)
  async install(task: ReleaseTask): Promise<void> {
    const { signal } = task;
    const opened = await this.open(task);
    const { at, engine, release } = opened;
    const { uid, addon, declaration } = task.data;
    await task.record({ type: 'PrepareRelease', data: { uid, addon, declaration } });
    const desired = await this.sources.desired(task, release.addon, signal);
    const status = await settledStatus(opened, signal);
    if (status?.status !== DEPLOYED || (await engine.differs(at, desired, signal)))
      await this.change(task, opened, desired);
    await this.recordDeployed(task, opened, desired);
  }

  @OnTask('WatchRelease', PATIENT)
  async watch(task: ReleaseTask): Promise<RequeueAfter> {
    const { signal, data } = task;
    const { uid, addon, declaration } = data;
    const opened = await this.open(task);
    const { release } = opened;
    const problems = await problemsOf(opened, signal);
    if (problems.length > 0) {
      await task.record({ type: 'RecordDrift', data: { uid, addon, declaration, problems } });
      if (mayRepair(release)) await this.repair(task, opened);
    } else if (release.drift.length > 0 || (await this.isSealedAgain(task, release))) await this.repair(task, opened);
    return task.requeueAfter(this.settings.addonsEveryMs, 'it is looked at again');
  }

  /** Sealed values change without a new declaration. */
  private async isSealedAgain({ namespace }: ReleaseTask, { addon, deployed }: Release): Promise<boolean> {
    if ((addon.valuesFrom ?? []).length === 0 && addon.cloud === undefined) return false;
    return JSON.stringify(await this.sources.setBy(namespace, addon)) !== JSON.stringify(deployed?.secrets ?? {});
  }

  private async repair(task: ReleaseTask, opened: Opened): Promise<void> {
    const { signal } = task;
    const desired = await this.sources.desired(task, opened.release.addon, signal);
    const status = await settledStatus(opened, signal);
    const isWhole = status?.status === DEPLOYED && (await problemsOf(opened, signal)).length === 0;
    if (!isWhole || (await opened.engine.differs(opened.at, desired, signal))) await this.change(task, opened, desired);
    await this.recordDeployed(task, opened, desired);
  }

  private async change(task: ReleaseTask, { at, engine }: Opened, desired: DesiredRelease): Promise<void> {
    const { uid, addon, declaration } = task.data;
    const { version } = desired.source;
    await task.record({ type: 'BeginRelease', data: { uid, addon, declaration, version } });
    await engine.deploy(at, desired, task.signal);
  }

  private async recordDeployed(task: ReleaseTask, { at, engine }: Opened, desired: DesiredRelease): Promise<void> {
    const { uid, addon, declaration } = task.data;
    const { version } = desired.source;
    const revision = (await engine.status(at, task.signal))?.revision ?? 1;
    const secrets = Object.keys(desired.setBy).length === 0 ? {} : { secrets: desired.setBy };
    await task.record({ type: 'RecordRelease', data: { uid, addon, declaration, version, revision, ...secrets } });
  }

  @OnTask('UninstallRelease', PATIENT)
  async uninstall(task: ReleaseTask): Promise<void> {
    const { uid, addon } = task.data;
    const { at, engine } = await this.open(task);
    await task.record({ type: 'BeginUninstall', data: { uid, addon } });
    await engine.uninstall(at, task.signal);
    await task.record({ type: 'RecordUninstalled', data: { uid, addon } });
  }

  private async open(task: ReleaseTask): Promise<Opened> {
    const { state, cluster, data } = task;
    const release = state?.releases[data.addon];
    if (state === undefined || state.api === null || release === undefined)
      throw new Error('only known releases of an initialized cluster have tasks');
    const { name, namespace = DEFAULT_NAMESPACE } = release.addon;
    const { api, administrator } = await this.clusters.open({ uid: state.uid, cluster, recorded: state.api });
    const at = { name, namespace, kubeconfig: kubeconfigOf(cluster, administrator), api };
    return {
      release,
      at,
      engine: this.engineOf(release.addon),
      manifests: await this.manifestsOf(task, release.addon),
    };
  }

  /** Those of a cloud have content that the manifest does not show. */
  private async manifestsOf(task: ReleaseTask, addon: InstalledAddon): Promise<Opened['manifests']> {
    const { manifests = [], cloud } = addon;
    if (cloud === undefined || manifests.length === 0 || task.type === 'UninstallRelease') return manifests;
    const { source } = await this.sources.desired(task, addon, task.signal);
    return source.kind === 'manifests' ? source.manifests : [];
  }

  private engineOf({ manifests }: Addon): ReleaseEngine {
    return manifests === undefined ? this.engines.charts : this.engines.manifests;
  }
}

/** Only one task at a time works on a release: a pending one was left by a process that ended. */
const settledStatus = async ({ at, engine }: Opened, signal: AbortSignal): Promise<ReleaseStatus | undefined> => {
  const status = await engine.status(at, signal);
  if (status === undefined || !PENDING.test(status.status)) return status;
  await engine.recover(at, signal);
  return engine.status(at, signal);
};

const problemsOf = async (
  { at, engine, release, manifests }: Opened,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const { name, namespace } = at;
  const { deployed } = release;
  const status = await engine.status(at, signal);
  if (status === undefined) return [`there is no release ${name} in ${namespace}`];
  if (status.status !== DEPLOYED) return [`the release ${name} is ${status.status}`];
  if (deployed !== null && status.revision !== deployed.revision)
    return [`the release ${name} has revision ${status.revision}, and Fairlead deployed ${deployed.revision}`];
  const drift = await engine.drift(at, manifests, signal);
  return drift.slice(0, PROBLEMS_MAX).map((one) => one.slice(0, PROBLEM_LENGTH_MAX));
};

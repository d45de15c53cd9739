import { isRefusal, softwareOf, ExternalFailure, type NodeName } from '@fairlead/contracts';
import { findRelease } from '@fairlead/domain';
import { HANDLE, OnTask, type Handle, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { InstallationReleases } from '@fairlead/service-kit';
import { Controller, Inject, Logger } from '@nestjs/common';
import pLimit from 'p-limit';
import { desired, type SetDesiredVersions, type WithdrawPermission } from './desired.decider.js';
import { releasesFor } from './desired.releases.js';
import type { SetDesired, Desired, WithdrawPermissions } from './desired.reconciler.js';

const DECISIONS_AT_ONCE = 8;

type DesiredContext<Data extends SetDesired | WithdrawPermissions> = TaskContext<Desired, never, Data>;

@Controller()
export class DesiredEffects {
  private readonly logger = new Logger('desired');

  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(InstallationReleases) private readonly releases: Pick<InstallationReleases, 'latest'>,
  ) {}

  @OnTask('SetDesiredVersions', { attemptsMax: 20 })
  async setDesiredVersions(task: DesiredContext<SetDesired>): Promise<void> {
    const { uid, version, software: surge } = task.data;
    const own = await this.releases.latest();
    const release = findRelease(own, version);
    if (release === undefined)
      throw new ExternalFailure({
        operation: 'set the desired versions',
        target: task.cluster,
        message: `Kubernetes ${version} is not among the known releases`,
      });
    const software = { ...softwareOf(release), ...surge };
    const releases = releasesFor(own, software);
    await this.forEach(task, (node) => ({
      type: 'SetDesiredVersions',
      data: { uid, node, software, changesAllowed: true, changesAllowedUntil: 'NodeReady', ...releases },
    }));
  }

  /** Nodes that an upgrade has permitted in the meantime keep that permission, which is part of a change. */
  @OnTask('WithdrawPermissions', { attemptsMax: 20 })
  async withdrawPermissions(task: DesiredContext<WithdrawPermissions>): Promise<void> {
    const { uid } = task.data;
    await this.forEach(task, (node) => ({ type: 'WithdrawPermission', data: { uid, node, idle: true } }));
  }

  private async forEach(
    { namespace, cluster, cause, data, signal }: DesiredContext<SetDesired | WithdrawPermissions>,
    commandFor: (node: NodeName) => SetDesiredVersions | WithdrawPermission,
  ): Promise<void> {
    const limit = pLimit(DECISIONS_AT_ONCE);
    const decide = async (node: NodeName): Promise<void> => {
      signal.throwIfAborted();
      const stream = { namespace, cluster, context: `desired-${node}` };
      const outcome = await this.handle(desired, stream, commandFor(node), cause);
      if (isRefusal(outcome)) this.logger.warn(`${namespace}/${cluster} ${node}: ${outcome.message}`);
    };
    await Promise.all(data.nodes.map((node) => limit(() => decide(node))));
  }
}

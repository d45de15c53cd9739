import { isRefusal, streamSubject, type NodeName } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, HANDLE, OnJob, type Handle, type Job, type JobContext } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject, Logger } from '@nestjs/common';
import pLimit from 'p-limit';
import { desired, type SetDesiredVersions, type WithdrawPermission } from './desired.decider.js';
import type { SetDesired, WithdrawPermissions } from './desired.process.js';
import { presentMachines } from './presence.decider.js';

const DECISIONS_AT_ONCE = 8;

@Controller()
export class DesiredEffects {
  private readonly logger = new Logger('desired');

  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(EVENT_STORE) private readonly store: EventStore,
  ) {}

  @OnJob<SetDesired>('SetDesiredVersions', { attemptsMax: 20 })
  async setDesiredVersions(job: Job<SetDesired>, { signal }: JobContext): Promise<void> {
    const { uid, software } = job.data;
    await this.forPresent(job, signal, (node) => ({
      type: 'SetDesiredVersions',
      data: { uid, node, software, changesAllowed: true },
    }));
  }

  /** Nodes that an upgrade has allowed by then keep that permission: it comes with a change. */
  @OnJob<WithdrawPermissions>('WithdrawPermissions', { attemptsMax: 20 })
  async withdrawPermissions(job: Job<WithdrawPermissions>, { signal }: JobContext): Promise<void> {
    const { uid } = job.data;
    await this.forPresent(job, signal, (node) => ({ type: 'WithdrawPermission', data: { uid, node, idle: true } }));
  }

  private async forPresent(
    { namespace, cluster, cause, data }: Job<WithdrawPermissions>,
    signal: AbortSignal,
    commandFor: (node: NodeName) => SetDesiredVersions | WithdrawPermission,
  ): Promise<void> {
    // The log, not our rows: a job may run before the rows that its event made are committed.
    const machines = await this.store.read(`${streamSubject({ namespace, cluster, context: 'machines' })}.>`, 0);
    const present = presentMachines(
      data.uid,
      machines.map(({ event }) => event),
    );
    const limit = pLimit(DECISIONS_AT_ONCE);
    const decide = async (node: NodeName): Promise<void> => {
      signal.throwIfAborted();
      const stream = { namespace, cluster, context: `desired-${node}` };
      const outcome = await this.handle(desired, stream, commandFor(node), cause);
      if (isRefusal(outcome)) this.logger.warn(`${namespace}/${cluster} ${node}: ${outcome.message}`);
    };
    await Promise.all(data.nodes.filter((node) => present.has(node)).map((node) => limit(() => decide(node))));
  }
}

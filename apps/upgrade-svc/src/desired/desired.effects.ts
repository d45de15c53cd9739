import { isRefusal, streamSubject } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, HANDLE, OnJob, type Handle, type Job, type JobContext } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject, Logger } from '@nestjs/common';
import pLimit from 'p-limit';
import { desired } from './desired.decider.js';
import type { SetDesired } from './desired.process.js';
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
  async setDesiredVersions(
    { namespace, cluster, cause, data }: Job<SetDesired>,
    { signal }: JobContext,
  ): Promise<void> {
    // The log, not our rows: a job may run before the rows that its event made are committed.
    const machines = await this.store.read(`${streamSubject({ namespace, cluster, context: 'machines' })}.>`, 0);
    const present = presentMachines(
      data.uid,
      machines.map(({ event }) => event),
    );
    const limit = pLimit(DECISIONS_AT_ONCE);
    await Promise.all(
      data.nodes
        .filter((node) => present.has(node))
        .map((node) =>
          limit(async () => {
            signal.throwIfAborted();
            const command = {
              type: 'SetDesiredVersions' as const,
              data: { uid: data.uid, node, software: data.software, changesAllowed: true },
            };
            const outcome = await this.handle(
              desired,
              { namespace, cluster, context: `desired-${node}` },
              command,
              cause,
            );
            if (isRefusal(outcome)) this.logger.warn(`${namespace}/${cluster} ${node}: ${outcome.message}`);
          }),
        ),
    );
  }
}

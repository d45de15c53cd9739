import { WorldFailure, type ConnectionName } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { HANDLE, OnJob, type Handle, type Job, type JobContext } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { openConnection } from '../connections/open.connection.js';
import { orRetry } from '../outcome.effects.js';
import type { Connections, InfrastructureProvider, ListedMachine } from '../providers/provider.ports.js';
import { resourcesStream } from '../resources/resources.decider.js';
import { CONNECTIONS } from '../tokens.js';
import { orphans, type OrphansCommand } from './orphans.decider.js';
import { PlannedMachines } from '../machines/planned.machines.effects.js';

export type OfOrphan = { readonly connection: ConnectionName; readonly id: string };

export const DELETE_ORPHAN = 'DeleteOrphan';

/** States what became of an orphaned machine. */
@Injectable()
export class OrphansLog {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  deleted({ connection, id }: OfOrphan, cause: Cause): Promise<void> {
    return this.record({ type: 'RecordOrphanDeleted', data: { connection, id } }, cause);
  }

  keep({ connection, id }: OfOrphan, reason: string, cause: Cause): Promise<void> {
    return this.record({ type: 'RecordOrphanKept', data: { connection, id, reason } }, cause);
  }

  private async record(command: OrphansCommand, cause: Cause): Promise<void> {
    const stream = resourcesStream(command.data.connection);
    orRetry(await this.handle(orphans, stream, command, cause), stream.context);
  }
}

/** Deletes an orphaned machine that an administrator named: exactly that one, after it was checked again. */
@Controller()
export class OrphanJobs {
  constructor(
    @Inject(CONNECTIONS) private readonly connections: Connections,
    @Inject(PlannedMachines) private readonly planned: PlannedMachines,
    @Inject(OrphansLog) private readonly log: OrphansLog,
  ) {}

  @OnJob<OfOrphan>(DELETE_ORPHAN, {
    attemptsMax: 8,
    backoffFirstMs: 1_000,
    backoffMaxMs: 60_000,
    timeoutMs: 5 * 60_000,
  })
  async delete({ data, cause }: Job<OfOrphan>, { signal }: Pick<JobContext, 'signal'>): Promise<void> {
    const { connection, id } = data;
    const { provider } = await openConnection(this.connections, connection, { retryable: true });
    const found = await find(provider, id, signal);
    if (found !== undefined) {
      const owner = await this.planned.by(found, cause);
      if (owner !== undefined) return this.log.keep(data, `cluster ${owner} has planned it`, cause);
      await provider.deleteMachine(id, signal);
      if ((await find(provider, id, signal)) !== undefined)
        throw new WorldFailure({ operation: 'delete machine', target: id, message: 'the provider still lists it' });
    }
    await this.log.deleted(data, cause);
  }
}

const find = async (
  provider: InfrastructureProvider,
  id: string,
  signal: AbortSignal,
): Promise<ListedMachine | undefined> => (await provider.listMachines(signal)).find((machine) => machine.id === id);

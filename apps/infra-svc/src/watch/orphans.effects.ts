import { ClusterName, Namespace, ExternalFailure, type ConnectionName, type EventData } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { HANDLE, OnTask, type Handle, type TaskOf } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { openConnection } from '../connections/open.connection.js';
import { retryOnConflict } from '../append.conflict.js';
import type { Connections, InfrastructureProvider, ListedMachine } from '../providers/provider.ports.js';
import { resourcesStream } from '../resources/resources.decider.js';
import { CONNECTIONS } from '../tokens.js';
import { orphans, type OrphansCommand } from './orphans.decider.js';
import { PlannedMachines } from '../machines/planned.machines.effects.js';

export type OfOrphan = { readonly connection: ConnectionName; readonly id: string; readonly requestedAt: string };

type Orphaned = Pick<OfOrphan, 'connection' | 'id'>;

export type OfAdoption = Omit<EventData<'OrphanVmAdopted'>, 'namespace' | 'cluster'>;

/**
 * A request that was not completed in this time expires and must be repeated: its ID may refer to another machine
 * later.
 */
const REQUEST_VALID_MS = 3_600_000;

const RETRIES = { attemptsMax: 8, backoffFirstMs: 1_000, backoffMaxMs: 60_000 };

/** States the result for an orphaned machine. */
@Injectable()
export class OrphansLog {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  adopted(data: EventData<'OrphanVmAdopted'>, cause: Cause): Promise<void> {
    return this.record({ type: 'RecordOrphanAdopted', data }, cause);
  }

  deleted({ connection, id }: Orphaned, cause: Cause): Promise<void> {
    return this.record({ type: 'RecordOrphanDeleted', data: { connection, id } }, cause);
  }

  keep({ connection, id }: Orphaned, reason: string, cause: Cause): Promise<void> {
    return this.record({ type: 'RecordOrphanKept', data: { connection, id, reason } }, cause);
  }

  private async record(command: OrphansCommand, cause: Cause): Promise<void> {
    const stream = resourcesStream(command.data.connection);
    retryOnConflict(await this.handle(orphans, stream, command, cause), stream.context);
  }
}

/** Adopts or deletes orphaned machines of a connection. */
@Controller()
export class OrphanEffects {
  constructor(
    @Inject(CONNECTIONS) private readonly connections: Connections,
    @Inject(PlannedMachines) private readonly planned: PlannedMachines,
    @Inject(OrphansLog) private readonly log: OrphansLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('RecordAdoption', { ...RETRIES, timeoutMs: 60_000 })
  async adopted({ data, namespace, cluster, cause }: TaskOf<OfAdoption>): Promise<void> {
    const of = { namespace: Namespace.parse(namespace), cluster: ClusterName.parse(cluster) };
    await this.log.adopted({ ...data, ...of }, cause);
  }

  /** Deletes exactly the machine that an administrator named, after another check. */
  @OnTask('DeleteOrphan', { ...RETRIES, timeoutMs: 5 * 60_000 })
  async delete({ data, cause, signal }: Pick<TaskOf<OfOrphan>, 'data' | 'cause' | 'signal'>): Promise<void> {
    const { connection, id, requestedAt } = data;
    if (this.clock.now().getTime() - Date.parse(requestedAt) > REQUEST_VALID_MS) return;
    const { provider } = await openConnection(this.connections, connection, { retryable: true });
    const found = await find(provider, id, signal);
    if (found !== undefined) {
      const owner = await this.planned.by(found, cause);
      if (owner !== undefined) return this.log.keep(data, `cluster ${owner} has planned it`, cause);
      await provider.deleteMachine(id, signal);
      if ((await find(provider, id, signal)) !== undefined)
        throw new ExternalFailure({ operation: 'delete machine', target: id, message: 'the provider still lists it' });
    }
    await this.log.deleted(data, cause);
  }
}

const find = async (
  provider: InfrastructureProvider,
  id: string,
  signal: AbortSignal,
): Promise<ListedMachine | undefined> => (await provider.listMachines(signal)).find((machine) => machine.id === id);

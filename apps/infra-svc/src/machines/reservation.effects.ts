import { ExternalFailure, type ConnectionName } from '@fairlead/contracts';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import { openConnection } from '../connections/open.connection.js';
import type { Connections, ReservationReport, Reservations } from '../providers/provider.ports.js';
import { CONNECTIONS } from '../tokens.js';
import { reservationName } from './machines.planner.js';
import { groupOf } from '../providers/group.names.js';
import { reservedMachines, startOf, type AskedReservation } from './reservations.planner.js';
import { BALANCE_POLICY, clusterOf, refOf, RESERVE_POLICY, type MachinesTask } from './machines.task.js';

/** Providers activate reservations within about a minute of their start. */
const PENDING_AGAIN_MS = 15_000;

const GONE: ReservationReport = { status: 'denied', message: 'the provider has no such reservation any more' };

/** Reserves the machines of a cluster at providers before any of them is requested. */
@Controller()
export class ReservationEffects {
  constructor(@Inject(CONNECTIONS) private readonly connections: Connections) {}

  /** Creates a reservation, or changes its end. */
  @OnTask('EnsureReservation', RESERVE_POLICY)
  async ensureReservation(task: MachinesTask): Promise<void> {
    const asked = askedOf(task);
    const { connection, endsAt } = asked;
    const cluster = clusterOf(task);
    const ref = refOf(task);
    const reservations = await this.reservationsOf(connection);
    const report = await reservations.ensure(
      {
        name: reservationName(ref, connection),
        group: groupOf(ref, connection),
        startsAt: startOf(cluster),
        endsAt,
        machines: reservedMachines(cluster, connection),
      },
      task.signal,
    );
    await task.record({
      type: 'RecordReservation',
      data: { uid: cluster.uid, ...asked, report },
    });
  }

  /** The reservation is due to start; it is active once its provider reports it. */
  @OnTask('AwaitReservation', BALANCE_POLICY)
  async awaitReservation(task: MachinesTask): Promise<RequeueAfter | undefined> {
    const asked = askedOf(task);
    const { uid } = clusterOf(task);
    const reservations = await this.reservationsOf(asked.connection);
    const name = reservationName(refOf(task), asked.connection);
    const report = (await reservations.describe(name, task.signal)) ?? GONE;
    if (report.status === 'pending') return task.requeueAfter(PENDING_AGAIN_MS, 'the provider has not begun it yet');
    await task.record({ type: 'RecordReservation', data: { uid, ...asked, report } });
    return undefined;
  }

  private async reservationsOf(connection: ConnectionName): Promise<Reservations> {
    const { provider } = await openConnection(this.connections, connection, { retryable: true });
    if (provider.reservations !== undefined) return provider.reservations;
    const message = 'the provider does not reserve machines any more';
    throw new ExternalFailure({ operation: 'reserve machines', target: connection, message, retryable: false });
  }
}

const askedOf = ({ key, data: { reservation } }: MachinesTask): AskedReservation => {
  if (reservation === undefined) throw new Error(`${key} is desired without a reservation`);
  return reservation;
};

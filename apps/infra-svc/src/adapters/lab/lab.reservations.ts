import { ExternalFailure } from '@fairlead/contracts';
import type { DesiredReservation, ReservationReport, Reservations } from '../../providers/provider.ports.js';
import { LabReservation } from './lab.answers.js';
import type { LabClient, LabRequest } from './lab.client.js';

const path = (name: string): string => `/v1/reservations/${encodeURIComponent(name)}`;

const reportOf = ({ status, sizes }: LabReservation): ReservationReport =>
  status === 'ended' ? { status: 'denied', message: 'the reservation has ended' } : { status, sizes };

/** Reservations of a lab. The machines of a reservation are requested by private sizes. */
export class LabReservations implements Reservations {
  constructor(
    private readonly client: LabClient,
    private readonly connection: string,
  ) {}

  /** A failure that is not worth a retry is a denial. */
  async ensure(
    { name, startsAt, endsAt, machines }: DesiredReservation,
    signal: AbortSignal,
  ): Promise<ReservationReport> {
    const body = { startsAt, endsAt, machines };
    try {
      return reportOf(await this.client.get(this.on('PUT', name, signal, body), LabReservation));
    } catch (error) {
      if (!(error instanceof ExternalFailure) || error.retryable) throw error;
      return { status: 'denied', message: error.message };
    }
  }

  async describe(name: string, signal: AbortSignal): Promise<ReservationReport | undefined> {
    const found = await this.client.find(this.on('GET', name, signal), LabReservation);
    return found && reportOf(found);
  }

  release(name: string, signal: AbortSignal): Promise<void> {
    return this.client.delete({ ...this.on('DELETE', name, signal), operation: 'release reservation' });
  }

  private on(method: LabRequest['method'], name: string, signal: AbortSignal, body?: unknown): LabRequest {
    const request = {
      operation: 'reserve machines',
      target: this.connection,
      method,
      path: path(name),
      signal,
    } as const;
    return body === undefined ? request : { ...request, body };
  }
}

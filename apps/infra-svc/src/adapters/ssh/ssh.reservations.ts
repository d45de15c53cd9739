import { isRefusal, type ClusterUid, type ConnectionName } from '@fairlead/contracts';
import type { DesiredReservation, GroupRef, ReservationReport, Reservations } from '../../providers/provider.ports.js';
import type { Booking, Candidates, Stock, StockView } from '../../stock/stock.ports.js';

const ENDED: ReservationReport = { status: 'denied', message: 'the booking has ended' };

/** The name of a reservation ends with the incarnation of its cluster; names have no dots. */
const uidIn = (name: string): ClusterUid => (name.split('.').at(-1) ?? '') as ClusterUid;

/** A booking begins when its time has come and no other cluster is on its hosts any more. */
const reportOf = ({ uid, startsAt, endsAt, hosts }: Booking, { held }: StockView, now: string): ReservationReport => {
  if (endsAt <= now) return ENDED;
  const isOccupied = held.some((holding) => holding.uid !== uid && hosts.includes(holding.host.name));
  return { status: now < startsAt || isOccupied ? 'pending' : 'active', sizes: {} };
};

interface BookingWorld {
  readonly stock: Stock;
  readonly candidates: (group: GroupRef, signal: AbortSignal) => Promise<Candidates>;
  /** RFC 3339. */
  readonly now: () => string;
}

/** Hosts of the inventory that are booked for a cluster. The machines of a booking have their declared sizes. */
export class SshReservations implements Reservations {
  constructor(
    private readonly connection: ConnectionName,
    private readonly world: BookingWorld,
  ) {}

  async ensure(
    { group, startsAt, endsAt, machines }: DesiredReservation,
    signal: AbortSignal,
  ): Promise<ReservationReport> {
    const { uid, namespace, cluster } = group;
    const claim = { connection: this.connection, uid, namespace, cluster };
    const candidates = await this.world.candidates(group, signal);
    const booked = await this.world.stock.book(claim, { startsAt, endsAt, machines }, candidates);
    if (isRefusal(booked)) return { status: 'denied', message: booked.message };
    return reportOf(booked, await this.world.stock.look(this.connection), this.world.now());
  }

  async describe(name: string, signal: AbortSignal): Promise<ReservationReport | undefined> {
    signal.throwIfAborted();
    const view = await this.world.stock.look(this.connection);
    const booked = view.bookings.find(({ uid }) => uid === uidIn(name));
    return booked && reportOf(booked, view, this.world.now());
  }

  async release(name: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.world.stock.release(this.connection, uidIn(name));
  }
}

import {
  HELD_NAMES_BUCKET,
  NAME_RESERVATION_LENGTH_MAX,
  NameReservation,
  PUBLISHED_NAMES_BUCKET,
} from '@fairlead/contracts';
import { parseJson } from '@fairlead/parsers';
import { Kvm, type KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import type { TunnelNames } from '../../publication/publication.ports.js';

export const reservationIn = async (bucket: Pick<KV, 'get'>, name: string) => {
  const entry = await bucket.get(name);
  if (entry === null || entry.operation !== 'PUT') return undefined;
  const reservation = NameReservation.parse(parseJson(entry.string(), { lengthMax: NAME_RESERVATION_LENGTH_MAX }));
  return { reservation, revision: entry.revision };
};

/** Buckets whose keys are names; opened when first needed, because rights to them may be younger than the connection. */
export class NatsTunnelNames implements TunnelNames {
  private readonly buckets = new Map<string, Promise<KV>>();

  constructor(private readonly nc: NatsConnection) {}

  /** NATS creates an entry once, whoever asks. */
  async reserve(name: string, reservation: NameReservation): Promise<NameReservation> {
    const bucket = await this.bucket(PUBLISHED_NAMES_BUCKET);
    const found = await reservationIn(bucket, name);
    if (found !== undefined) return found.reservation;
    try {
      await bucket.create(name, JSON.stringify(reservation));
      return reservation;
    } catch (error) {
      const others = await reservationIn(bucket, name);
      if (others === undefined) throw error;
      return others.reservation;
    }
  }

  async keep(name: string, reservation: NameReservation): Promise<boolean> {
    const bucket = await this.bucket(PUBLISHED_NAMES_BUCKET);
    const found = await reservationIn(bucket, name);
    const text = JSON.stringify(reservation);
    if (found === undefined) return (await this.reserve(name, reservation)).uid === reservation.uid;
    if (found.reservation.uid !== reservation.uid) return false;
    if (JSON.stringify(found.reservation) !== text) await bucket.update(name, text, found.revision);
    return true;
  }

  async isHeld(name: string): Promise<boolean> {
    const entry = await (await this.bucket(HELD_NAMES_BUCKET)).get(name);
    return entry !== null && entry.operation === 'PUT';
  }

  async release(name: string, uid: string): Promise<void> {
    const bucket = await this.bucket(PUBLISHED_NAMES_BUCKET);
    const found = await reservationIn(bucket, name);
    if (found?.reservation.uid === uid) await bucket.delete(name, { previousSeq: found.revision });
  }

  private bucket(name: string): Promise<KV> {
    const open = this.buckets.get(name);
    if (open !== undefined) return open;
    const opening = new Kvm(this.nc).open(name, { allow_direct: true }).catch((error: unknown) => {
      this.buckets.delete(name);
      throw error;
    });
    this.buckets.set(name, opening);
    return opening;
  }
}

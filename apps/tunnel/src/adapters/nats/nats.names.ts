import {
  HELD_NAMES_BUCKET,
  HeldName,
  NAME_RESERVATION_LENGTH_MAX,
  NameReservation,
  PUBLISHED_NAMES_BUCKET,
} from '@fairlead/contracts';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { Kvm, type KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import type * as z from 'zod';
import type { Names } from '../../routes/names.ports.js';

const VALUE_LIMITS = { lengthMax: NAME_RESERVATION_LENGTH_MAX };

export const valueOf = async <Value>(
  bucket: Pick<KV, 'get'>,
  name: string,
  schema: z.ZodType<Value>,
): Promise<Value | undefined> => {
  const entry = await bucket.get(name);
  if (entry === null || entry.operation !== 'PUT') return undefined;
  const parsed = schema.safeParse(parseJsonOrUndefined(entry.string(), VALUE_LIMITS));
  return parsed.success ? parsed.data : undefined;
};

/** The names are the keys of the buckets; rights are by subject, so entries are read directly. */
export const natsNames = async (nc: NatsConnection): Promise<Names> => {
  const kvm = new Kvm(nc);
  const reserved = await kvm.open(PUBLISHED_NAMES_BUCKET, { allow_direct: true });
  const held = await kvm.open(HELD_NAMES_BUCKET, { allow_direct: true });
  return {
    reservation: (name) => valueOf(reserved, name, NameReservation),
    holder: (name) => valueOf(held, name, HeldName),
    hold: async (name, value) => void (await held.put(name, JSON.stringify(value))),
  };
};

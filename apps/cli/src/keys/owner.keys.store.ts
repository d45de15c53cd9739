import { SECRETS_BUCKET } from '@fairlead/contracts';
import { Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import type { OwnerKeys } from './master.rotation.effects.js';

const OWNER_KEYS = '*.key.>';
/** By which JetStream refuses a write because the subject has a newer message. */
const WRONG_LAST_SEQUENCE: readonly unknown[] = [10_071, 10_164];

const isConflict = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && WRONG_LAST_SEQUENCE.includes(error.code);

/** The keys of owners in NATS; needs the administrator's credential. */
export const natsOwnerKeys = async (nc: NatsConnection): Promise<OwnerKeys> => {
  const kv = await new Kvm(nc).open(SECRETS_BUCKET);
  return {
    names: async () => {
      const names: string[] = [];
      for await (const name of await kv.keys(OWNER_KEYS)) names.push(name);
      return names;
    },
    read: async (name) => {
      const entry = await kv.get(name);
      if (entry === null || entry.operation !== 'PUT') return undefined;
      return { sealed: entry.string(), revision: entry.revision };
    },
    replace: async (name, sealed, revision) => {
      try {
        await kv.update(name, sealed, revision);
        return true;
      } catch (error) {
        if (isConflict(error)) return false;
        throw error;
      }
    },
  };
};

import { existsSync, rmSync } from 'node:fs';
import { SECRET_KEYS_BUCKET, SECRETS_BUCKET } from '@fairlead/contracts';
import { readIfAny, writeDurably } from '@fairlead/embedded';
import { Kvm, type KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import * as z from 'zod';
import { CliFailure } from '../failures.js';

/** The keys of owners in the bucket, each sealed with a master key. */
export interface OwnerKeys {
  names(): Promise<readonly string[]>;
  /** undefined: the key was destroyed. */
  read(name: string): Promise<{ readonly sealed: string; readonly revision: number } | undefined>;
  /** False if it was changed or destroyed since that revision. */
  replace(name: string, sealed: string, revision: number): Promise<boolean>;
}

const OWNER_KEYS = '*.key.>';
/** JetStream's error codes for a write that is refused because the subject has a newer message. */
const WRONG_LAST_SEQUENCE: readonly unknown[] = [10_071, 10_164];

const isConflict = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && WRONG_LAST_SEQUENCE.includes(error.code);

/** The sealed secrets themselves. */
export interface SealedSecrets {
  names(): Promise<readonly string[]>;
  /** undefined: it was deleted. */
  read(name: string): Promise<{ readonly text: string; readonly revision: number } | undefined>;
  /** False if it was changed or deleted since that revision. */
  replace(name: string, text: string, revision: number): Promise<boolean>;
}

/** The format of `fairlead keys export`. */
const ExportedKeys = z.strictObject({
  format: z.literal('fairlead-owner-keys.v1'),
  keys: z.record(z.string().regex(/^[\w-]+\.key\.[\w.-]+$/), z.string().min(1)),
});

const bucketOf = (nc: NatsConnection, name: string): Promise<KV> => new Kvm(nc).open(name);

const namesIn = async (bucket: KV, filter: string): Promise<string[]> => {
  const names: string[] = [];
  for await (const name of await bucket.keys(filter)) names.push(name);
  return names;
};

const valueOf = async (bucket: KV, name: string): Promise<string | undefined> => {
  const entry = await bucket.get(name);
  return entry === null || entry.operation !== 'PUT' ? undefined : entry.string();
};

/**
 * The keys of owners in NATS; requires the administrator's credential. Throws if an earlier release still stores them
 * among the secrets.
 */
export const natsOwnerKeys = async (nc: NatsConnection): Promise<OwnerKeys> => {
  if ((await namesIn(await bucketOf(nc, SECRETS_BUCKET), OWNER_KEYS)).length > 0) throw fromEarlierRelease();
  const { names, read, replace } = entriesOf(await bucketOf(nc, SECRET_KEYS_BUCKET), OWNER_KEYS);
  return {
    names,
    read: async (name) => {
      const entry = await read(name);
      return entry && { sealed: entry.text, revision: entry.revision };
    },
    replace,
  };
};

/** The sealed secrets in NATS; requires the administrator's credential. */
export const natsSealedSecrets = async (nc: NatsConnection): Promise<SealedSecrets> =>
  entriesOf(await bucketOf(nc, SECRETS_BUCKET), '>');

const entriesOf = (kv: KV, filter: string): SealedSecrets => ({
  names: () => namesIn(kv, filter),
  read: async (name) => {
    const entry = await kv.get(name);
    return entry === null || entry.operation !== 'PUT' ? undefined : { text: entry.string(), revision: entry.revision };
  },
  replace: async (name, text, revision) => {
    try {
      await kv.update(name, text, revision);
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  },
});

/** Atomically writes the sealed keys of all owners to a file with mode 0600. Returns their number. */
export const exportOwnerKeys = async (nc: NatsConnection, file: string): Promise<number> => {
  const owners = await natsOwnerKeys(nc);
  const keys: Record<string, string> = {};
  for (const name of await owners.names()) {
    const entry = await owners.read(name);
    if (entry !== undefined) keys[name] = entry.sealed;
  }
  writeDurably(file, `${JSON.stringify({ format: 'fairlead-owner-keys.v1', keys }, undefined, 2)}\n`);
  return Object.keys(keys).length;
};

/**
 * Before services start: copies keys of owners to their bucket, from `exported` if a backup was restored, and from the
 * secrets if an earlier release stored them there. Existing and destroyed keys are unchanged. Throws if there are
 * secrets but no keys.
 */
export const provideOwnerKeys = async (nc: NatsConnection, exported: string): Promise<void> => {
  const kv = await bucketOf(nc, SECRET_KEYS_BUCKET);
  const secrets = await bucketOf(nc, SECRETS_BUCKET);
  for (const name of await namesIn(secrets, OWNER_KEYS)) {
    const sealed = await valueOf(secrets, name);
    if (sealed !== undefined) await createUnlessKnown(kv, name, sealed);
    await secrets.purge(name);
  }
  if (existsSync(exported)) {
    for (const [name, sealed] of Object.entries(readExported(exported))) await createUnlessKnown(kv, name, sealed);
    rmSync(exported);
  }
  const isNew = (await kv.status()).streamInfo.state.last_seq === 0;
  if (isNew && (await namesIn(secrets, '>')).length > 0) throw withoutOwnerKeys(exported);
};

/** A destroyed key is not created again. */
const createUnlessKnown = async (kv: KV, name: string, sealed: string): Promise<void> => {
  if ((await kv.get(name)) !== null) return;
  await kv.create(name, sealed);
};

const readExported = (file: string): Readonly<Record<string, string>> => {
  try {
    return ExportedKeys.parse(JSON.parse(readIfAny(file) ?? '')).keys;
  } catch (error) {
    throw new CliFailure('failed', {
      code: 'cli.owner-keys-invalid',
      message: `${file} does not hold exported keys of secrets`,
      help: 'Replace it with the file that "fairlead keys export" wrote.',
      cause: error,
    });
  }
};

const fromEarlierRelease = (): CliFailure =>
  new CliFailure('conflict', {
    code: 'cli.owner-keys-of-earlier-release',
    message: 'NATS still has the keys of secrets where an earlier release keeps them',
    help: 'Restart Fairlead with this release (by hand: "fairlead provision stores" and then the services), and run this again.',
  });

const withoutOwnerKeys = (file: string): CliFailure =>
  new CliFailure('not-found', {
    code: 'cli.owner-keys-missing',
    message: 'NATS has sealed secrets, and none of the keys that open them',
    help: `Put the file that "fairlead keys export" wrote at ${file}, and start again.`,
  });

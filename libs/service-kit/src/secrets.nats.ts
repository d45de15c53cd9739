import {
  SECRET_KEYS_BUCKET,
  SECRETS_BUCKET,
  ExternalFailure,
  wordsOf,
  type RefusalCode,
  type SecretRef,
} from '@fairlead/contracts';
import {
  KEY_CACHED_MS,
  masterKeyOf,
  openOwnerKey,
  openWithRing,
  ringOf,
  sealOwnerKey,
  sealWithRing,
  type OwnerRing,
} from '@fairlead/embedded/credentials';
import { Kvm, type KV, type KvEntry } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { MasterKeySource } from './master.key.file.js';
import { missingRight } from './nats.rights.js';
import type { SecretStore } from './secrets.js';

const KEY_BYTES = 32;
const KEYS_CACHED_MAX = 2_000;

/**
 * A lagging replica of the bucket may lack what was just written, and each read may go to a different replica: a
 * missing value is read again after these delays.
 */
const LOOK_AGAIN_MS = [2, 8, 32, 128] as const;

interface SealedSecret {
  readonly owner: string;
  readonly value: string;
}

const unchanging = (key: Uint8Array): MasterKeySource => {
  const keys = { current: masterKeyOf(key) };
  return { known: () => keys, fresh: () => keys };
};

/** A value that fails authentication: every retry fails too, until an administrator acts. */
const opened = <Value>(name: string, open: () => Value): Value => {
  try {
    return open();
  } catch (error) {
    const reason: RefusalCode = 'system.secret-unreadable';
    throw new ExternalFailure({
      operation: 'open the secret',
      target: name,
      message: wordsOf(error),
      reason,
      cause: error,
    });
  }
};

/** Adds the operation to a permission violation; while NATS is unreachable, the client's own error is rethrown. */
const said = async <Answer>(operation: string, target: string, work: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await work();
  } catch (error) {
    const violation = missingRight(error);
    if (violation === undefined) throw error;
    const reason: RefusalCode = 'system.permission-missing';
    throw new ExternalFailure({ operation, target, message: violation.message, reason, cause: error });
  }
};

/** A deleted value leaves a marker, so it is not read again. */
const entryOf = async (bucket: KV, name: string): Promise<KvEntry | null> => {
  for (const wait of LOOK_AGAIN_MS) {
    const entry = await bucket.get(name);
    if (entry !== null) return entry;
    await sleep(wait);
  }
  return bucket.get(name);
};

/**
 * Secrets in a NATS key-value bucket, sealed with AES-256-GCM under a key per owner, which is itself sealed under the
 * master key. The owners' keys are in a separate bucket: destroying one makes its owner's secrets unreadable in the
 * bucket and in every backup of it, unless an older copy of the keys exists.
 */
export class NatsSecrets implements SecretStore {
  private readonly buckets = new Map<string, Promise<KV>>();
  private readonly keys = new LRUCache<string, OwnerRing>({
    max: KEYS_CACHED_MAX,
    ttl: KEY_CACHED_MS,
    ttlAutopurge: true,
  });

  private readonly masterKeys: MasterKeySource;

  /** `masterKey`: its source, or one that never changes. */
  constructor(
    private readonly nc: NatsConnection,
    private readonly service: string,
    masterKey: MasterKeySource | Uint8Array,
  ) {
    this.masterKeys = masterKey instanceof Uint8Array ? unchanging(masterKey) : masterKey;
  }

  put(ref: SecretRef, value: string, owner: string): Promise<void> {
    return said('write the secret', ref, () => this.write(ref, value, owner));
  }

  get(ref: SecretRef): Promise<string | undefined> {
    return said('read the secret', ref, () => this.read(ref));
  }

  delete(ref: SecretRef): Promise<void> {
    return said('delete the secret', ref, async () => (await this.secretsBucket()).purge(ref));
  }

  destroyKey(owner: string): Promise<void> {
    const name = this.keyName(this.service, owner);
    this.keys.delete(name);
    return said('destroy the key', name, async () => (await this.keysBucket()).purge(name));
  }

  private async write(ref: SecretRef, value: string, owner: string): Promise<void> {
    const key = await this.ownersKey(this.service, owner, 'create');
    if (key === undefined) throw new Error(`the key of ${owner} cannot be made`);
    const sealed: SealedSecret = { owner, value: sealWithRing(key, Buffer.from(value), ref) };
    await (await this.secretsBucket()).put(ref, JSON.stringify(sealed));
  }

  private async read(ref: SecretRef): Promise<string | undefined> {
    const entry = await entryOf(await this.secretsBucket(), ref);
    if (entry === null || entry.operation !== 'PUT') return undefined;
    const sealed = entry.json<SealedSecret>();
    const service = ref.split('.')[0] ?? '';
    const key = await this.ownersKey(service, sealed.owner, 'read');
    if (key === undefined) return undefined;
    try {
      return openWithRing(key, sealed.value, ref).toString('utf8');
    } catch {
      // Its key may have been replaced since it was cached.
      this.keys.delete(this.keyName(service, sealed.owner));
      const fresh = await this.ownersKey(service, sealed.owner, 'read');
      return fresh && opened(ref, () => openWithRing(fresh, sealed.value, ref)).toString('utf8');
    }
  }

  private keyName(service: string, owner: string): string {
    return `${service}.key.${owner}`;
  }

  private async ownersKey(service: string, owner: string, mode: 'read' | 'create'): Promise<OwnerRing | undefined> {
    const name = this.keyName(service, owner);
    const cached = this.keys.get(name);
    if (cached !== undefined) return cached;
    if (mode === 'read') return this.readKey(name);
    const found = await this.readKey(name, 'at once');
    if (found !== undefined) return found;
    const made = randomBytes(KEY_BYTES);
    try {
      // Read again: a rotation destroys the former master key as soon as nothing is sealed with it.
      await (await this.keysBucket()).create(name, sealOwnerKey(this.masterKeys.fresh(), made, name));
    } catch (error) {
      const others = await this.readKey(name); // Two replicas created one at the same time; the first one wins.
      if (others === undefined) throw error;
      return others;
    }
    const ring = ringOf(made);
    this.keys.set(name, ring);
    return ring;
  }

  /** `at once`: a missing key is not read again but created, which NATS rejects if it exists. */
  private async readKey(name: string, mode?: 'at once'): Promise<OwnerRing | undefined> {
    const bucket = await this.keysBucket();
    const entry = mode === 'at once' ? await bucket.get(name) : await entryOf(bucket, name);
    if (entry === null || entry.operation !== 'PUT') return undefined;
    const sealed = entry.string();
    const ring = opened(name, () => {
      const found =
        openOwnerKey(this.masterKeys.known(), sealed, name) ?? openOwnerKey(this.masterKeys.fresh(), sealed, name);
      if (found === undefined)
        throw new Error(`the secret ${name} does not open: it was sealed with another master key, or it was changed`);
      return ringOf(found.key);
    });
    this.keys.set(name, ring);
    return ring;
  }

  private secretsBucket(): Promise<KV> {
    return this.bucket(SECRETS_BUCKET);
  }

  private keysBucket(): Promise<KV> {
    return this.bucket(SECRET_KEYS_BUCKET);
  }

  private bucket(name: string): Promise<KV> {
    const open = this.buckets.get(name);
    if (open !== undefined) return open;
    // Direct reads have the key in their subject, so that permissions can be granted by name.
    const opening = new Kvm(this.nc).open(name, { allow_direct: true }).catch((error: unknown) => {
      this.buckets.delete(name);
      throw error;
    });
    this.buckets.set(name, opening);
    return opening;
  }
}

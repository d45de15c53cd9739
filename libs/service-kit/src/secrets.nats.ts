import { SECRETS_BUCKET, type SecretRef } from '@fairlead/contracts';
import { Kvm, type KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SecretStore } from './secrets.js';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** A destroyed key is forgotten by every process within this time. */
const KEY_CACHED_MS = 30_000;
const KEYS_CACHED_MAX = 2_000;

/** iv, tag and ciphertext in one, base64. `context` is authenticated with it, so that a value cannot be moved to another name. */
export const seal = (key: Uint8Array, plain: Uint8Array, context: string): string => {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64');
};

/** Throws when the key is another one, or the value or its context was changed. */
export const open = (key: Uint8Array, sealed: string, context: string): Buffer => {
  const bytes = Buffer.from(sealed, 'base64');
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES)).setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
  } catch (error) {
    throw new Error(`the secret ${context} does not open: it was sealed with another master key, or it was changed`, {
      cause: error,
    });
  }
};

interface SealedSecret {
  readonly owner: string;
  readonly value: string;
}

/**
 * Secrets in a NATS key-value bucket, sealed with AES-256-GCM under a key per owner, which is itself sealed under the
 * master key. Destroying an owner's key makes its secrets unreadable in every backup of the bucket, too.
 */
export class NatsSecrets implements SecretStore {
  private bucket: Promise<KV> | undefined;
  private readonly keys = new LRUCache<string, Uint8Array>({ max: KEYS_CACHED_MAX, ttl: KEY_CACHED_MS });

  constructor(
    private readonly nc: NatsConnection,
    private readonly service: string,
    private readonly masterKey: Uint8Array,
  ) {}

  async put(ref: SecretRef, value: string, owner: string): Promise<void> {
    const key = await this.ownersKey(this.service, owner, 'create');
    if (key === undefined) throw new Error(`the key of ${owner} cannot be made`);
    const sealed: SealedSecret = { owner, value: seal(key, Buffer.from(value), ref) };
    await (await this.kv()).put(ref, JSON.stringify(sealed));
  }

  async get(ref: SecretRef): Promise<string | undefined> {
    const entry = await (await this.kv()).get(ref);
    if (entry === null || entry.operation !== 'PUT') return undefined;
    const sealed = entry.json<SealedSecret>();
    const key = await this.ownersKey(ref.split('.')[0] ?? '', sealed.owner, 'read');
    return key === undefined ? undefined : open(key, sealed.value, ref).toString('utf8');
  }

  async delete(ref: SecretRef): Promise<void> {
    await (await this.kv()).purge(ref);
  }

  async destroyKey(owner: string): Promise<void> {
    const name = this.keyName(this.service, owner);
    this.keys.delete(name);
    await (await this.kv()).purge(name);
  }

  private keyName(service: string, owner: string): string {
    return `${service}.key.${owner}`;
  }

  private async ownersKey(service: string, owner: string, mode: 'read' | 'create'): Promise<Uint8Array | undefined> {
    const name = this.keyName(service, owner);
    const cached = this.keys.get(name);
    if (cached !== undefined) return cached;
    const found = await this.readKey(name);
    if (found !== undefined || mode === 'read') return found;
    const made = randomBytes(KEY_BYTES);
    try {
      await (await this.kv()).create(name, seal(this.masterKey, made, name));
    } catch (error) {
      const others = await this.readKey(name); // Two replicas made one at the same time; the first one counts.
      if (others === undefined) throw error;
      return others;
    }
    this.keys.set(name, made);
    return made;
  }

  private async readKey(name: string): Promise<Uint8Array | undefined> {
    const entry = await (await this.kv()).get(name);
    if (entry === null || entry.operation !== 'PUT') return undefined;
    const key = open(this.masterKey, entry.string(), name);
    this.keys.set(name, key);
    return key;
  }

  private kv(): Promise<KV> {
    this.bucket ??= new Kvm(this.nc).open(SECRETS_BUCKET).catch((error: unknown) => {
      this.bucket = undefined;
      throw error;
    });
    return this.bucket;
  }
}

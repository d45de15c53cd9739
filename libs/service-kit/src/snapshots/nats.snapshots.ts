import { SNAPSHOTS_BUCKET, ExternalFailure } from '@fairlead/contracts';
import { Objm, type ObjectStore } from '@nats-io/obj';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  randomBytes,
  type CipherGCM,
  type DecipherGCM,
} from 'node:crypto';
import type { SecretStore } from '../secrets.js';
import { snapshotKeyRef, type KeptSnapshot, type SnapshotStore, type SnapshotWriter } from './snapshots.ports.js';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Snapshots in a NATS object store, each sealed with AES-256-GCM under its own key while streaming. The key is a secret
 * of its cluster: destroying the cluster's secrets makes its snapshots unreadable.
 */
export class NatsSnapshots implements SnapshotStore {
  private bucket: Promise<ObjectStore> | undefined;

  constructor(
    private readonly nc: NatsConnection,
    private readonly secrets: SecretStore,
  ) {}

  async open(name: string, owner: string): Promise<SnapshotWriter> {
    const key = randomBytes(KEY_BYTES);
    await this.secrets.put(snapshotKeyRef(name), key.toString('base64'), owner);
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const store = await this.objects();
    const stored = store.put({ name }, readable as Parameters<ObjectStore['put']>[1]);
    const writer = new SealingWriter(name, key, writable.getWriter(), stored);
    await writer.begin();
    return writer;
  }

  /** Any service with the right may read: bootstrap-svc copies snapshots to the nodes on which etcd is restored. */
  async read(name: string, take: (chunk: Buffer) => Promise<void>): Promise<KeptSnapshot> {
    const failure = (message: string, cause?: unknown): ExternalFailure =>
      new ExternalFailure({ operation: 'read a snapshot of etcd', target: name, message, retryable: false, cause });
    const key = await this.secrets.get(snapshotKeyRef(name));
    if (key === undefined) throw failure('its key is not among the secrets any more');
    const found = await (await this.objects()).get(name);
    if (found === null) throw failure('it is not in the store of snapshots');
    const opener = new Opener(Buffer.from(key, 'base64'), name, take);
    try {
      for await (const chunk of found.data) await opener.update(Buffer.from(chunk));
      const error = await found.error;
      if (error instanceof Error) throw error;
      return opener.end();
    } catch (error) {
      throw failure('it does not open: it was changed or cut off', error);
    }
  }

  async delete(name: string): Promise<void> {
    const store = await this.objects();
    if ((await store.info(name)) !== null) await store.delete(name);
    await this.secrets.delete(snapshotKeyRef(name));
  }

  private objects(): Promise<ObjectStore> {
    this.bucket ??= new Objm(this.nc).open(SNAPSHOTS_BUCKET).catch((error: unknown) => {
      this.bucket = undefined;
      throw error;
    });
    return this.bucket;
  }
}

/** iv, ciphertext, tag. The name is authenticated too, so that one snapshot cannot be substituted for another. */
class SealingWriter implements SnapshotWriter {
  private readonly iv = randomBytes(IV_BYTES);
  private readonly cipher: CipherGCM;
  private readonly hash = createHash('sha256');
  private bytes = 0;
  private failed: unknown;

  constructor(
    private readonly name: string,
    key: Buffer,
    private readonly out: WritableStreamDefaultWriter<Uint8Array>,
    private readonly stored: Promise<unknown>,
  ) {
    this.cipher = createCipheriv(ALGORITHM, key, this.iv).setAAD(Buffer.from(name));
    stored.catch((error: unknown) => {
      this.failed = error;
      // A writer that waits for space in the stream must not wait forever.
      void this.out.abort(error).catch(() => undefined);
    });
  }

  begin(): Promise<void> {
    return this.out.write(this.iv);
  }

  async write(chunk: Buffer): Promise<void> {
    this.hash.update(chunk);
    this.bytes += chunk.length;
    await this.guarded(() => this.out.write(this.cipher.update(chunk)));
  }

  async seal(): Promise<KeptSnapshot> {
    await this.guarded(async () => {
      await this.out.write(Buffer.concat([this.cipher.final(), this.cipher.getAuthTag()]));
      await this.out.close();
      await this.stored;
    });
    return { sha256: this.hash.digest('hex'), bytes: this.bytes };
  }

  async discard(): Promise<void> {
    await this.out.abort(new Error('discarded')).catch(() => undefined);
    await this.stored.catch(() => undefined);
  }

  private async guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const cause = this.failed ?? error;
      const message = cause instanceof Error ? cause.message : String(cause);
      throw new ExternalFailure({ operation: 'keep a snapshot of etcd', target: this.name, message, cause });
    }
  }
}

class Opener {
  private decipher: DecipherGCM | undefined;
  private readonly hash = createHash('sha256');
  private bytes = 0;
  private waiting = Buffer.alloc(0);

  constructor(
    private readonly key: Buffer,
    private readonly name: string,
    private readonly take: (chunk: Buffer) => Promise<void>,
  ) {}

  async update(chunk: Buffer): Promise<void> {
    let all = Buffer.concat([this.waiting, chunk]);
    if (this.decipher === undefined) {
      if (all.length < IV_BYTES) {
        this.waiting = all;
        return;
      }
      this.decipher = createDecipheriv(ALGORITHM, this.key, all.subarray(0, IV_BYTES)).setAAD(Buffer.from(this.name));
      all = all.subarray(IV_BYTES);
    }
    // The last bytes may be the tag.
    const cut = Math.max(0, all.length - TAG_BYTES);
    this.waiting = all.subarray(cut);
    const plain = this.decipher.update(all.subarray(0, cut));
    this.hash.update(plain);
    this.bytes += plain.length;
    if (plain.length > 0) await this.take(plain);
  }

  end(): KeptSnapshot {
    if (this.decipher === undefined) throw new Error('it is too short');
    this.decipher.setAuthTag(this.waiting).final();
    return { sha256: this.hash.digest('hex'), bytes: this.bytes };
  }
}

import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams } from '@fairlead/event-sourcing/jetstream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NatsSecrets } from '../secrets.nats.js';
import type { NatsConnection } from '@nats-io/transport-node';
import { Objm } from '@nats-io/obj';
import { createHash, randomBytes } from 'node:crypto';
import { NatsSnapshots } from './nats.snapshots.js';

const UID = '11111111-1111-4111-8111-111111111111';
const PIECE = 50_000;

describe('Snapshots of etcd in NATS, with the rights of upgrade-svc', () => {
  let environment: TestEnvironment;
  let admin: NatsConnection;
  let secrets: NatsSecrets;
  let snapshots: NatsSnapshots;
  const bytes = randomBytes(1_234_567);
  const sha256 = createHash('sha256').update(bytes).digest('hex');

  const keep = async (name: string): Promise<unknown> => {
    const writer = await snapshots.open(name, UID);
    for (let at = 0; at < bytes.length; at += PIECE) await writer.write(bytes.subarray(at, at + PIECE));
    return writer.seal();
  };
  const readBack = async (name: string): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    await snapshots.read(name, async (chunk) => void chunks.push(chunk));
    return Buffer.concat(chunks);
  };

  beforeAll(async () => {
    environment = await testEnvironment();
    admin = await environment.connect('admin');
    await ensureStreams(admin);
    const nc = await environment.connect('upgrade-svc');
    secrets = new NatsSecrets(nc, 'upgrade-svc', randomBytes(32));
    snapshots = new NatsSnapshots(nc, secrets);
  }, 60_000);
  afterAll(() => environment.stop());

  it('are returned byte by byte', async () => {
    expect(await keep('demo-1')).toEqual({ sha256, bytes: bytes.length });
    expect((await readBack('demo-1')).equals(bytes)).toBe(true);
  });

  it('are replaced by another one of the same name, and deleted', async () => {
    await keep('demo-1');
    expect((await readBack('demo-1')).equals(bytes)).toBe(true);
    await snapshots.delete('demo-1');
    await snapshots.delete('demo-1');
    await expect(readBack('demo-1')).rejects.toMatchObject({ message: 'its key is not among the secrets any more' });
  });

  it('leave nothing behind if they are aborted', async () => {
    const writer = await snapshots.open('demo-2', UID);
    await writer.write(bytes);
    await writer.discard();
    const store = await new Objm(admin).open('SNAPSHOTS');
    expect(await store.info('demo-2')).toBeNull();
  });

  it('are encrypted, and one cannot be substituted for another', async () => {
    await keep('demo-3');
    const store = await new Objm(admin).open('SNAPSHOTS');
    const sealed = Buffer.from((await store.getBlob('demo-3'))!);
    expect(sealed.includes(bytes.subarray(0, 64))).toBe(false);
    await keep('demo-4');
    await store.putBlob({ name: 'demo-4' }, sealed);
    await expect(readBack('demo-4')).rejects.toMatchObject({ message: expect.stringContaining('does not open') });
  });

  it('are unreadable after the secrets of their cluster were destroyed', async () => {
    await keep('demo-5');
    await secrets.destroyKey(UID);
    await expect(readBack('demo-5')).rejects.toMatchObject({ operation: 'read a snapshot of etcd', retryable: false });
  });
});

import { storedSubject, type ClusterUid, type NodeName, type StreamId } from '@fairlead/contracts';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import type { RawEvent } from './direct.reader.js';
import { encode } from './envelope.codec.js';
import { makeTail } from './tail.js';

const FILTER = 'evt.*.default.demo.>';
const STREAM: StreamId = { namespace: 'default', cluster: 'demo', context: 'bootstrap' };
const HOUR_MS = 3_600_000;
const [END_OF_BATCH, NOT_FOUND] = [204, 404];

const messageOf = (seq: number): RawEvent => {
  const data = { uid: '01980000-0000-7000-8000-000000000001' as ClusterUid, node: `w-${seq}` as NodeName };
  const cause = { correlationId: 'c-1', causationId: 'c-1', actor: 'system/bootstrap-svc' };
  const stamp = { id: `e-${seq}`, time: '2026-01-01T00:00:00.000Z', source: '/bootstrap-svc', cause };
  const after = { seq: seq - 1, streamVersion: seq - 1, hash: '0'.repeat(64) };
  const { subject, bytes } = encode(STREAM, after, { type: 'WorkerJoined', data }, stamp);
  return { subject, seq, bytes };
};

type Callback = (error: null, message: Msg) => void;

/** A log read by direct gets, possibly from a lagging replica, and its pushes. */
class World {
  reads = 0;
  readonly taken: number[] = [];
  /** Called by the service when a push was lost. */
  unpushed: () => void = () => undefined;
  private readonly stored: RawEvent[] = [];
  private readonly callbacks = new Map<string, Callback>();
  private readable = 0;
  private readonly stop = new AbortController();
  private readonly following: Promise<void>;

  constructor() {
    const nc = {
      subscribe: (subject: string, { callback }: { callback: Callback }) => {
        this.callbacks.set(subject, callback);
        return { unsubscribe: () => this.callbacks.delete(subject) };
      },
      publish: (_subject: string, payload: string, { reply }: { reply: string }) => this.answer(payload, reply),
    } as unknown as NatsConnection;
    const tail = makeTail(nc, (listener) => {
      this.unpushed = listener;
      return () => (this.unpushed = () => undefined);
    });
    this.following = (async () => {
      for await (const { meta } of tail(FILTER, 0, this.stop.signal)) this.taken.push(meta.seq);
    })();
  }

  store({ isPushed, isReadable }: { readonly isPushed: boolean; readonly isReadable: boolean }): void {
    const message = messageOf(this.stored.length + 1);
    this.stored.push(message);
    if (isReadable) this.catchUp();
    if (isPushed) this.deliver(storedSubject(FILTER), message);
  }

  catchUp(): void {
    this.readable = this.stored.length;
  }

  /** Number of reads while that time passes. */
  async pass(ms: number): Promise<number> {
    const before = this.reads;
    await jest.advanceTimersByTimeAsync(ms);
    return this.reads - before;
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.following;
  }

  get subscriptions(): readonly string[] {
    return [...this.callbacks.keys()].filter((subject) => subject.startsWith('stored.'));
  }

  private answer(payload: string, reply: string): void {
    this.reads += 1;
    const { seq: from } = JSON.parse(payload) as { seq: number };
    const found = this.stored.filter(({ seq }) => seq >= from && seq <= this.readable);
    const inbox = `${reply.slice(0, reply.lastIndexOf('.'))}.*`;
    // Not by queueMicrotask, which waits for the next fake time.
    void Promise.resolve().then(() => {
      for (const message of found) this.deliver(inbox, message, reply);
      const head = headers(found.length > 0 ? END_OF_BATCH : NOT_FOUND, 'end');
      this.callbacks.get(inbox)?.(null, { subject: reply, headers: head, data: new Uint8Array() } as Msg);
    });
  }

  private deliver(to: string, { subject, seq, bytes }: RawEvent, as = storedSubject(subject)): void {
    const head = headers();
    head.set('Nats-Subject', subject);
    head.set('Nats-Sequence', String(seq));
    this.callbacks.get(to)?.(null, { subject: as, headers: head, data: bytes } as Msg);
  }
}

describe('a follower of the log', () => {
  let world: World;
  beforeEach(async () => {
    jest.useFakeTimers({ now: Date.UTC(2026, 0, 1, 0, 0, 1) });
    world = new World();
    await world.pass(0);
    await world.pass(10_000);
  });
  afterEach(async () => {
    await world.end();
    expect(world.subscriptions).toEqual([]);
    jest.useRealTimers();
  });

  it('reads nothing while nothing happens', async () => {
    expect(await world.pass(HOUR_MS)).toBe(0);
  });

  it('receives pushed events immediately, and then is quiet again', async () => {
    world.store({ isPushed: true, isReadable: true });
    world.store({ isPushed: true, isReadable: true });
    await world.pass(5);
    expect(world.taken).toEqual([1, 2]);
    await world.pass(10_000);
    expect(await world.pass(HOUR_MS)).toBe(0);
  });

  it('reads what was not pushed when the service reports something new', async () => {
    world.store({ isPushed: false, isReadable: true });
    await world.pass(HOUR_MS);
    expect(world.taken).toEqual([]);
    world.unpushed();
    await world.pass(5);
    expect(world.taken).toEqual([1]);
  });

  it('reads what was pushed even if the replica of the stream lags for hours', async () => {
    world.store({ isPushed: true, isReadable: true });
    world.store({ isPushed: true, isReadable: false });
    await world.pass(HOUR_MS);
    expect(world.taken).toEqual([1]);
    world.catchUp();
    await world.pass(5_000);
    expect(world.taken).toEqual([1, 2]);
  });

  it('reads once more after five seconds for what was not pushed and not readable yet', async () => {
    world.store({ isPushed: false, isReadable: false });
    world.unpushed();
    await world.pass(1_000);
    world.catchUp();
    await world.pass(5_000);
    expect(world.taken).toEqual([1]);
  });
});

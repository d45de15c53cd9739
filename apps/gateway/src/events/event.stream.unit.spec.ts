import type { StoredEvent } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { RequestBounds } from '../config.js';
import type { HttpResponse } from '../http/http.types.js';
import { TokenSlots } from '../limits/token.slots.js';
import { accepted } from '../story.fixtures.js';
import { EventStreams, type StreamRequest } from './event.stream.js';
import { eventView } from './events.view.js';

/** A reader whose buffer is full after `room` frames, until it is drained. */
class Reader extends EventEmitter {
  readonly frames: string[] = [];
  ended = false;

  constructor(private room: number) {
    super();
  }

  writeHead(): void {}

  write(text: string): boolean {
    this.frames.push(text);
    this.room -= 1;
    return this.room > 0;
  }

  end(): void {
    this.ended = true;
  }

  drain(room: number): void {
    this.room = room;
    this.emit('drain');
  }
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
};

const slots = new TokenSlots({ limits: { tokenStreams: 1_000 } as RequestBounds });

const endlessLog = () => {
  const pulled = { count: 0, closed: false };
  async function* tail(_filter: string, after: number): AsyncGenerator<StoredEvent> {
    try {
      for (let seq = after + 1; ; seq += 1) {
        pulled.count += 1;
        yield stored(accepted, seq);
      }
    } finally {
      pulled.closed = true;
    }
  }
  return { pulled, streams: new EventStreams(tail, slots) };
};

/** As the caller's signal: aborts when the reader has gone. */
const gone = (reader: Reader): AbortSignal => {
  const ended = new AbortController();
  reader.once('close', () => ended.abort());
  return ended.signal;
};

const serve = (
  streams: EventStreams,
  reader: Reader,
  goesOn: StreamRequest['goesOn'] = () => Promise.resolve(true),
): Promise<void> =>
  streams.serve(
    { tokenId: 't', filter: 'evt.>', afterSeq: 7, types: undefined, view: eventView, goesOn, signal: gone(reader) },
    reader as unknown as HttpResponse,
  );

describe('a stream of events', () => {
  it('ends before the first event that its reader may not see', async () => {
    const { pulled, streams } = endlessLog();
    const reader = new Reader(10);
    await serve(streams, reader, (event) => Promise.resolve(event.meta.seq < 10));
    expect(reader.frames.filter((frame) => frame.startsWith('id: '))).toHaveLength(2);
    expect(pulled.closed).toBe(true);
  });

  it('takes from the log only what its reader takes', async () => {
    const { pulled, streams } = endlessLog();
    const reader = new Reader(4);
    const served = serve(streams, reader);
    await settle();
    // The greeting and three events fill the reader; nothing more is pulled, however long it takes.
    expect([reader.frames.length, pulled.count]).toEqual([4, 3]);
    expect(reader.frames[1]).toMatch(/^id: 8\nevent: ClusterAccepted\ndata: \{.*\}\n\n$/);
    reader.drain(2);
    await settle();
    expect(pulled.count).toBe(5);
    reader.emit('close');
    await served;
    expect([pulled.closed, reader.ended]).toEqual([true, true]);
  });

  it('ends in good order when the service stops', async () => {
    const { pulled, streams } = endlessLog();
    const reader = new Reader(2);
    const served = serve(streams, reader);
    await settle();
    streams.beforeApplicationShutdown();
    await served;
    expect([pulled.closed, reader.ended]).toEqual([true, true]);
  });

  it('is refused when there are too many, and is available again when one has ended', async () => {
    const { streams } = endlessLog();
    const readers = Array.from({ length: 500 }, () => new Reader(1));
    const served = readers.map((reader) => serve(streams, reader));
    await expect(serve(streams, new Reader(1))).rejects.toMatchObject({
      refusals: [{ code: 'system.too-many-streams' }],
    });
    readers[0]!.emit('close');
    await served[0];
    const another = new Reader(1);
    const again = serve(streams, another);
    for (const reader of [...readers, another]) reader.emit('close');
    await Promise.all([...served, again]);
  });
});

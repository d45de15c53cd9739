import { FIRST_PREVHASH, streamSubject, type Fact, type StoredEvent, type StreamId } from '@fairlead/contracts';
import { MemoryStore } from '@fairlead/event-sourcing/memory.store';

const EPOCH_MS = Date.parse('2026-01-01T00:00:00.000Z');

/** The event log in memory, with one event per millisecond. */
export class MemoryLog extends MemoryStore {
  constructor() {
    super((seq) => new Date(EPOCH_MS + seq).toISOString());
  }

  /** Appends a fact of another service. */
  async say(stream: StreamId, fact: Fact): Promise<StoredEvent> {
    const subject = streamSubject(stream);
    const before = await this.read(`${subject}.>`, 0);
    const last = before.at(-1);
    const position = {
      seq: last?.event.meta.seq ?? 0,
      streamVersion: before.length,
      hash: last?.hash ?? FIRST_PREVHASH,
    };
    const cause = { actor: 'user/spec', correlationId: 'spec', causationId: 'spec' };
    const appended = await this.append(stream, position, [fact], cause);
    if (appended.kind === 'conflict') throw new Error('a single writer cannot conflict');
    return this.events.at(-1)!;
  }
}

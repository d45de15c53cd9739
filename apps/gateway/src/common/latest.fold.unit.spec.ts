import type { StoredEvent } from '@fairlead/contracts';
import { NOTHING_REGISTERED, registered, type Registered } from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { LatestFold } from '@fairlead/event-sourcing/jetstream';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';

const namespaceCreated = (name: string, seq: number): StoredEvent =>
  stored({ type: 'NamespaceCreated', data: { name: name as never, description: '' } }, seq);

/** A log whose reads see what was in it when they began, and end on request. */
const slowLog = () => {
  const log: StoredEvent[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const store = {
    read: (_filter: string, afterSeq: number) => {
      const seen = log.filter(({ meta }) => meta.seq > afterSeq).map((event) => ({ event, hash: '' }));
      return new Promise((resolve, reject) =>
        ends.push((error) => (error === undefined ? resolve(seen) : reject(error))),
      );
    },
  } as unknown as EventStore;
  return { log, ends, store };
};

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
};

const foldOf = (store: EventStore): LatestFold<Registered> =>
  new LatestFold(store, {
    filters: ['evt.>'],
    initial: NOTHING_REGISTERED,
    evolve: registered,
  });

describe('a state that many ask for', () => {
  it('is read once for all that ask while a read is under way, and that read begins after they asked', async () => {
    const { log, ends, store } = slowLog();
    const fold = foldOf(store);
    const early = fold.latest();
    log.push(namespaceCreated('a', 1));
    const late = [fold.latest(), fold.latest(), fold.latest()];
    ends[0]!();
    expect([...(await early).namespaces.keys()]).toEqual([]);
    await settle();
    expect(ends).toHaveLength(2);
    ends[1]!();
    for (const state of await Promise.all(late)) expect([...state.namespaces.keys()]).toEqual(['a']);
  });

  it('is asked for again after a failed read', async () => {
    const { log, ends, store } = slowLog();
    const fold = foldOf(store);
    const first = fold.latest();
    const second = fold.latest();
    ends[0]!(new Error('the log is away'));
    await expect(first).rejects.toThrow('the log is away');
    log.push(namespaceCreated('a', 1));
    await settle();
    ends[1]!();
    await second;
    const third = fold.latest();
    ends[2]!();
    expect([...(await third).namespaces.keys()]).toEqual(['a']);
  });
});

import { isRefusal, type ClusterUid, type Fact, type NodeName } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Command, Decider } from './decider.js';
import { ATTEMPTS_MAX, makeHandle } from './handle.js';
import { MemoryStore } from './memory.store.js';
import { repeatable, type EventStore } from './store.js';

type Joined = Fact<'WorkerJoined'>;
type Join = Command<'Join', NodeName>;

const uid = '00000000-0000-4000-8000-000000000000' as ClusterUid;
const joins: Decider<ReadonlySet<string>, Join, Joined> = {
  initial: new Set(),
  decide: (joined, { data: node }) => (joined.has(node) ? [] : [{ type: 'WorkerJoined', data: { uid, node } }]),
  evolve: (joined, event) => (event.type === 'WorkerJoined' ? new Set([...joined, event.data.node]) : joined),
};

const stream = { namespace: 'default', cluster: 'demo', context: 'bootstrap' };
const cause = { actor: 'user/spec', correlationId: 'c', causationId: 'c' };
const join = (node: string): Join => ({ type: 'Join', data: node as NodeName });

/** A log that sometimes loses its answer after it has stored a message, like a network. */
const forgetful = (store: MemoryStore, loses: () => boolean): EventStore => ({
  read: (filter, afterSeq) => store.read(filter, afterSeq),
  entries: (filter, afterSeq) => store.entries(filter, afterSeq),
  append: async (...args) => {
    const answer = await store.append(...args);
    if (loses()) throw new Error('the answer was lost');
    return answer;
  },
});

describe('a decision', () => {
  it('is in the log once, whichever replicas make it, in whatever order, and however many answers are lost', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ replica: fc.nat(2), node: fc.nat(4), lost: fc.boolean() }), { maxLength: 40 }),
        async (asked) => {
          const store = new MemoryStore();
          let loses = false;
          const replicas = [0, 1, 2].map(() => makeHandle(forgetful(store, () => loses)));
          const inFlight = asked.map(async ({ replica, node, lost }) => {
            loses = lost;
            return replicas[replica]?.(joins, stream, join(`w${node}`), cause).catch(
              () => 'asked again by a redelivery',
            );
          });
          await Promise.all(inFlight);
          loses = false;
          for (const { replica, node } of asked) await replicas[replica]?.(joins, stream, join(`w${node}`), cause);
          const nodes = store.events.map((event) => (event.type === 'WorkerJoined' ? event.data.node : event.type));
          expect(nodes.slice().sort()).toEqual([...new Set(asked.map(({ node }) => `w${node}`))].sort());
          expect(store.events.map(({ meta }) => meta.streamVersion)).toEqual(
            store.events.map((_event, index) => index + 1),
          );
        },
      ),
      { numRuns: 200 },
    );
  });

  it('of a repeatable request is in the log once and always returned, even if its decider would repeat it', async () => {
    const always: typeof joins = {
      ...joins,
      decide: (_joined, { data: node }) => [{ type: 'WorkerJoined', data: { uid, node } }],
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ replica: fc.nat(2), request: fc.nat(5), lost: fc.boolean() }), { maxLength: 40 }),
        async (asked) => {
          const store = new MemoryStore();
          let loses = false;
          const replicas = [0, 1, 2].map(() => makeHandle(forgetful(store, () => loses)));
          const send = async ({ replica = 0, request = 0 }): Promise<string | undefined> => {
            const of = { ...cause, causationId: repeatable(`r${request}`) };
            const outcome = await replicas[replica]?.(always, stream, join(`w${request}`), of);
            return outcome === undefined || isRefusal(outcome)
              ? undefined
              : outcome.events.map(({ meta }) => meta.id).join();
          };
          await Promise.all(
            asked.map(async (one) => {
              loses = one.lost;
              return send(one).catch(() => 'asked again by its caller');
            }),
          );
          loses = false;
          for (const one of asked) {
            const recorded = store.events.filter(({ meta }) => meta.causationId === repeatable(`r${one.request}`));
            const answer = await send(one);
            if (recorded.length > 0) expect(answer).toBe(recorded.map(({ meta }) => meta.id).join());
          }
          const nodes = store.events.map((event) => (event.type === 'WorkerJoined' ? event.data.node : event.type));
          expect(nodes.slice().sort()).toEqual([...new Set(asked.map(({ request }) => `w${request}`))].sort());
        },
      ),
      { numRuns: 200 },
    );
  });

  it('is refused if other writers win the race every time', async () => {
    const store = new MemoryStore();
    let attempts = 0;
    const contested: EventStore = {
      read: (filter, afterSeq) => store.read(filter, afterSeq),
      entries: (filter, afterSeq) => store.entries(filter, afterSeq),
      append: () => {
        attempts += 1;
        return Promise.resolve({ kind: 'conflict' });
      },
    };
    const outcome = await makeHandle(contested)(joins, stream, join('w1'), cause);
    expect(isRefusal(outcome) && outcome.code).toBe('conflict.concurrent');
    expect(attempts).toBe(ATTEMPTS_MAX);
  });

  it('that loses a race reads new events of its own stream, and keeps cached states of other clusters', async () => {
    const store = new MemoryStore();
    let raced = false;
    const read: { filter: string; afterSeq: number }[] = [];
    const watched: EventStore = {
      read: (filter, afterSeq) => store.read(filter, afterSeq),
      entries: (filter, afterSeq) => {
        read.push({ filter, afterSeq });
        return store.entries(filter, afterSeq);
      },
      append: async (...args) => {
        if (!raced) return store.append(...args);
        raced = false;
        return { kind: 'conflict' };
      },
    };
    const handle = makeHandle(watched);
    const other = { ...stream, cluster: 'other' };
    // The second decision would write nothing, so it checks for newer events than those that the first one wrote.
    for (const node of ['w1', 'w1']) {
      await handle(joins, stream, join(node), cause);
      await handle(joins, other, join(node), cause);
    }
    const afterOf = (cluster: string) =>
      read.filter(({ filter }) => filter.includes(`.${cluster}.`)).map(({ afterSeq }) => afterSeq);
    raced = true;
    await handle(joins, stream, join('w2'), cause);
    await handle(joins, other, join('w2'), cause);
    expect(afterOf('demo')).toEqual([0, 1, 1]);
    expect(afterOf('other')).toEqual([0, 2]);
  });

  it('sees what other services wrote about the cluster if the decider reads the cluster', async () => {
    const store = new MemoryStore();
    const nosy: Decider<number, Join, Joined> = {
      initial: 0,
      reads: 'cluster',
      decide: (seen, { data: node }) => (seen === 0 ? [] : [{ type: 'WorkerJoined', data: { uid, node } }]),
      evolve: (seen) => seen + 1,
    };
    const handle = makeHandle(store);
    expect(await handle(nosy, stream, join('w1'), cause)).toMatchObject({ kind: 'decided', events: [] });
    await store.append(
      { ...stream, context: 'request' },
      { seq: 0, streamVersion: 0, hash: '' },
      [{ type: 'ClusterDeletionRequested', data: { uid } }],
      cause,
    );
    expect(await handle(nosy, stream, join('w1'), cause)).toMatchObject({
      events: [{ type: 'WorkerJoined', meta: { seq: 2, streamVersion: 1 } }],
    });
  });
});

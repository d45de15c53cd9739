import { randomUUID } from 'node:crypto';
import {
  FIRST_PREVHASH,
  namespaceStream,
  type ClusterUid,
  type Fact,
  type Namespace,
  type NodeName,
} from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { StreamPosition } from '../store.js';
import { JetStreamStore } from './jetstream.store.js';
import { ensureStreams } from './streams.js';

const EMPTY: StreamPosition = { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH };
const cause = { actor: 'user/spec', correlationId: 'c', causationId: 'c' };
const uid = randomUUID() as ClusterUid;
const namespace = 'default' as Namespace;

const facts: readonly Fact[] = [
  { type: 'ClusterPaused', data: { uid, reason: 'first' } },
  { type: 'ClusterResumed', data: { uid, reason: 'second' } },
];
const elsewhereFacts: readonly Fact[] = [{ type: 'NamespaceCreated', data: { name: namespace, description: '' } }];

let environment: TestEnvironment;
let store: JetStreamStore;
let storeOfNodes: JetStreamStore;

beforeAll(async () => {
  environment = await testEnvironment();
  await ensureStreams(await environment.connect('admin'));
  const storeOf = async (service: 'gateway' | 'upgrade-svc') => {
    const nc = await environment.connect(service);
    return new JetStreamStore({ nc, source: `/${service}`, now: () => new Date(), newId: randomUUID });
  };
  [store, storeOfNodes] = [await storeOf('gateway'), await storeOf('upgrade-svc')];
}, 60_000);

afterAll(async () => {
  await environment?.stop();
});

describe('an append that depends on another stream', () => {
  it('is recorded only if that stream is unchanged since it was read, completely or not at all', async () => {
    const other = namespaceStream(namespace);
    const streamOf = (cluster: string) => ({ namespace, cluster, context: 'request' });
    const appendTo = async (cluster: string, seq: number) => {
      const expected = { ...EMPTY, elsewhere: { stream: other, seq } };
      return (await store.append(streamOf(cluster), expected, facts, cause)).kind;
    };
    expect(await appendTo('one', 0)).toBe('appended');
    const moved = await store.append(other, EMPTY, elsewhereFacts, cause);
    if (moved.kind === 'conflict') throw new Error('nothing else was written there');
    expect(await appendTo('two', 0)).toBe('conflict');
    expect(await appendTo('two', moved.position.seq - 1)).toBe('conflict');
    expect(await store.entries('evt.*.default.two.>', 0)).toEqual([]);
    expect(await appendTo('two', moved.position.seq)).toBe('appended');
    expect(await store.entries('evt.*.default.two.>', 0)).toHaveLength(facts.length);
    // The expectation on its own stream still applies.
    expect(await appendTo('two', moved.position.seq)).toBe('conflict');
  });

  it('of a single fact is a bug of the decider', async () => {
    const expected = { ...EMPTY, elsewhere: { stream: namespaceStream(namespace), seq: 0 } };
    const append = store.append({ namespace, cluster: 'three', context: 'request' }, expected, facts.slice(1), cause);
    await expect(append).rejects.toThrow('at least two facts');
  });
});

describe('a read of the log', () => {
  const paused: Fact = { type: 'ClusterPaused', data: { uid, reason: 'a repair' } };
  const resumed: Fact = { type: 'ClusterResumed', data: { uid, reason: 'done' } };
  const lost = (node: string): Fact => ({
    type: 'NodeLost',
    data: { uid, node: node as NodeName, lastSeenAt: null, limitMs: 1 },
  });
  /** Appends facts one by one, each as a separate message; returns their sequences. */
  const write = async (cluster: string, context: string, written: readonly Fact[]) => {
    const seqs: number[] = [];
    let position = EMPTY;
    for (const fact of written) {
      const stream = { namespace, cluster, context };
      const appended =
        fact.type === 'NodeLost'
          ? await storeOfNodes.append(stream, position, [fact], { ...cause, actor: 'system/upgrade-svc' })
          : await store.append(stream, position, [fact], cause);
      if (appended.kind === 'conflict') throw new Error('nothing else writes there');
      position = appended.position;
      seqs.push(position.seq);
    }
    return seqs;
  };
  const seqsOf = async (filter: string, afterSeq: number) =>
    (await store.entries(filter, afterSeq)).map(({ seq }) => seq);

  it('finds everything in a stream, even if a later message has the subject of an earlier one', async () => {
    const few = await write('few', 'request', [paused, resumed]);
    expect(await seqsOf('evt.*.default.few.>', 0)).toEqual(few);
    const again = await write('again', 'request', [paused, resumed, paused]);
    expect(await seqsOf('evt.*.default.again.>', 0)).toEqual(again);
    expect(await seqsOf('evt.*.default.none.>', 0)).toEqual([]);
  });

  it('finds everything in several streams, however many subjects they have', async () => {
    const pair = await write('pair', 'request', [paused]);
    pair.push(...(await write('pair', 'health-w-1', [lost('w-1'), lost('w-1')])));
    expect(await seqsOf('evt.*.default.pair.>', 0)).toEqual(pair);
    const wide: number[] = [];
    for (let number = 1; number <= 33; number += 1)
      wide.push(...(await write('wide', `health-w-${number}`, [lost(`w-${number}`)])));
    expect(await seqsOf('evt.*.default.wide.>', 0)).toEqual(wide);
  });

  it('finds what follows a message, in a stream or in many clusters', async () => {
    const [first = 0, second = 0] = await write('after', 'request', [paused, resumed]);
    expect(await seqsOf('evt.*.default.after.>', first)).toEqual([second]);
    expect(await seqsOf('evt.*.default.*.request.ClusterResumed', first)).toEqual([second]);
    expect(await seqsOf('evt.*.default.after.>', second)).toEqual([]);
    expect(await seqsOf('evt.*.default.after.request.ClusterPaused', first)).toEqual([]);
    expect(await seqsOf('evt.*.default.none.>', first)).toEqual([]);
  });
});

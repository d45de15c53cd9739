import { randomUUID } from 'node:crypto';
import { FIRST_PREVHASH, namespaceStream, type ClusterUid, type Fact, type Namespace } from '@fairlead/contracts';
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

describe('an append that depends on another stream', () => {
  let environment: TestEnvironment;
  let store: JetStreamStore;

  beforeAll(async () => {
    environment = await testEnvironment();
    await ensureStreams(await environment.connect('admin'));
    const nc = await environment.connect('gateway');
    store = new JetStreamStore({ nc, source: '/gateway', now: () => new Date(), newId: randomUUID });
  }, 60_000);

  afterAll(async () => {
    await environment?.stop();
  });

  it('is recorded only if that stream is where it was read, whole or not at all', async () => {
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
    // Its own stream counts as ever.
    expect(await appendTo('two', moved.position.seq)).toBe('conflict');
  });

  it('of a single fact is a mistake of the decider', async () => {
    const expected = { ...EMPTY, elsewhere: { stream: namespaceStream(namespace), seq: 0 } };
    const append = store.append({ namespace, cluster: 'three', context: 'request' }, expected, facts.slice(1), cause);
    await expect(append).rejects.toThrow('at least two facts');
  });
});

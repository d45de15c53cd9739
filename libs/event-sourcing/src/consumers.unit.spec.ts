import type { ClusterUid, Fact, NodeName } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { advance, cancelTimer, taskReaction, timer, type Process } from './process.js';
import { project, type Projection } from './projection.js';
import { stored } from './spec.js';
import { lift } from './upcast.js';

const uid = '00000000-0000-4000-8000-000000000000' as ClusterUid;
const joined = (node: string): Fact => ({ type: 'WorkerJoined', data: { uid, node: node as NodeName } });
const at = (cluster: string, fact: Fact, seq: number) => stored(fact, seq, { cluster });

const members: Projection<readonly string[]> = {
  name: 'members',
  table: 'members',
  keys: (event) => [event.meta.cluster],
  evolve: (row, event) => {
    if (event.type === 'ClusterDeleted') return undefined;
    if (event.type !== 'WorkerJoined') return row;
    if (event.data.node === 'poison') throw new Error('no');
    return [...(row ?? []), event.data.node];
  },
};

describe('a projection', () => {
  it('folds a batch over the existing rows', () => {
    const changes = project(members, (key) => (key === 'a' ? ['w0'] : undefined), [
      at('a', joined('w1'), 1),
      at('b', joined('w2'), 2),
      at('a', joined('w3'), 3),
    ]);
    expect([...changes.rows]).toEqual([
      ['a', { seq: 3, doc: ['w0', 'w1', 'w3'] }],
      ['b', { seq: 2, doc: ['w2'] }],
    ]);
  });

  it('removes a row and creates it again in the same batch', () => {
    const events = [
      at('a', joined('w1'), 1),
      at('a', { type: 'ClusterDeleted', data: { uid } }, 2),
      at('a', joined('w9'), 3),
    ];
    expect(project(members, () => undefined, events).rows.get('a')).toEqual({ seq: 3, doc: ['w9'] });
    expect(project(members, () => undefined, events.slice(0, 2)).rows.get('a')).toEqual({ seq: 2, doc: undefined });
  });

  it('stops a poisoned cluster before the faulty event, and continues with the others', () => {
    const { rows, poisons } = project(members, () => undefined, [
      at('a', joined('w1'), 1),
      at('a', joined('poison'), 2),
      at('a', joined('w3'), 3),
      at('b', joined('w4'), 4),
    ]);
    expect(rows.get('a')?.doc).toEqual(['w1']);
    expect(rows.get('b')?.doc).toEqual(['w4']);
    expect(poisons).toMatchObject([{ clusterKey: 'default/a', seq: 2, eventId: 'event-2' }]);
  });

  it('does not write a row that an event leaves unchanged', () => {
    expect(project(members, () => ['w1'], [at('a', { type: 'ClusterAccepted', data: { uid } }, 1)]).rows.size).toBe(0);
  });
});

const counting: Process<{ readonly count: number }> = {
  name: 'counting',
  version: 1,
  initial: { count: 0 },
  evolve: (state, event) => (event.type === 'ClusterDeleted' ? undefined : { count: state.count + 1 }),
  react: ({ count }, event) =>
    event.type === 'ClusterDeleted'
      ? [cancelTimer('t')]
      : [taskReaction('Count', { count }), timer('t', event.meta.time)],
  woken: (state) => state,
  ended: (state) => state,
};

describe('a process', () => {
  it('reacts to each event with the state after it, and identifies its reactions by event and index', () => {
    const { states, reactions } = advance(counting, () => ({ count: 5 }), [
      at('a', joined('w1'), 1),
      at('a', joined('w2'), 2),
    ]);
    expect(states.get('default/a')?.state).toEqual({ count: 7 });
    expect(reactions.map(({ reaction, event, index }) => [reaction.kind, event.meta.id, index])).toEqual([
      ['task', 'event-1', 0],
      ['timer', 'event-1', 1],
      ['task', 'event-2', 0],
      ['timer', 'event-2', 1],
    ]);
  });

  it('forgets a cluster and starts again when its name is reused', () => {
    const events = [at('a', { type: 'ClusterDeleted', data: { uid } }, 1), at('a', joined('w1'), 2)];
    expect(advance(counting, () => ({ count: 5 }), events).states.get('default/a')?.state).toEqual({ count: 1 });
  });
});

describe('reading an old event', () => {
  it('skips a type that this release does not know', () => {
    expect(lift('SomethingOfTheFuture.v1', {})).toBeUndefined();
  });

  it('rejects a version that is newer than this release', () => {
    expect(() => lift('WorkerJoined.v99', {})).toThrow('upgrade this service');
  });
});

import type { ClusterUid, NodeName } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import type { Projection } from '../projection.js';
import { stored } from '../spec.js';
import { PartitionFold } from './partition.fold.js';

const uid = '00000000-0000-4000-8000-000000000000' as ClusterUid;
const joined = (node: string, seq: number) =>
  stored({ type: 'WorkerJoined', data: { uid, node: node as NodeName } }, seq);

/** One row per node; it has no place for a node without a name. */
const nodes: Projection<number> = {
  name: 'nodes',
  table: 'nodes',
  keys: (event) => {
    if (event.type !== 'WorkerJoined') return [];
    if (event.data.node === '') throw new Error('a node without a name');
    return [event.data.node];
  },
  evolve: (times) => (times ?? 0) + 1,
};

const foldOver = (rows: ReadonlyMap<string, unknown>) => {
  const asked: string[] = [];
  const fold = new PartitionFold(
    { projections: [nodes as Projection<unknown>], processes: [] },
    {
      rowsOf: async (tables) =>
        tables.map(({ keys }) => {
          asked.push(...keys);
          return new Map([...rows].filter(([key]) => keys.includes(key)));
        }),
      statesOf: async () => [],
    },
  );
  return { fold, asked };
};
const all = () => true;

describe('the fold of a consumer', () => {
  it('reads a document once, and then continues from what was written', async () => {
    const { fold, asked } = foldOver(new Map([['w1', 5]]));
    const first = await fold.changesOf([joined('w1', 1)], all);
    expect(first.tables).toMatchObject([{ table: 'nodes', rows: [{ key: 'w1', seq: 1, doc: 6 }] }]);
    fold.remember(first);
    expect((await fold.changesOf([joined('w1', 2)], all)).tables).toMatchObject([{ rows: [{ seq: 2, doc: 7 }] }]);
    expect(asked).toEqual(['w1']);
  });

  it('starts a replay from nothing, regardless of the rows', async () => {
    const { fold } = foldOver(new Map([['w1', 5]]));
    const events = [joined('w1', 1), joined('w1', 2)];
    fold.startOver('projection:nodes', events);
    expect((await fold.changesOf(events, all)).tables).toMatchObject([{ rows: [{ key: 'w1', doc: 2 }] }]);
  });

  it('quarantines a cluster again if a replay meets an event that still has no place', async () => {
    const { fold } = foldOver(new Map());
    const events = [joined('w1', 1), joined('', 2)];
    fold.startOver('projection:nodes', events);
    const { tables, quarantined } = await fold.changesOf(events, all);
    expect(tables).toMatchObject([{ rows: [{ key: 'w1', doc: 1 }] }]);
    expect(quarantined).toMatchObject([
      { consumer: 'projection:nodes', poison: { clusterKey: 'default/demo', seq: 2 } },
    ]);
  });
});

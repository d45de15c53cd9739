import type { DeclaredSpec, Fact } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { CREATE, inLog, nodeFact, uid } from '../story.fixtures.js';
import { generationsOf } from './generations.js';

const generations = (...facts: readonly Fact[]) => generationsOf(inLog([...CREATE, ...facts]));
const created = generations();
const spec = created.at(-1)?.declared.spec as DeclaredSpec;
const applied = (revision: number, changed: DeclaredSpec, labels?: Readonly<Record<string, string>>): Fact => ({
  type: 'ClusterSpecChanged',
  data: { uid, revision, spec: changed, ...(labels === undefined ? {} : { labels: { ...labels } }) },
});
const sized = (replicas: number): DeclaredSpec => ({
  ...spec,
  pools: spec.pools.map((pool) => ({ ...pool, replicas })),
});
const summaries = (of: ReturnType<typeof generations>) =>
  of.map(({ number, event, changes }) => [
    number,
    event.type,
    ...(number === 1 ? [] : changes.map(({ field, before, after }) => `${field} ${before} ${after}`)),
  ]);

describe('the generations of a manifest', () => {
  it('begin with the creation, which is one however many events it took', () => {
    expect(summaries(created)).toEqual([[1, 'ClusterRequested']]);
  });

  it('are the changes of what is declared, with the fields that each changed', () => {
    expect(summaries(generations(applied(1, sized(4)), applied(2, sized(4), { team: 'shop' })))).toEqual([
      [1, 'ClusterRequested'],
      [2, 'ClusterSpecChanged', 'pools[worker-1].replicas 2 4'],
      [3, 'ClusterSpecChanged', 'metadata.labels.team null shop'],
    ]);
  });

  it('count a change by another route than the manifest', () => {
    const [, removed] = summaries(generations(nodeFact('NodeRemovalRequested', 'demo-w-1', { requestId: 'r' })));
    expect(removed).toEqual([2, 'NodeRemovalRequested', 'pools[worker-1].replicas 2 1']);
  });

  it('are none where nothing that is declared differs', () => {
    expect(summaries(generations(applied(1, spec)))).toEqual([[1, 'ClusterRequested']]);
  });

  it('stay when the cluster is deleted, and begin again with the next cluster of the name', () => {
    const deleted = [applied(1, sized(4)), { type: 'ClusterDeleted', data: { uid } } as Fact];
    expect(summaries(generations(...deleted)).length).toBe(2);
    const again = '00000000-0000-4000-8000-000000000002';
    const next = JSON.parse(JSON.stringify(CREATE).replaceAll(uid, again)) as readonly Fact[];
    expect(summaries(generations(...deleted, ...next))).toEqual([[1, 'ClusterRequested']]);
  });
});

import { ClusterChanges, type ChangedObject, type Fact } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { CREATE, inLog, nodeFact, uid } from '../story.fixtures.js';
import { changesIn } from './changes.timeline.js';

const MOMENT = { now: '2026-01-01T00:10:00.000Z', stalledAfterMs: 30 * 60_000 };

interface Answer {
  readonly items: readonly ChangedObject[];
  readonly looks: number;
}

/** What changed after the first `from` of the facts. */
const changes = (facts: readonly Fact[], from: number, looksMax = 1_000): Answer => {
  const search = changesIn({ events: inLog(facts), from, to: facts.length }, MOMENT, looksMax);
  for (let looks = 0; ; looks += 1) {
    const step = search.next();
    if (step.done !== true) continue;
    const ends = { seq: 0, time: null };
    const view = {
      kind: 'ClusterChanges',
      namespace: 'default',
      cluster: 'demo',
      from: ends,
      to: ends,
      items: step.value,
    };
    return { items: ClusterChanges.parse(view).items, looks };
  }
};

const lines = ({ items }: Answer): readonly string[] =>
  items.flatMap(({ kind, name, change, fields }) =>
    fields.map(
      ({ field, before, after, event }) =>
        `${change} ${kind}/${name} ${field}: ${before} -> ${after} (${event?.type ?? 'no event'} ${event?.seq ?? ''})`,
    ),
  );

const lost = (node: string): Fact => nodeFact('NodeLost', node, { lastHeartbeatAt: '2026-01-01T00:00:00.000Z' });
const released: Fact = {
  type: 'UpdatesDisabledSet',
  data: { uid, scope: { kind: 'node', node: 'demo-w-2' as never }, disabled: true, reason: 'a test' },
};

describe('the changes of a cluster between two moments', () => {
  it('are none when nothing happened', () => expect(changes(CREATE, CREATE.length).items).toEqual([]));

  it('name each field that differs with the event that changed it, and no other', () => {
    const before = CREATE.length;
    const shown = lines(changes([...CREATE, released, lost('demo-w-1')], before));
    expect(shown).toEqual(
      expect.arrayContaining([
        `changed Node/demo-w-1 phase: Ready -> Lost (NodeLost ${before + 2})`,
        `changed Node/demo-w-2 updatesDisabled: null -> a test (UpdatesDisabledSet ${before + 1})`,
        `changed Cluster/demo state: Running -> Degraded (NodeLost ${before + 2})`,
        `changed Condition/NodesReady status: True -> False (NodeLost ${before + 2})`,
      ]),
    );
    expect(shown.filter((line) => line.includes('demo-cp-'))).toEqual([]);
  });

  it('leave out what came and went again in between', () => {
    const back = nodeFact('NodeRecovered', 'demo-w-1', { lastHeartbeatAt: '2026-01-01T00:05:00.000Z' });
    expect(lines(changes([...CREATE, lost('demo-w-1'), back], CREATE.length))).toEqual([]);
  });

  it('of a whole creation add everything, each part by its own event', () => {
    const answer = changes(CREATE, 0);
    expect(new Set(answer.items.map(({ change }) => change))).toEqual(new Set(['added']));
    const shown = lines(answer);
    const seqOf = (type: Fact['type'], last = false): number =>
      1 + (last ? CREATE.findLastIndex((fact) => fact.type === type) : CREATE.findIndex((fact) => fact.type === type));
    expect(shown).toContain(`added Cluster/demo state: null -> Running (ClusterReady ${seqOf('ClusterReady')})`);
    expect(shown).toContain(`added Node/demo-w-2 pool: null -> worker-1 (VmsPlanned ${seqOf('VmsPlanned')})`);
    expect(shown).toContain(`added Node/demo-w-2 phase: null -> Ready (NodeReady ${seqOf('NodeReady', true)})`);
    expect(shown.filter((line) => line.includes('no event'))).toEqual([]);
  });

  it('are found by looking at few moments, however long nothing changes', () => {
    const heartbeatless = Array.from({ length: 1_000 }, (_, index): Fact => lostAndBack(index));
    const { looks } = changes([...CREATE, ...heartbeatless, lost('demo-w-1')], CREATE.length);
    expect(looks).toBeLessThan(50);
  });

  it('stay without an event when more of them are traced than may be', () => {
    const { items, looks } = changes(CREATE, 0, 3);
    expect(looks).toBe(3);
    expect(items.flatMap(({ fields }) => fields.filter(({ event }) => event === null)).length).toBeGreaterThan(0);
    expect(items.length).toBe(changes(CREATE, 0).items.length);
  });
});

const lostAndBack = (index: number): Fact =>
  index % 2 === 0
    ? lost('demo-w-2')
    : nodeFact('NodeRecovered', 'demo-w-2', { lastHeartbeatAt: '2026-01-01T00:05:00.000Z' });

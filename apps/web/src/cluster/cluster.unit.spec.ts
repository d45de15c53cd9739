import { describe, expect, it } from '@jest/globals';
import { byCause } from './difference.js';
import { answersOf } from './hook.answers.js';
import { lifeOf, type LifeEvent } from './node.life.js';

const START = Date.parse('2026-11-29T10:00:00Z');
const event = (second: number, type: string, data: LifeEvent['data'], actor = 'system/upgrade-svc'): LifeEvent => ({
  ...{ seq: second, type, sentence: `${type}.`, data, actor },
  time: new Date(START + second * 1_000).toISOString(),
});
const HISTORY = [
  event(1, 'VmsPlanned', { vms: [{ name: 'w-1' }, { name: 'w-2' }] }),
  event(3, 'VmCreated', { name: 'w-1' }),
  event(4, 'VmCreated', { name: 'w-2' }),
  event(8, 'NodeReady', { node: 'w-1' }),
  event(20, 'NodeCordoned', { node: 'w-1' }, 'user/ada#12'),
  event(21, 'NodeReady', { node: 'w-1' }),
  event(25, 'VersionChanged', { node: 'w-1' }),
  event(26, 'NodeRebooted', { node: 'w-1' }),
  event(30, 'NodeUncordoned', { node: 'w-1' }),
  event(40, 'NodeLost', { node: 'w-1' }),
  event(50, 'NodeRemoved', { node: 'w-1' }),
  event(51, 'NodeReady', { node: 'w-1' }),
  event(55, 'VmDeleted', { name: 'w-1' }),
];

describe('the life of a node', () => {
  const life = lifeOf(HISTORY, 'w-1', START + 60_000);

  it('is one line from its plan on, without a gap', () => {
    expect(
      life.bands.map(({ stretch, fromMs, toMs }) => [stretch, (fromMs - START) / 1_000, (toMs - START) / 1_000]),
    ).toEqual([
      ['before', 1, 3],
      ['joining', 3, 8],
      ['ready', 8, 20],
      ['changing', 20, 30],
      ['ready', 30, 40],
      ['not-ready', 40, 50],
      ['gone', 50, 60],
    ]);
  });

  it('has a mark for each cordon, version, boot, failure and end, and no event of another node', () => {
    expect(life.marks.map(({ kind, event: { type } }) => [type, kind])).toEqual([
      ['NodeCordoned', 'cordon'],
      ['VersionChanged', 'version'],
      ['NodeRebooted', 'boot'],
      ['NodeUncordoned', 'cordon'],
      ['NodeLost', 'failure'],
      ['NodeRemoved', 'host'],
      ['VmDeleted', 'host'],
    ]);
    expect(life.events.map(({ seq }) => seq)).not.toContain(4);
    expect(lifeOf(HISTORY, 'w-9', START)).toEqual({ bands: [], marks: [], events: [] });
  });
});

describe('the difference of two moments', () => {
  it('is shown by the events that made it, the latest first, and what time alone made last', () => {
    const cause = (seq: number) => ({ seq, type: 'T', time: '', actor: 'user/ada', sentence: `event ${seq}` });
    const field = (name: string, seq: number | null) => ({
      ...{ field: name, before: 'a', after: 'b' },
      event: seq === null ? null : cause(seq),
    });
    const items = [
      { kind: 'Spec' as const, name: '', change: 'changed' as const, fields: [field('version', 4), field('x', null)] },
      { kind: 'Node' as const, name: 'w-1', change: 'added' as const, fields: [field('phase', 9), field('pool', 4)] },
    ];
    expect(
      byCause({ items }).map(({ event: by, fields }) => [by?.seq ?? null, fields.map((one) => one.object)]),
    ).toEqual([
      [9, ['Node w-1']],
      [4, ['Spec', 'Node w-1']],
      [null, ['Spec']],
    ]);
  });
});

describe('the answers of hooks', () => {
  const answer = (second: number, type: string, data: LifeEvent['data']) => event(second, type, data);

  it('are the latest of each hook at each point', () => {
    const events = [
      answer(1, 'HookBlocked', { hook: 'cmdb', point: 'BeforeCreate' }),
      answer(2, 'UpgradeHookFailed', { hook: 'cmdb', point: 'BeforeUpgrade' }),
      answer(3, 'HookSucceeded', { hook: 'cmdb', point: 'BeforeCreate' }),
      answer(4, 'NodeReady', { node: 'w-1' }),
    ];
    expect(answersOf(events).map(({ point, state, seq }) => [point, state, seq])).toEqual([
      ['BeforeCreate', 'succeeded', 3],
      ['BeforeUpgrade', 'failed', 2],
    ]);
    expect(answersOf([...events, answer(5, 'HookSkipped', { hook: 'cmdb', reason: 'r' })])[1]?.state).toBe('skipped');
  });
});

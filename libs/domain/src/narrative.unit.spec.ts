import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { type StoredEvent, EVENTS } from '@fairlead/contracts';
import { sentenceOfEvent } from './narrative.js';

const samples = new URL('../../contracts/src/events/samples/', import.meta.url);

/** The frozen sample of the newest version of every event. */
const events = Object.entries(EVENTS).map(([type, { version }]) => {
  const data: unknown = JSON.parse(readFileSync(new URL(`${type}.v${version}.json`, samples), 'utf8'));
  return { type, event: { type, data, meta: {} } as unknown as StoredEvent };
});

describe('the sentence of an event', () => {
  it.each(events)('of $type is complete, on one line and without a full stop', ({ event }) => {
    const sentence = sentenceOfEvent(event);
    expect(sentence).not.toMatch(/undefined|NaN|\[object|\n/);
    expect(sentence).not.toMatch(/\.$/);
    expect(sentence.length).toBeGreaterThan(10);
  });

  it('of a node that differs names its software, and no id of a change', () => {
    const change = { item: 'change', what: 'u-9b695cf673/op-10', observed: 'not begun', desired: 'done' };
    const kubelet = { item: 'package', what: 'kubelet', observed: '1.34.4', desired: '1.35.4' };
    const diverged = (...differences: readonly object[]) =>
      sentenceOfEvent({ type: 'NodeDiverged', data: { node: 'w-1', differences }, meta: {} } as unknown as StoredEvent);
    expect(diverged(change, kubelet)).toMatch(/: package kubelet is 1\.34\.4, not 1\.35\.4$/);
    expect(diverged(change)).toMatch(/: a change of it has not begun$/);
  });

  it('uses singular and plural correctly', () => {
    const workers = (count: number) => [
      { connection: 'lab', count, spec: 's', rootDisk: { type: 'default', size: 'default' } },
    ];
    const asked = (count: number) =>
      sentenceOfEvent({
        type: 'NodesRequested',
        data: { uid: 'u', requestId: 'r', workers: workers(count) },
        meta: {},
      } as unknown as StoredEvent);
    expect([asked(1), asked(2)]).toEqual(['1 more worker was requested', '2 more workers were requested']);
  });
});

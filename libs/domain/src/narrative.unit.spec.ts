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

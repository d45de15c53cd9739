import { describe, expect, it } from '@jest/globals';
import { eventSubject, fnv1a32, parseEventSubject, PARTITION_COUNT, partitionOf } from './subjects.js';

describe('a subject', () => {
  it('uses the partition function of nats-server: its {{partition(8,1)}} puts "abc" into 3', () => {
    expect(fnv1a32('abc') % 8).toBe(3);
    expect(fnv1a32('')).toBe(0x811c9dc5); // The published offset basis and test vector of FNV-1a.
    expect(fnv1a32('foobar')).toBe(0xbf9cf968);
  });

  it('spreads clusters over the partitions about evenly', () => {
    const counts = Array.from({ length: PARTITION_COUNT }, () => 0);
    for (let index = 0; index < 16_000; index += 1) counts[partitionOf('default', `cluster-${index}`)]! += 1;
    expect(Math.min(...counts)).toBeGreaterThan(800);
    expect(Math.max(...counts)).toBeLessThan(1_200);
  });

  it('survives a round trip through its parser', () => {
    const stream = { namespace: 'default', cluster: 'demo', context: 'node-demo-cp-1' };
    expect(parseEventSubject(eventSubject(stream, 'NodeReady'))).toEqual({
      ...stream,
      type: 'NodeReady',
      partition: partitionOf('default', 'demo'),
    });
    expect(parseEventSubject('hb.default.demo.w1')).toBeUndefined();
    expect(parseEventSubject('evt.1.default.demo.request')).toBeUndefined();
    expect(parseEventSubject('evt.1.default.demo.request.A.B')).toBeUndefined();
  });
});

import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { delayMs } from './delays.js';

describe('the delays of simulated work', () => {
  it('vary by up to a fifth around the nominal duration [Cluster API 33]', () => {
    expect([delayMs('boot', 0), delayMs('boot', 0.5), delayMs('boot', 1)]).toEqual([1_280, 1_600, 1_920]);
    const random = seededRandom(1);
    const drawn = Array.from({ length: 100 }, () => delayMs('boot', random()));
    expect(new Set(drawn).size).toBe(100);
  });
});

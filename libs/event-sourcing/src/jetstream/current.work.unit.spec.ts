import { describe, expect, it } from '@jest/globals';
import { CurrentWork } from './current.work.js';

const at = () => {
  const clock = { nowMs: 0 };
  return { clock, work: new CurrentWork(() => clock.nowMs) };
};

describe('CurrentWork', () => {
  it('lists work between two times, first what began or ended there', () => {
    const { clock, work } = at();
    work.begin('a watch');
    const endEarly = work.begin('too early');
    clock.nowMs = 10;
    endEarly();
    clock.nowMs = 100;
    const endTask = work.begin('CheckGates of default/demo');
    clock.nowMs = 200;
    work.during('projection nodes', () => (clock.nowMs = 2_900));
    clock.nowMs = 3_000;
    endTask();
    clock.nowMs = 5_000;
    work.begin('too late');
    expect(work.between(150, 3_500)).toEqual(['projection nodes', 'CheckGates of default/demo', 'a watch']);
  });

  it('resolves a name when needed, and lists the same kind once', () => {
    const { work } = at();
    let route = 'none';
    work.begin(() => `GET ${route}`);
    work.begin(() => `GET ${route}`);
    route = '/ns/:namespace/clusters';
    expect(work.between(0, 1)).toEqual(['GET /ns/:namespace/clusters']);
  });

  it('ends work that throws, and remembers a bounded number', () => {
    const { clock, work } = at();
    expect(() =>
      work.during('broken', () => {
        throw new Error('no');
      }),
    ).toThrow('no');
    for (let index = 0; index < 1_000; index += 1) work.during(`n-${index}`, () => (clock.nowMs += 1));
    expect(work.between(0, 10_000).length).toBeLessThanOrEqual(256);
    work.begin('x'.repeat(1_000));
    expect(work.between(1_000, 10_000)[0]).toHaveLength(200);
  });
});

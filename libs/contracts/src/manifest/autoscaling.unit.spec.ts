import { describe, expect, it } from '@jest/globals';
import { scaleFaults, sizeFaults, sizeOf } from './autoscaling.js';

const bounds = { min: 2, max: 5 };
const autoscaled = { name: 'web', autoscaling: bounds };
const codes = (...faults: readonly { readonly code: string; readonly field?: string | undefined }[]) =>
  faults.map(({ code, field }) => [code, field]);

describe('The size of a pool', () => {
  it.each([
    ['is the minimum when it is new', undefined, 2],
    ['is the minimum when it is smaller', 0, 2],
    ['is the maximum when it is larger', 9, 5],
    ['stays as it is in between', 3, 3],
  ])('with bounds %s [Cluster API 19, azimuth 30]', (_what, before, size) =>
    expect(sizeOf(autoscaled, before)).toBe(size),
  );

  it('without bounds is the declared one, else the current one, else one for a new pool [Cluster API 19]', () => {
    expect(sizeOf({ name: 'web', replicas: 0 }, 3)).toBe(0);
    expect(sizeOf({ name: 'web' }, 3)).toBe(3);
    expect(sizeOf({ name: 'web' })).toBe(1);
  });

  it('cannot be changed by the manifest of a pool with bounds, but may be repeated [azimuth 30]', () => {
    const before = [{ name: 'web', replicas: 3 }];
    const field = 'spec.pools[0].replicas';
    expect(codes(...sizeFaults([{ ...autoscaled, replicas: 4 }], before))).toEqual([
      ['pool.replicas-autoscaled', field],
    ]);
    expect(codes(...sizeFaults([{ ...autoscaled, replicas: 3 }]))).toEqual([['pool.replicas-autoscaled', field]]);
    expect(sizeFaults([{ ...autoscaled, replicas: 3 }], before)).toEqual([]);
    expect(sizeFaults([autoscaled, { name: 'db', replicas: 4 }], before)).toEqual([]);
  });

  it('requires a maximum of at least the minimum [azimuth 30]', () =>
    expect(codes(...sizeFaults([{ name: 'web', autoscaling: { min: 3, max: 2 } }]))).toEqual([
      ['pool.autoscaling-bounds', 'spec.pools[0].autoscaling'],
    ]));

  it('stays within its bounds, whoever scales it [azimuth 30]', () => {
    for (const replicas of [1, 6])
      expect(codes(...scaleFaults(autoscaled, replicas))).toEqual([['pool.scale-out-of-bounds', 'spec.replicas']]);
    for (const replicas of [2, 5]) expect(scaleFaults(autoscaled, replicas)).toEqual([]);
    expect(scaleFaults({ name: 'web' }, 0)).toEqual([]);
  });
});

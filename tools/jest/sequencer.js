import TestSequencer from '@jest/test-sequencer';

/** The files that take longest, by what their suffix says of their cost. */
const ORDER = ['.sim.spec.ts', '.e2e.spec.ts', '.int.spec.ts', '.unit.spec.ts'];
const rankOf = ({ path }) => ORDER.findIndex((suffix) => path.endsWith(suffix));

/**
 * Jest begins with the files that took longest last time, so that no worker ends with a long one while the others are idle. A clean clone
 * knows no times and would go by the size of the files; there the suffix says more.
 */
export default class Sequencer extends TestSequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    return sorted.some(({ duration }) => typeof duration === 'number')
      ? sorted
      : [...sorted].sort((one, other) => rankOf(one) - rankOf(other));
  }
}

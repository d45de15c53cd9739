// Run by `.ci/run` on a clean clone: `npm test`, then the parts that it omits, in order, until the time limit. The last
// line is `N passed, N failed[, N skipped]`.
import { join } from 'node:path';
import { counted, lineOf, root, sum } from './runs.mjs';

const begunAt = Date.now();
/** A part that would probably end later than this after the start of the run is skipped, and reported as skipped. */
const MINUTES = Number(process.env.FAIRLEAD_TEST_MINUTES ?? 55);

const tested = counted('npm test', 'npm', () => ['test']);
const left = MINUTES - (Date.now() - begunAt) / 60_000;
const rest = [join(root, 'tools', 'test-rest.mjs'), `--minutes=${left.toFixed(1)}`];
// The other parts run only if `npm test` passed.
const counts = sum([
  tested,
  ...(tested.failed === 0 ? [counted('what npm test leaves out', process.execPath, () => rest)] : []),
]);
process.stdout.write(lineOf(counts));
process.exit(counts.failed === 0 && tested.passed > 0 ? 0 : 1);

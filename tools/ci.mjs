// What `.ci/run` runs on a clean clone: `npm test`, and then what it leaves out, in turn, while the time of the run lasts.
// It ends with the plain line `N passed, N failed[, N skipped]`.
import { join } from 'node:path';
import { counted, lineOf, root, sum } from './runs.mjs';

const begunAt = Date.now();
/** What would probably end later than this after the beginning is left out, loudly. */
const MINUTES = Number(process.env.FAIRLEAD_TEST_MINUTES ?? 55);

const tested = counted('npm test', 'npm', () => ['test']);
const left = MINUTES - (Date.now() - begunAt) / 60_000;
const rest = [join(root, 'tools', 'test-rest.mjs'), `--minutes=${left.toFixed(1)}`];
// The rest shows nothing that matters while what everyone runs fails.
const counts = sum([
  tested,
  ...(tested.failed === 0 ? [counted('what npm test leaves out', process.execPath, () => rest)] : []),
]);
process.stdout.write(lineOf(counts));
process.exit(counts.failed === 0 && tested.passed > 0 ? 0 : 1);

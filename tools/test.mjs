// What `npm test` runs: prepares the checkout like `npm start`, then every spec, with some seeds of each simulation, and then the stories
// that are not long. `npm run check` has lint, types and formats. With paths: the specs and stories there, long ones too.
// `--specs` before the paths leaves their stories out. `npm run test:all` runs the rest. It ends with the plain line `N passed, N failed[, N skipped]`.
import { SHORT, SPECS, STORIES } from './jest.arguments.mjs';
import { checked, jest, lineOf, prepare, rerunFailed, root, slowestOf, sum, tookLine, writeReport } from './runs.mjs';

const startedAt = Date.now();
const asked = process.argv.slice(2);
const withStories = !asked.includes('--specs');
/** Paths that are given for specs alone are folders of the checkout; others are whatever jest finds by them. */
const folder = `^${root.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}`;
const filters = asked.filter((one) => one !== '--specs').map((one) => (withStories ? one : `${folder}${one}`));
/** So many seeds of each simulation; `npm run test:all` runs all of them. */
const SEEDS = '10';
/** Of those that show convergence: the courses of clusters, and the counters of their pools. */
const CONVERGENCE_SEEDS = '100';

const end = (counts) => {
  writeReport(counts);
  process.stdout.write(lineOf(counts));
  process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1);
};

if (!prepare()) end(checked(false, 'prepare: install and build'));
else if (filters.length > 0)
  end(
    sum([
      jest('specs: unit, int, sim', SPECS, { filters }),
      ...(withStories ? [jest('stories: e2e', STORIES, { filters })] : []),
    ]),
  );
else {
  const { SIM_SEEDS } = process.env;
  const env = { SIM_SEEDS: SIM_SEEDS ?? SEEDS, SIM_SEEDS_CONVERGENCE: SIM_SEEDS ?? CONVERGENCE_SEEDS };
  const specs = jest('specs: unit, int, sim', SPECS, { env });
  // Stories run the whole product and take the machine for themselves.
  const stories = jest('stories: e2e, but the long ones', SHORT);
  const counts = sum([rerunFailed(specs, SPECS, { env }), rerunFailed(stories, SHORT)]);
  process.stdout.write(`The slowest files:\n${slowestOf(counts)}`);
  process.stdout.write(tookLine('npm test', startedAt));
  end(counts);
}

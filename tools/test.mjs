// `npm test`: prepares the checkout like `npm start`, then runs every spec, with some seeds of each simulation, and the
// stories that are not long. Lint, types and formats are in `npm run check`, everything else in `npm run test:all`.
// With paths: the specs and stories in them, including long ones; `--specs` before the paths excludes the stories. The
// last line is `N passed, N failed[, N skipped]`.
import { SHORT, SPECS, STORIES } from './jest.arguments.mjs';
import { checked, jest, lineOf, prepare, rerunFailed, root, slowestOf, sum, tookLine, writeReport } from './runs.mjs';

const startedAt = Date.now();
const asked = process.argv.slice(2);
const withStories = !asked.includes('--specs');
/** With --specs, paths are folders of the checkout; otherwise jest matches them as patterns. */
const folder = `^${root.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}`;
const filters = asked.filter((one) => one !== '--specs').map((one) => (withStories ? one : `${folder}${one}`));
/** Seeds of each simulation; `npm run test:all` runs all of them. */
const SEEDS = '10';
/** Seeds of the convergence simulations: whole clusters, and the counters of their pools. */
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
  // Stories run the whole product and need the machine for themselves.
  const stories = jest('stories: e2e, but the long ones', SHORT);
  const counts = sum([rerunFailed(specs, SPECS, { env }), rerunFailed(stories, SHORT)]);
  process.stdout.write(`The slowest files:\n${slowestOf(counts)}`);
  process.stdout.write(tookLine('npm test', startedAt));
  end(counts);
}

// What `npm run check` runs before a change is handed over: lint, format, types of specs, drift of generated files, packages of others,
// the specs without I/O, and ten seeds of each simulation that has seeds. Lint and format look only at what has changed since their last
// run; `npm test` looks at everything.
import { join } from 'node:path';
import { QUICK } from './jest.arguments.mjs';
import { checkSteps, jestBesides, lintStep, prepare, root, runBeside } from './runs.mjs';

const SEEDS = '10';

const named = async (title, going) => [title, await going];
const step = ([title, ...command]) => named(title, runBeside(title, ...command));

/** One after the other on one of two cores: the linter has the other. */
const others = async () => {
  const ended = [];
  for (const one of [
    ...checkSteps(true),
    ['packages of others', process.execPath, [join(root, 'tools', 'packages.mjs')]],
  ])
    ended.push(await step(one));
  return ended;
};

const specs = async () => {
  const env = { SIM_SEEDS: process.env.SIM_SEEDS ?? SEEDS };
  const { failed, passed } = await jestBesides('specs: unit, ten seeds', QUICK, { env });
  return failed === 0 && passed > 0;
};

const ended = prepare()
  ? (
      await Promise.all([
        step(lintStep(true)).then((one) => [one]),
        others(),
        named('specs', specs()).then((one) => [one]),
      ])
    ).flat()
  : [['prepare', false]];
const failed = ended.filter(([, ok]) => !ok).map(([title]) => title);
process.stdout.write(failed.length === 0 ? 'check passed\n' : `check failed: ${failed.join(', ')}\n`);
process.exit(failed.length === 0 ? 0 : 1);

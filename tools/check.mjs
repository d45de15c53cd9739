// `npm run check`, run before a change is handed over: lint, format, types of specs, drift of generated files,
// third-party packages, the specs without I/O, and ten seeds of each seeded simulation. Lint, format, imports and types
// check only the files that changed since their last run; `npm run test:all` checks all files.
import { join } from 'node:path';
import { QUICK } from './jest.arguments.mjs';
import {
  checkSteps,
  jestInBackground,
  lintStep,
  prepare,
  root,
  runInBackground,
  slowestOf,
  tookLine,
} from './runs.mjs';

const startedAt = Date.now();
const SEEDS = '10';

/** Run one after the other, in parallel with the specs. */
const checks = async () => {
  const ended = [];
  const packages = ['packages of others', process.execPath, [join(root, 'tools', 'packages.mjs')]];
  for (const [title, ...command] of [lintStep(true), ...checkSteps(true), packages])
    ended.push([title, await runInBackground(title, ...command)]);
  return ended;
};

const specs = async () => {
  const env = { SIM_SEEDS: process.env.SIM_SEEDS ?? SEEDS };
  const counts = await jestInBackground('specs: unit, ten seeds', QUICK, { env });
  process.stdout.write(`The slowest files:\n${slowestOf(counts)}`);
  return [['specs', counts.failed === 0 && counts.passed > 0]];
};

const ended = prepare() ? (await Promise.all([checks(), specs()])).flat() : [['prepare', false]];
const failed = ended.filter(([, ok]) => !ok).map(([title]) => title);
process.stdout.write(tookLine('npm run check', startedAt));
process.stdout.write(failed.length === 0 ? 'check passed\n' : `check failed: ${failed.join(', ')}\n`);
process.exit(failed.length === 0 ? 0 : 1);

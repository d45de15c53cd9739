// The parts that `npm test` omits, the most informative first: lint and the other checks, all seeds of the simulations,
// untrusted text of full length, long stories, stories with real Kubernetes on real hosts if this machine supports them, the capacity of one machine,
// both commands on a minimal machine, and kills at every event. `--minutes <n>` skips parts that would probably end
// later, and reports them. The last line is `N passed, N failed[, N skipped]`.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CRASHES, LARGE, LONG, MACHINE, SEEDED, TEXTS } from './jest.arguments.mjs';
import {
  checked,
  checkSteps,
  counted,
  jest,
  lineOf,
  lintStep,
  prepare,
  rerunFailed,
  root,
  run,
  sum,
  writeReport,
} from './runs.mjs';

const begunAt = Date.now();
const { values: options } = parseArgs({ options: { minutes: { type: 'string', default: 'Infinity' } } });
const minutesLeft = () => Number(options.minutes) - (Date.now() - begunAt) / 60_000;

/** If FAIRLEAD_REAL_STORIES is empty, these stories are skipped. */
const REAL_STORIES = (
  process.env.FAIRLEAD_REAL_STORIES ?? 'kubernetes-api create ssh kill replace etcd-external power restore bundle'
)
  .split(' ')
  .filter(Boolean);

/** Write their own report, and check the remaining time before each story. */
const realHosts = () =>
  counted('stories: real hosts', process.execPath, (report) => [
    ...[join(root, 'tools', 'e2e-real.mjs'), '--if-possible', `--minutes=${minutesLeft().toFixed(1)}`],
    ...[`--report=${report}`, ...REAL_STORIES],
  ]);

const jestWithRerun = (title, options, settings) => rerunFailed(jest(title, options, settings), options, settings);

/** `minutes`: on two cores, with a margin for a busy machine. */
const PARTS = [
  {
    title: 'checks',
    minutes: 3,
    run: () => sum([lintStep(), ...checkSteps()].map((step) => checked(run(...step), step[0]))),
  },
  { title: 'simulations: all seeds', minutes: 8, run: () => jestWithRerun('simulations: all seeds', SEEDED) },
  {
    title: 'untrusted text of 1 MiB',
    minutes: 10,
    run: () => jestWithRerun('untrusted text of 1 MiB', TEXTS, { env: { FAIRLEAD_TEXT_BYTES: '1048576' } }),
  },
  { title: 'stories: the long ones', minutes: 24, run: () => jestWithRerun('stories: the long ones', LONG) },
  ...(REAL_STORIES.length > 0 ? [{ title: 'stories: real hosts', minutes: 0, run: realHosts }] : []),
  { title: 'stories: the large one', minutes: 18, run: () => jestWithRerun('stories: the large one', LARGE) },
  { title: 'both commands on a minimal machine', minutes: 35, run: () => jestWithRerun('a minimal machine', MACHINE) },
  {
    title: 'kills at every event',
    minutes: 22,
    run: () => jestWithRerun('kills at every event', CRASHES, { env: { FAIRLEAD_CRASH: 'all' } }),
  },
];

const notRun = ({ title, minutes }) => {
  const left = Math.max(0, minutesLeft()).toFixed(0);
  process.stdout.write(`
!!! NOT RUN: ${title}
!!! because it takes about ${minutes} minutes, and ${left} are left

`);
  return { passed: 0, failed: 0, skipped: 1 };
};

const end = (counts) => {
  writeReport(counts);
  process.stdout.write(lineOf(counts));
  process.exit(counts.failed === 0 ? 0 : 1);
};

if (!prepare()) end(checked(false, 'prepare: install and build'));
else end(sum(PARTS.map((part) => (part.minutes <= minutesLeft() ? part.run() : notRun(part)))));

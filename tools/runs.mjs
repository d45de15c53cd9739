// Shared by the test commands: runs steps, reads jest's counts, and prints the summary at the end of a run.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jestArguments } from './jest.arguments.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (name) => join(root, 'node_modules', '.bin', name);
const cache = (name) => join(root, 'node_modules', '.cache', 'fairlead', name);
const JEST = ['--experimental-vm-modules', '--no-warnings', join(root, 'node_modules', 'jest', 'bin', 'jest.js')];

export const NOTHING = { passed: 0, failed: 0, skipped: 0 };
const NO_REPORT = 'jest ended without a report';
const BROKEN = { passed: 0, failed: 1, skipped: 0, failures: [NO_REPORT] };
/** Further failures are only counted. */
const FAILURES_SHOWN_MAX = 20;
/** If more files than this fail, the change is the cause, not a busy machine. */
const RERUN_MAX = 4;
const SLOWEST_MAX = 10;

const print = (sentence) => process.stdout.write(`==> ${sentence}\n`);
const secondsSince = (startedAt) => (Date.now() - startedAt) / 1000;

/** Prints the outcome of a step. Returns whether it succeeded. */
const reportEnd = (title, startedAt, { status, signal }) => {
  const outcome = status === 0 ? 'ok' : `failed (${signal ?? `exit code ${status}`})`;
  print(`${title}: ${outcome} after ${secondsSince(startedAt).toFixed(1)} s`);
  return status === 0;
};

/** Runs a step and shows its output. Returns whether it succeeded. */
export const run = (title, command, args, env = {}) => {
  const startedAt = Date.now();
  print(title);
  const options = { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } };
  return reportEnd(title, startedAt, spawnSync(command, args, options));
};

/** Runs a step in parallel with others; its output is shown when it has ended. Resolves to whether it succeeded. */
export const runInBackground = async (title, command, args) => {
  const startedAt = Date.now();
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
  const ended = new Promise((resolve) => {
    child.on('error', (error) => {
      output.push(Buffer.from(`${error.message}\n`));
      resolve({ status: 1, signal: null });
    });
    child.on('close', (status, signal) => resolve({ status, signal }));
  });
  const outcome = await ended;
  process.stdout.write(Buffer.concat(output));
  return reportEnd(title, startedAt, outcome);
};

/** The first step of every run: the same preparation as `npm start`. */
export const prepare = () =>
  run('prepare: install and build', process.execPath, [join(root, 'tools', 'start.mjs'), '--prepare-only']);

/** `cached`: skips files that have not changed since the last run. */
export const lintStep = (cached = false) => [
  'lint',
  bin('eslint'),
  ['--max-warnings', '0', ...(cached ? cacheOptions('eslint') : []), 'apps', 'libs', 'test', 'tools'],
];
const cacheOptions = (tool) => ['--cache', '--cache-strategy', 'content', '--cache-location', cache(tool)];
export const checkSteps = (cached = false) => [
  [
    'format',
    bin('prettier'),
    [
      ...['--check', '--log-level', 'warn'],
      ...(cached ? cacheOptions('prettier') : []),
      ...['apps', 'libs', 'test', 'tools', 'docs', '*.js', '*.md'],
    ],
  ],
  [
    'imports: no cycles, only downwards',
    bin('depcruise'),
    [
      ...['--config', 'tools/imports.config.mjs'],
      ...(cached ? ['--cache', cache('depcruise'), '--cache-strategy', 'content'] : []),
      ...['apps', 'libs'],
    ],
  ],
  [
    'types of specs',
    bin('tsc'),
    [
      ...['-p', 'tsconfig.spec.json'],
      ...(cached ? ['--incremental', '--tsBuildInfoFile', cache('specs.tsbuildinfo')] : []),
    ],
  ],
  ['generated files are up to date', 'npm', ['run', '--silent', 'generate:check']],
];

/** For example "test/heal.e2e.spec.ts › a cluster › gets a new node", or only the path if the file could not be run. */
const failuresIn = ({ name, status, assertionResults }) => {
  const path = relative(root, name);
  const failed = assertionResults.filter((one) => one.status === 'failed');
  if (failed.length === 0) return status === 'failed' ? [path] : [];
  return failed.map(({ ancestorTitles, title }) => [path, ...ancestorTitles, title].join(' › '));
};

const withStatus = ({ assertionResults }, status) => assertionResults.filter((one) => one.status === status).length;

/** Reads a report of jest: the counts, the failed files, and the duration of each file. */
export const countsIn = (file) => {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8'));
    const failedFiles = report.testResults.filter(({ status }) => status === 'failed');
    return {
      passed: report.numPassedTests,
      // A suite that could not be loaded has no tests to count, but is a failure.
      failed: report.numFailedTests + report.numRuntimeErrorTestSuites,
      skipped: report.numPendingTests,
      failedFiles: failedFiles.map((one) => ({
        path: one.name,
        passed: withStatus(one, 'passed'),
        skipped: withStatus(one, 'pending'),
      })),
      failures: report.testResults.flatMap(failuresIn),
      durations: report.testResults.map(({ name, startTime, endTime }) => ({
        path: relative(root, name),
        seconds: (endTime - startTime) / 1000,
      })),
    };
  } catch {
    return BROKEN;
  }
};

/** Calls `work` with the path of a temporary report, and deletes the report afterwards. */
const withReport = (work) => {
  const scratch = mkdtempSync(join(tmpdir(), 'fairlead-test-'));
  const end = () => rmSync(scratch, { recursive: true, force: true });
  const result = work(join(scratch, 'report.json'));
  if (result instanceof Promise) return result.finally(end);
  end();
  return result;
};

const jestCommand = (report, filters, options) => [
  ...JEST,
  '--json',
  `--outputFile=${report}`,
  ...jestArguments(filters, options),
];

/** Runs jest and returns its counts. */
export const jest = (title, options, { filters = [], env = {} } = {}) =>
  withReport((report) => {
    run(title, process.execPath, jestCommand(report, filters, options), env);
    return countsIn(report);
  });

/** Like `jest`, in parallel with other steps. */
export const jestInBackground = (title, options, { filters = [], env = {} } = {}) =>
  withReport(async (report) => {
    const startedAt = Date.now();
    print(title);
    const child = spawn(process.execPath, jestCommand(report, filters, options), {
      ...{ cwd: root, stdio: 'inherit', env: { ...process.env, ...env } },
    });
    const outcome = await new Promise((resolve) => child.on('close', (status, signal) => resolve({ status, signal })));
    reportEnd(title, startedAt, outcome);
    return countsIn(report);
  });

/**
 * Runs the failed files again, one at a time, when nothing else is running, to distinguish a busy machine from a real
 * fault. Tests that pass in the second run are counted as passed and listed as flaky.
 */
export const rerunFailed = (counts, options, { env = {} } = {}) => {
  const { failedFiles = [] } = counts;
  if (failedFiles.length === 0 || failedFiles.length > RERUN_MAX) return counts;
  const paths = failedFiles.map(({ path }) => path);
  const title = `again, one by one: ${paths.map((path) => relative(root, path)).join(', ')}`;
  const others = options.filter((option) => !option.startsWith('--maxWorkers'));
  const rerun = jest(title, [...others, '--maxWorkers=1', '--forceExit', '--runTestsByPath', ...paths], { env });
  const failedTwice = new Set((rerun.failedFiles ?? []).map(({ path }) => path));
  const first = sum(failedFiles.map(({ passed, skipped }) => ({ passed, skipped, failed: 0 })));
  return {
    passed: counts.passed - first.passed + rerun.passed,
    failed: rerun.failed,
    skipped: counts.skipped - first.skipped + rerun.skipped,
    flaky: rerun === BROKEN ? [] : paths.filter((path) => !failedTwice.has(path)).map((path) => relative(root, path)),
    failures: rerun === BROKEN ? counts.failures : rerun.failures,
    durations: counts.durations,
  };
};

/** Runs a program that writes `{"passed": 1, "failed": 0, "skipped": 0}` to the file that `args` receives. */
export const counted = (title, command, args, env = {}) =>
  withReport((report) => {
    const ok = run(title, command, args(report), { ...env, FAIRLEAD_TEST_REPORT: report });
    try {
      return JSON.parse(readFileSync(report, 'utf8'));
    } catch {
      // The program failed before it wrote its counts.
      return ok ? NOTHING : checked(false, title);
    }
  });

/** Writes the report for `counted`, if `counted` has started this program. */
export const writeReport = ({ passed, failed, skipped, flaky, failures }) => {
  const report = process.env.FAIRLEAD_TEST_REPORT;
  if (report !== undefined) writeFileSync(report, `${JSON.stringify({ passed, failed, skipped, flaky, failures })}\n`);
};

export const checked = (ok, title) => ({
  ...{ passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 },
  failures: ok ? [] : [title],
});

export const sum = (counts) => {
  const of = (key) => counts.reduce((total, count) => total + count[key], 0);
  const all = (key) => counts.flatMap((count) => count[key] ?? []);
  return {
    ...{ passed: of('passed'), failed: of('failed'), skipped: of('skipped') },
    ...{ flaky: all('flaky'), failures: all('failures'), durations: all('durations') },
  };
};

/** The last line of a run, preceded by the failed and the flaky tests. */
export const lineOf = ({ passed, failed, skipped, flaky = [], failures = [] }) =>
  [
    ...failures.slice(0, FAILURES_SHOWN_MAX).map((failure) => `!!! FAILED: ${failure}`),
    ...(flaky.length > 0 ? [`!!! FLAKY, passed only when run again alone: ${flaky.join(', ')}`] : []),
    `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
  ].join('\n');

/** The slowest files, slowest first. */
export const slowestOf = ({ durations = [] }) =>
  [...durations]
    .sort((one, other) => other.seconds - one.seconds)
    .slice(0, SLOWEST_MAX)
    .map(({ path, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${path}\n`)
    .join('');

/** For example "npm test took 11 min 20 s". */
export const tookLine = (command, startedAt) => {
  const seconds = Math.round(secondsSince(startedAt));
  const minutes = Math.floor(seconds / 60);
  return `${command} took ${minutes > 0 ? `${minutes} min ` : ''}${seconds % 60} s\n`;
};

// What the test commands share: how a step is run and told, what jest counted, and the line that everything ends with.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jestArguments } from './jest.arguments.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (name) => join(root, 'node_modules', '.bin', name);
const JEST = ['--experimental-vm-modules', '--no-warnings', join(root, 'node_modules', 'jest', 'bin', 'jest.js')];
/** Specs that run beside a check go first: nothing that asserts timing waits for a linter. */
export const LOW_PRIORITY = 10;

export const NOTHING = { passed: 0, failed: 0, skipped: 0 };
const BROKEN = { passed: 0, failed: 1, skipped: 0 };
/** More failed files than this are a failure of the change, not of a busy machine. */
const AGAIN_MAX = 4;

const say = (sentence) => process.stdout.write(`==> ${sentence}\n`);

const told = (title, startedAt, { status, signal }) => {
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  say(`${title}: ${status === 0 ? 'ok' : `failed (${signal ?? `exit code ${status}`})`} after ${seconds} s`);
  return status === 0;
};

/** Runs a step; what it says is shown. Answers whether it went well. */
export const run = (title, command, args, env = {}) => {
  const startedAt = Date.now();
  say(title);
  return told(
    title,
    startedAt,
    spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } }),
  );
};

/** Runs a step beside others; what it says is shown when it has ended. Resolves to whether it went well. */
export const runBeside = async (title, command, args, { priority = 0 } = {}) => {
  const startedAt = Date.now();
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(chunk));
  const ended = new Promise((resolve) => {
    child.on('error', (error) => {
      said.push(Buffer.from(`${error.message}\n`));
      resolve({ status: 1, signal: null });
    });
    child.on('close', (status, signal) => resolve({ status, signal }));
  });
  try {
    setPriority(child.pid, priority);
  } catch {
    // It has ended already, or could not be started, which is told below.
  }
  const outcome = await ended;
  process.stdout.write(Buffer.concat(said));
  return told(title, startedAt, outcome);
};

/** What everything begins with: the checkout as `npm start` makes it. */
export const prepare = () =>
  run('prepare: install and build', process.execPath, [join(root, 'tools', 'start.mjs'), '--prepare-only']);

/** `cached`: what has not changed since the last run is not looked at again. */
export const lintStep = (cached = false) => [
  'lint',
  bin('eslint'),
  ['--max-warnings', '0', ...(cached ? cacheOf('eslint') : []), 'apps', 'libs', 'test', 'tools'],
];
const cacheOf = (tool) => [
  ...['--cache', '--cache-strategy', 'content', '--cache-location'],
  join(root, 'node_modules', '.cache', 'fairlead', tool),
];
export const checkSteps = (cached = false) => [
  [
    'format',
    bin('prettier'),
    [
      ...['--check', '--log-level', 'warn'],
      ...(cached ? cacheOf('prettier') : []),
      'apps',
      'libs',
      'test',
      'tools',
      '*.js',
    ],
  ],
  ['imports: no cycles, only downwards', bin('depcruise'), ['--config', 'tools/imports.config.mjs', 'apps', 'libs']],
  ['types of specs', bin('tsc'), ['-p', 'tsconfig.spec.json']],
  ['generated files are up to date', 'npm', ['run', '--silent', 'generate:check']],
];

const withStatus = ({ assertionResults }, status) => assertionResults.filter((one) => one.status === status).length;

const countsIn = (file) => {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8'));
    const failedFiles = report.testResults.filter(({ status }) => status === 'failed');
    return {
      passed: report.numPassedTests,
      // A suite that could not even be loaded has no tests to count, and is a failure all the same.
      failed: report.numFailedTests + report.numRuntimeErrorTestSuites,
      skipped: report.numPendingTests,
      failedFiles: failedFiles.map((one) => ({
        path: one.name,
        passed: withStatus(one, 'passed'),
        skipped: withStatus(one, 'pending'),
      })),
    };
  } catch {
    return BROKEN;
  }
};

const inScratch = (work) => {
  const scratch = mkdtempSync(join(tmpdir(), 'fairlead-test-'));
  const end = () => rmSync(scratch, { recursive: true, force: true });
  const result = work(join(scratch, 'report.json'));
  if (!(result instanceof Promise)) {
    end();
    return result;
  }
  return result.finally(end);
};

const reportedTo = (report, filters, options) => [
  ...JEST,
  '--json',
  `--outputFile=${report}`,
  ...jestArguments(filters, options),
];

/** Runs jest and answers what it counted. */
export const jest = (title, options, { filters = [], env = {} } = {}) =>
  inScratch((report) => {
    run(title, process.execPath, reportedTo(report, filters, options), env);
    return countsIn(report);
  });

/** The same while other steps run. */
export const jestBesides = (title, options, { filters = [], env = {} } = {}) =>
  inScratch(async (report) => {
    const startedAt = Date.now();
    say(title);
    const child = spawn(process.execPath, reportedTo(report, filters, options), {
      ...{ cwd: root, stdio: 'inherit', env: { ...process.env, ...env } },
    });
    const outcome = await new Promise((resolve) => child.on('close', (status, signal) => resolve({ status, signal })));
    told(title, startedAt, outcome);
    return countsIn(report);
  });

/**
 * Runs files that failed once more, one after the other, when nothing else runs: a busy machine is told from a wrong program, and the names
 * of what passed only then are printed and counted as flaky. What fails again has failed.
 */
export const failedAgain = (counts, options, { env = {} } = {}) => {
  const { failedFiles = [] } = counts;
  if (failedFiles.length === 0 || failedFiles.length > AGAIN_MAX) return counts;
  const paths = failedFiles.map(({ path }) => path);
  const title = `again, one by one: ${paths.map((path) => relative(root, path)).join(', ')}`;
  const again = jest(title, [...options, '--maxWorkers=1', '--forceExit', '--runTestsByPath', ...paths], { env });
  const still = new Set((again.failedFiles ?? []).map(({ path }) => path));
  const before = sum(failedFiles.map(({ passed, skipped }) => ({ passed, skipped, failed: 0 })));
  return {
    passed: counts.passed - before.passed + again.passed,
    failed: again.failed,
    skipped: counts.skipped - before.skipped + again.skipped,
    flaky: again === BROKEN ? [] : paths.filter((path) => !still.has(path)).map((path) => relative(root, path)),
  };
};

/** Runs a program that writes `{"passed": 1, "failed": 0, "skipped": 0}` to the file that `args` is given. */
export const counted = (title, command, args, env = {}) =>
  inScratch((report) => {
    const ok = run(title, command, args(report), { ...env, FAIRLEAD_TEST_REPORT: report });
    try {
      return JSON.parse(readFileSync(report, 'utf8'));
    } catch {
      // Something broke before it could be counted.
      return ok ? NOTHING : BROKEN;
    }
  });

export const checked = (ok) => ({ passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 });

export const sum = (counts) => {
  const of = (key) => counts.reduce((total, count) => total + count[key], 0);
  const flaky = counts.flatMap((count) => count.flaky ?? []);
  return { passed: of('passed'), failed: of('failed'), skipped: of('skipped'), flaky };
};

/** The plain line that a run ends with, and before it what passed only when it was run again. */
export const lineOf = ({ passed, failed, skipped, flaky = [] }) =>
  `${flaky.length > 0 ? `!!! FLAKY, passed only when run again alone: ${flaky.join(', ')}\n` : ''}${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`;

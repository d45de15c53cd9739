// What `npm test` runs: prepares the checkout like `npm start`, then lint, types of specs, drift of generated files, every spec,
// and the stories of real Kubernetes on real hosts where this machine can have them and the time suffices.
// It ends with the plain line `N passed, N failed[, N skipped]`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jestArguments, SPECS, STORIES } from './jest.arguments.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const filters = process.argv.slice(2);
const begunAt = Date.now();
/** Real stories that would not end within so many minutes after the beginning are left out, loudly. */
const MINUTES = Number(process.env.FAIRLEAD_TEST_MINUTES ?? 50);
/** The order is by what each shows, since the time may not suffice for all; an empty FAIRLEAD_REAL_STORIES leaves them out. */
const REAL_STORIES = (process.env.FAIRLEAD_REAL_STORIES ?? 'create ssh kill').split(' ').filter(Boolean);

const run = (title, command, args, env = {}) => {
  const startedAt = Date.now();
  process.stdout.write(`==> ${title}\n`);
  const { status, signal } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  process.stdout.write(
    `==> ${title}: ${status === 0 ? 'ok' : `failed (${signal ?? `exit code ${status}`})`} after ${seconds} s\n`,
  );
  return status === 0;
};

const bin = (name) => join(root, 'node_modules', '.bin', name);

const jestCounts = (file) => {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8'));
    // A suite that could not even be loaded has no tests to count, and is a failure all the same.
    return {
      passed: report.numPassedTests,
      failed: report.numFailedTests + report.numRuntimeErrorTestSuites,
      skipped: report.numPendingTests,
    };
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
};

if (!run('prepare: install and build', process.execPath, [join(root, 'tools', 'start.mjs'), '--prepare-only'])) {
  process.stdout.write('0 passed, 1 failed\n');
  process.exit(1);
}

const checks =
  filters.length > 0
    ? []
    : [
        run('lint', bin('eslint'), ['--max-warnings', '0', 'apps', 'libs', 'test', 'tools']),
        run('format', bin('prettier'), ['--check', '--log-level', 'warn', 'apps', 'libs', 'test', 'tools', '*.js']),
        run('types of specs', bin('tsc'), ['-p', 'tsconfig.spec.json']),
        run('generated files are up to date', 'npm', ['run', '--silent', 'generate:check']),
      ];

const scratch = mkdtempSync(join(tmpdir(), 'fairlead-test-'));

const jest = (title, options) => {
  const report = join(scratch, `${title.replaceAll(' ', '-')}.json`);
  run(title, process.execPath, [
    '--experimental-vm-modules',
    '--no-warnings',
    join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
    '--json',
    `--outputFile=${report}`,
    ...jestArguments(filters, options),
  ]);
  return jestCounts(report);
};

/** They write down their counts themselves; without these something broke before it could be counted. */
const realHosts = () => {
  const report = join(scratch, 'real-hosts.json');
  const minutes = (MINUTES - (Date.now() - begunAt) / 60_000).toFixed(1);
  const options = ['--if-possible', `--minutes=${minutes}`, `--report=${report}`];
  run('stories: real hosts', process.execPath, [join(root, 'tools', 'e2e-real.mjs'), ...options, ...REAL_STORIES]);
  try {
    return JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
};

// Stories run the whole product and take the machine for themselves.
const counts = [
  jest('specs: unit, int, sim', SPECS),
  jest('stories: e2e', STORIES),
  ...(filters.length === 0 && REAL_STORIES.length > 0 ? [realHosts()] : []),
];
rmSync(scratch, { recursive: true, force: true });
const sum = (key) => counts.reduce((total, count) => total + count[key], 0);
const specs = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };

const passed = specs.passed + checks.filter(Boolean).length;
const failed = specs.failed + checks.filter((ok) => !ok).length;
process.stdout.write(`${passed} passed, ${failed} failed${specs.skipped > 0 ? `, ${specs.skipped} skipped` : ''}\n`);
process.exit(failed === 0 && specs.passed > 0 ? 0 : 1);

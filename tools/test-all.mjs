// `npm run test:all`: `npm test`, the parts that it omits, and schemathesis against a running gateway if it is
// installed. Before the last lines it prints `N passed, N failed[, N skipped]` for all counted tests.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { counted, lineOf, root, sum } from './runs.mjs';

const schemathesis = process.env.SCHEMATHESIS ?? 'schemathesis';

const run = (command, args) => spawnSync(command, args, { cwd: root, stdio: 'inherit' }).status === 0;

const trial = () => {
  const { status, stdout } = spawnSync(schemathesis, ['--version'], { encoding: 'utf8' });
  if (status !== 0) {
    process.stdout.write(
      `==> schemathesis: NOT RUN, because ${schemathesis} is not installed. Install it (pip install schemathesis==4.32.5) and name it: SCHEMATHESIS=<path>\n`,
    );
    return true;
  }
  process.stdout.write(`==> schemathesis: ${stdout.trim()}\n`);
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const options = ['--experimental-vm-modules', '--no-warnings', jest, '--forceExit', '--runInBand'];
  const ok = run(process.execPath, [...options, '--testMatch', '**/test/schemathesis.trial.ts']);
  process.stdout.write(`==> schemathesis: ${ok ? 'ok' : 'failed'}\n`);
  return ok;
};

const tests = () => {
  const rest = [join(root, 'tools', 'test-rest.mjs')];
  const counts = sum([
    counted('npm test', 'npm', () => ['test']),
    counted('what npm test leaves out', process.execPath, () => rest),
  ]);
  process.stdout.write(lineOf(counts));
  return counts.failed === 0;
};

const tested = process.argv.includes('--only-schemathesis') || tests();
const tried = trial();
process.exit(tested && tried ? 0 : 1);

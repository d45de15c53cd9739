// What `npm run test:all` runs: `npm test`, and schemathesis against a running gateway, where it is installed.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
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

const tested = process.argv.includes('--only-schemathesis') || run('npm', ['test']);
const tried = trial();
process.exit(tested && tried ? 0 : 1);

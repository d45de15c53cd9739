// What `npm run check` runs before a change is handed over: lint, format, types of specs, drift of generated files, packages of others,
// and the specs without I/O. `npm test` runs everything.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (name) => join(root, 'node_modules', '.bin', name);
const node = process.execPath;

const STEPS = [
  ['prepare: install and build', node, [join(root, 'tools', 'start.mjs'), '--prepare-only']],
  ['lint', bin('eslint'), ['--max-warnings', '0', 'apps', 'libs', 'test', 'tools']],
  ['format', bin('prettier'), ['--check', '--log-level', 'warn', 'apps', 'libs', 'test', 'tools', '*.js']],
  ['types of specs', bin('tsc'), ['-p', 'tsconfig.spec.json']],
  ['generated files are up to date', 'npm', ['run', '--silent', 'generate:check']],
  ['packages of others', node, [join(root, 'tools', 'packages.mjs')]],
  [
    'unit specs',
    node,
    [
      '--experimental-vm-modules',
      '--no-warnings',
      join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
      '\\.unit\\.spec\\.ts$',
    ],
  ],
];

const failed = STEPS.filter(([title, command, args]) => {
  const startedAt = Date.now();
  process.stdout.write(`==> ${title}\n`);
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  process.stdout.write(`==> ${title}: ${status === 0 ? 'ok' : 'failed'} after ${seconds} s\n`);
  return status !== 0;
});
process.stdout.write(
  failed.length === 0 ? 'check passed\n' : `check failed: ${failed.map(([title]) => title).join(', ')}\n`,
);
process.exit(failed.length === 0 ? 0 : 1);

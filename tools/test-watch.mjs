// `npm run test:watch [-- path ...]`: runs the specs without I/O and ten seeds of the simulations, and runs them again
// when a file that they import changes. With paths: all specs in those paths, except for stories. Press Ctrl-C to stop.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { jestArguments, QUICK, SPECS } from './jest.arguments.mjs';
import { root } from './runs.mjs';

const filters = process.argv.slice(2);
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const options = filters.length > 0 ? SPECS : QUICK;
const { status } = spawnSync(
  process.execPath,
  ['--experimental-vm-modules', '--no-warnings', jest, '--watch', ...jestArguments(filters, options)],
  { cwd: root, stdio: 'inherit', env: { ...process.env, SIM_SEEDS: process.env.SIM_SEEDS ?? '10' } },
);
process.exit(status ?? 1);

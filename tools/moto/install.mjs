// npm run moto:install: moto, a simulation of AWS, into the cache, where `npm test` finds it
// (apps/infra-svc/src/adapters/aws/moto.fixtures.ts). Needs python3 with venv, and a package index.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder } from '@fairlead/mirror';

const requirements = fileURLToPath(new URL('requirements.txt', import.meta.url));
const folder = join(cacheFolder(process.env), 'moto');

const run = (command, ...args) => {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  if (status === 0) return;
  rmSync(folder, { recursive: true, force: true });
  process.stderr.write(`${command} ${args.join(' ')}: ${error?.message ?? `exit code ${status}`}\n`);
  process.exit(1);
};

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
run('python3', '-m', 'venv', folder);
run(join(folder, 'bin', 'pip'), 'install', '--quiet', '--disable-pip-version-check', '-r', requirements);
writeFileSync(join(folder, 'installed'), '');

// `npm run chaos -- [--minutes N] [--seed N] [--keep]`: prepares the checkout, compiles test/chaos into one file, and
// runs it in this process.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const prepared = spawnSync(process.execPath, [join(root, 'tools', 'start.mjs'), '--prepare-only'], {
  stdio: ['inherit', 2, 2],
});
if (prepared.status !== 0) process.exit(prepared.status ?? 1);

const { build } = await import('esbuild');
const outfile = join(root, 'dist', 'chaos', 'chaos.mjs');
await build({
  entryPoints: [join(root, 'test', 'chaos', 'chaos.ts')],
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
});
await import(pathToFileURL(outfile).href);

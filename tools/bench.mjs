// `npm run bench`: prepares the checkout, compiles test/bench, and runs it in this process.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const prepared = spawnSync(process.execPath, [join(root, 'tools', 'start.mjs'), '--prepare-only'], {
  stdio: ['inherit', 2, 2],
});
if (prepared.status !== 0) process.exit(prepared.status ?? 1);

const { build } = await import('esbuild');
const outdir = join(root, 'dist', 'bench');
await build({
  entryPoints: ['bench.ts', 'hostile.worker.ts', 'replica.worker.ts', 'yardstick.worker.ts'].map((file) =>
    join(root, 'test', 'bench', file),
  ),
  outdir,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
});
await import(pathToFileURL(join(outdir, 'bench.mjs')).href);

// Builds the operator's page (apps/web) into apps/web/dist/page, from which the gateway serves it. With --if-changed it
// does nothing if the sources are those of the last build. The served page is replaced atomically when the build is
// complete.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const root = fileURLToPath(new URL('..', import.meta.url));
const web = join(root, 'apps', 'web');
const built = join(web, 'dist', 'page');
const stamp = join(web, 'dist', 'page.sha256');
/** Unique per process, so that concurrent builds do not conflict. */
const fresh = join(web, 'dist', `page.${process.pid}`);

const READ = [
  join(web, 'index.html'),
  join(web, 'vite.config.mjs'),
  join(root, 'package-lock.json'),
  ...['contracts', 'domain', 'parsers'].map((library) => join(root, 'libs', library, 'src')),
  fileURLToPath(import.meta.url),
];

const filesIn = (at) =>
  readdirSync(at, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

const fingerprint = () => {
  const hash = createHash('sha256');
  const files = [join(web, 'src'), ...READ].flatMap((at) => (/\.\w+$/.test(at) ? [at] : filesIn(at)));
  for (const file of files.sort())
    if (!file.includes('.spec.')) hash.update(file.slice(root.length)).update(readFileSync(file));
  return hash.digest('hex');
};

/** Smaller files are not compressed: the saving is negligible. */
const COMPRESSED_BYTES_MIN = 512;

const compress = (folder) => {
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name));
    if (bytes.length < COMPRESSED_BYTES_MIN || !/\.(js|css|svg|json|md)$/.test(name)) continue;
    writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    writeFileSync(
      join(folder, `${name}.br`),
      brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
    );
  }
};

const current = fingerprint();
const isBuilt = existsSync(join(built, 'index.html')) && existsSync(stamp) && readFileSync(stamp, 'utf8') === current;
if (!(process.argv.includes('--if-changed') && isBuilt)) {
  const { build } = await import('vite');
  mkdirSync(join(web, 'dist'), { recursive: true });
  try {
    await build({ configFile: join(web, 'vite.config.mjs'), build: { outDir: fresh } });
    compress(join(fresh, 'assets'));
    rmSync(built, { recursive: true, force: true });
    renameSync(fresh, built);
    writeFileSync(stamp, current);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

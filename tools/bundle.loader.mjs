// Runs bundle.cjs in this folder with V8's code cache from an earlier start: compilation takes most of a program's
// startup time. The cache file lies beside the bundle, and its name contains a hash of the bundle and the version of
// V8. In a read-only folder there is no cache, and startup is slightly slower. Node 22 and later have a similar cache
// in node:module.
import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';
import vm from 'node:vm';

/** After this time a service has run most of its code paths, and V8 has compiled them. */
const KEEP_AFTER_MS = 5_000;

const bundle = fileURLToPath(new URL('bundle.cjs', import.meta.url));
const kept = `${bundle}.$SHA256.v8-${process.versions.v8}`;

const read = () => {
  try {
    return readFileSync(kept);
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'EACCES') return undefined;
    throw error;
  }
};

const keep = (script) => {
  const beside = `${kept}.${process.pid}`;
  try {
    // Opened first: creating the cache allocates about 20 MB, so it is skipped where the file cannot be written.
    const file = openSync(beside, 'w');
    try {
      writeFileSync(file, script.createCachedData());
    } finally {
      closeSync(file);
    }
    renameSync(beside, kept);
  } catch (error) {
    if (!['EACCES', 'EROFS', 'ENOSPC', 'ENOENT', 'EPERM'].includes(error.code)) throw error;
    rmSync(beside, { force: true });
  }
};

// Node 21 and later define this. The PostgreSQL driver reads it to detect Cloudflare's runtime, and loads all of fetch
// if it is missing.
globalThis.navigator ??= { userAgent: `Node.js/${process.versions.node.split('.')[0]}` };

// Runs a full collection when the heap has grown by half. The default is up to 300 % on a machine with much memory.
v8.setFlagsFromString('--heap-growing-percent=50');

// Without importModuleDynamically: cached code does not support import(), so the bundle contains none (see bundle.mjs).
// The source and the cached code are not assigned to variables: each is tens of megabytes, and this module would keep
// them from being freed. The bundle is ASCII (esbuild escapes other characters), which is read faster as latin1 than as
// UTF-8.
const script = new vm.Script(readFileSync(bundle, 'latin1'), { filename: bundle, cachedData: read() });
if (script.cachedDataRejected !== false) {
  const once = () => {
    process.off('exit', once);
    clearTimeout(timer);
    keep(script);
  };
  const timer = setTimeout(once, KEEP_AFTER_MS).unref();
  process.once('exit', once);
}
const module = { exports: {} };
script.runInThisContext()(module.exports, createRequire(bundle), module, bundle, dirname(bundle));

// Runs bundle.cjs beside it with the code that V8 compiled the last time: most of a program's start is compiling.
// The compiled code lies beside the bundle under a name that says of which bytes and by which V8; where it cannot be kept
// (a read-only folder) the program starts a little slower, that is all. From Node 22 on, node:module has the like built in.
import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';
import vm from 'node:vm';

/** By then a service has done most things once, and V8 has compiled what they need. */
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
    // Opened first: making the compiled code leaves some 20 MB allocated, so it is not made where it cannot be kept.
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

// As Node itself from 21 on. The PostgreSQL driver uses it to detect Cloudflare's runtime; where there is none it loads all of fetch to find out.
globalThis.navigator ??= { userAgent: `Node.js/${process.versions.node.split('.')[0]}` };

// A full collection when the heap has grown by half, instead of by up to 300 % on a machine with much memory.
v8.setFlagsFromString('--heap-growing-percent=50');

// No loader for import(): code that was kept cannot use one, so the bundle has none (see bundle.mjs).
// Neither the text nor the compiled code is named here: each is tens of megabytes, which nothing frees while this module names them.
// All of it is ASCII (esbuild escapes the rest), and that is read faster than UTF-8.
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

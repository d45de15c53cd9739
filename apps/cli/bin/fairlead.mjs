#!/usr/bin/env node
// The entry point of `fairlead`. Plain JavaScript in syntax that an old Node can parse, so that it can print that it is
// too old.
import { existsSync, readdirSync, statSync } from 'fs';
import { join } from 'path';
import { fileURLToPath, pathToFileURL } from 'url';

const fail = (sentence) => {
  process.stderr.write('Error: ' + sentence + '\n');
  process.exit(1);
};

// Must match `engines` in package.json: ^20.19.0 || >=22.12.0.
const [major, minor] = process.versions.node.split('.').map(Number);
if (!((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22)) {
  fail('Fairlead needs Node.js 20.19 or newer of 20, or 22.12 or newer; this is ' + process.versions.node + '.');
}

const root = fileURLToPath(new URL('../../..', import.meta.url));
const main = join(root, 'apps', 'cli', 'dist', 'main.js');
const bundle = join(root, 'apps', 'cli', 'dist', 'bundle.mjs');
if (!existsSync(main)) fail('Fairlead is not built yet. Run "npm start" once, or "npm run build".');

/**
 * When the compiler last wrote a file in any project: an older bundle would run old code. (`fairlead up` uses the same
 * check for services.)
 */
const compiledAtMs = () =>
  Math.max(
    ...['apps', 'libs'].flatMap((group) =>
      readdirSync(join(root, group)).map((project) => {
        const stamp = join(root, group, project, 'dist', '.tsbuildinfo');
        return existsSync(stamp) ? statSync(stamp).mtimeMs : 0;
      }),
    ),
  );

const program = existsSync(bundle) && statSync(bundle).mtimeMs >= compiledAtMs() ? bundle : main;
process.argv[1] = program;
import(pathToFileURL(program).href).catch((error) => fail(error.stack));

#!/usr/bin/env node
// The command `fairlead`. Plain JavaScript in words that an old Node can read, so that it gets to the sentence that says it is too old.
import { existsSync } from 'fs';
import { fileURLToPath, pathToFileURL } from 'url';

const fail = (sentence) => {
  process.stderr.write('Error: ' + sentence + '\n');
  process.exit(1);
};

// As `engines` in package.json: ^20.19.0 || >=22.12.0.
const [major, minor] = process.versions.node.split('.').map(Number);
if (!((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22)) {
  fail('Fairlead needs Node.js 20.19 or newer of 20, or 22.12 or newer; this is ' + process.versions.node + '.');
}

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
if (!existsSync(main)) fail('Fairlead is not built yet. Run "npm start" once, or "npm run build".');
process.argv[1] = main;
import(pathToFileURL(main).href).catch((error) => fail(error.stack));

// Jest loads every module again for each spec file, and most specs import packages of dozens to hundreds of modules. For specs each of
// these is bundled into one file, with what it imports of other packages left as it is. `jest.config.js` maps the names to the files.
// A package whose parts are imported by path from elsewhere, as those of Nest are, cannot be on the list: its classes would exist twice.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
const require = createRequire(import.meta.url);

/** What is imported, how it is imported where both ways exist, and other names of the same. */
const BUNDLES = [
  { name: '@kubernetes/client-node', format: 'esm' },
  { name: '@opentelemetry/api', format: 'cjs' },
  { name: 'es-toolkit/compat', format: 'esm' },
  { name: 'fast-check', format: 'esm' },
  { name: 'prom-client', format: 'cjs' },
  // All operators that Nest takes from there are exported by the package itself.
  { name: 'rxjs', format: 'cjs', alias: 'rxjs/operators' },
  { name: 'typeorm', format: 'cjs' },
  { name: 'yaml', format: 'cjs' },
  { name: 'zod', format: 'esm' },
];

const packageOf = (name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)[0];
const versionOf = (name) => JSON.parse(readFileSync(join(modules, packageOf(name), 'package.json'), 'utf8')).version;
/** A new version of the package or of esbuild is another file. */
const fileOf = ({ name, format }) => {
  const versions = `${versionOf(name)}-${versionOf('esbuild')}`;
  const extension = format === 'esm' ? 'mjs' : 'cjs';
  return join(modules, '.cache', 'fairlead', 'jest', `${name.replaceAll('/', '.')}-${versions}.${extension}`);
};
const entryOf = ({ name, format }) =>
  format === 'esm' ? fileURLToPath(import.meta.resolve(name)) : require.resolve(name);

/** For `moduleNameMapper`. */
export const bundledNames = Object.fromEntries(
  BUNDLES.flatMap((one) => [one.name, one.alias ?? one.name].map((name) => [`^${name}$`, fileOf(one)])),
);

const bundle = async (one) => {
  const file = fileOf(one);
  if (existsSync(file)) return;
  const { outputFiles } = await build({
    ...{ entryPoints: [entryOf(one)], bundle: true, packages: 'external', write: false },
    ...{ platform: 'node', target: 'node20', format: one.format, keepNames: true, minifyWhitespace: true },
    logLevel: 'error',
  });
  mkdirSync(dirname(file), { recursive: true });
  // Another run may be writing it, too: the file appears as a whole.
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, outputFiles[0].contents);
  renameSync(temporary, file);
};

/** Jest's `globalSetup`. */
export default async () => {
  for (const one of BUNDLES) await bundle(one);
};

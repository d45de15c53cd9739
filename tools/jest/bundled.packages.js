// Jest loads every module again for each spec file, and most specs import packages of a hundred to a thousand modules. For specs each of
// these packages is bundled into one file, with what it imports of other packages left as it is. `jest.config.js` maps their names to it.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));
const require = createRequire(import.meta.url);

const FORMATS = { '@kubernetes/client-node': 'esm', 'fast-check': 'esm', typeorm: 'cjs', yaml: 'cjs', zod: 'esm' };

/** A new version of the package or of esbuild is another file. */
const versionOf = (name) => JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version;
const fileOf = (name) =>
  join(
    ...[root, 'node_modules', '.cache', 'fairlead', 'jest'],
    `${name.replace('/', '.')}-${versionOf(name)}-${versionOf('esbuild')}.${FORMATS[name] === 'esm' ? 'mjs' : 'cjs'}`,
  );
const entryOf = (name) => (FORMATS[name] === 'esm' ? fileURLToPath(import.meta.resolve(name)) : require.resolve(name));

/** Goes before the other names of `moduleNameMapper`. */
export const bundledNames = Object.fromEntries(Object.keys(FORMATS).map((name) => [`^${name}$`, fileOf(name)]));

const bundle = async (name) => {
  const file = fileOf(name);
  if (existsSync(file)) return;
  const { outputFiles } = await build({
    ...{ entryPoints: [entryOf(name)], bundle: true, packages: 'external', write: false },
    ...{
      platform: 'node',
      target: 'node20',
      format: FORMATS[name],
      keepNames: true,
      minifyWhitespace: true,
      logLevel: 'error',
    },
  });
  mkdirSync(dirname(file), { recursive: true });
  // Another run may be at it: the file appears as a whole.
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, outputFiles[0].contents);
  renameSync(temporary, file);
};

/** Jest's `globalSetup`. */
export default async () => {
  for (const name of Object.keys(FORMATS)) await bundle(name);
};

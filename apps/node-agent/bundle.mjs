/**
 * Builds dist/agent.mjs: the agent with all its dependencies in one file for a bare Node.js. The output is
 * reproducible, because hosts compare its SHA-256.
 */
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const outfile = join(here, 'dist/agent.mjs');
/**
 * Each agent compiles the whole file at its start, so the file must not contain anything that an agent does not need.
 */
const BYTES_MAX = 650_000;

const { version } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));

/** zod contains its error messages in fifty languages; those of the agent are needed only in English. */
const englishOnly = {
  name: 'english-only',
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
      loader: 'js',
    }));
  },
};

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: [relative(root, join(here, 'src/main.ts'))],
  outfile,
  write: false,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // The file is copied to every host over SSH. Functions and classes keep their names, so that stack traces are
  // readable.
  minify: true,
  keepNames: true,
  legalComments: 'eof',
  alias: {
    '@fairlead/contracts': './libs/contracts/src/index.ts',
    '@fairlead/embedded/credentials': './libs/embedded/src/credentials.ts',
    '@fairlead/parsers': './libs/parsers/src/index.ts',
  },
  define: { 'process.env.FAIRLEAD_AGENT_VERSION': JSON.stringify(version) },
  // CommonJS packages in an ES module still import Node.js modules with require.
  banner: {
    js: 'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);',
  },
  plugins: [englishOnly],
  logLevel: 'warning',
});

const bytes = outputFiles[0].contents;
if (bytes.length > BYTES_MAX) throw new Error(`${outfile} has ${bytes.length} bytes, more than ${BYTES_MAX}`);
// Replaced atomically, so that concurrent readers see the old file or the new one.
mkdirSync(dirname(outfile), { recursive: true });
writeFileSync(`${outfile}.${process.pid}`, bytes);
renameSync(`${outfile}.${process.pid}`, outfile);
console.log(`agent.mjs ${version} ${bytes.length} bytes sha256 ${createHash('sha256').update(bytes).digest('hex')}`);

// Bundles each program into one file in its dist folder, so that it starts two to three times as fast. `bundle.mjs` is
// the entry point; it runs `bundle.cjs`, which is a single function (see bundle.loader.mjs).
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

const root = fileURLToPath(new URL('..', import.meta.url));
const PROGRAMS = [
  'apps/gateway',
  'apps/infra-svc',
  'apps/bootstrap-svc',
  'apps/upgrade-svc',
  'apps/revoker',
  'apps/tunnel',
  'apps/cli',
];
/**
 * Loads agents, which are ES modules, by import(). Cached code does not support import(), so this program is compiled
 * at each start.
 */
const IMPORTING_PROGRAMS = ['apps/lab'];

/** Optional dependencies of our packages, which look for them at run time. */
const OPTIONAL = [
  '@nestjs/websockets',
  '@nestjs/websockets/*',
  'class-transformer',
  'class-transformer/*',
  'class-validator',
  '@grpc/proto-loader',
  'kafkajs',
  'mqtt',
  'amqplib',
  'amqp-connection-manager',
  'ioredis',
  'nats',
  'pg-native',
  'cpu-features',
  '*.node',
  '@fastify/*',
  '@as-integrations/*',
  'swagger-ui-dist',
  // Drivers of databases that Fairlead does not use.
  '@google-cloud/spanner',
  '@sap/hana-client',
  'better-sqlite3',
  'expo-sqlite',
  'mongodb',
  'mssql',
  'mysql',
  'mysql2',
  'oracledb',
  'pg-query-stream',
  'redis',
  'sql.js',
  'sqlite3',
  'ts-node',
  'typeorm-aurora-data-api-driver',
  'react-native-sqlite-storage',
  'hdb-pool',
  'dotenv',
];

/** Loaded from node_modules by the few who use them: they are large. */
const LOADED_LATER = ['@aws-sdk/*'];

const loader = readFileSync(new URL('bundle.loader.mjs', import.meta.url), 'utf8');

/**
 * Written to a temporary name and renamed: a program that starts at that moment reads either the old file or the new
 * one.
 */
const replace = (file, text) => {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
};

const COMMON = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  external: [...OPTIONAL, ...LOADED_LATER],
  sourcemap: true,
  keepNames: true, // Nest and TypeORM identify classes by their names, and stack traces name functions by them.
  // A program keeps its source in memory. Lines are short, because Node prints the line that threw.
  minify: true,
  lineLimit: 160,
  logLevel: 'warning',
};
/** The wrapper is part of the file: if the loader added it, the source would be in memory twice. */
const WRAPPER = ['(function (exports, require, module, __filename, __dirname) {', '})'];

/** The worker thread of `parseInWorker`, which loads it by this name from the program's folder. */
const PARSE_WORKER = 'parse.worker.js';
const bundleWorker = async (dist) => {
  const entryPoints = [join(root, 'libs/parsers/dist', PARSE_WORKER)];
  const { outputFiles } = await build({ ...COMMON, sourcemap: false, entryPoints, write: false, format: 'esm' });
  replace(join(dist, PARSE_WORKER), outputFiles[0].contents);
};

const bundle = async (folder) => {
  const dist = join(root, folder, 'dist');
  const { outputFiles } = await build({
    ...COMMON,
    entryPoints: [join(dist, 'main.js')],
    outfile: join(dist, 'bundle.cjs'),
    write: false,
    format: 'cjs',
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': '__bundleUrl' },
    banner: { js: `${WRAPPER[0]} const __bundleUrl = require('node:url').pathToFileURL(__filename).href;` },
    footer: { js: WRAPPER[1] },
  });
  const code = outputFiles.find(({ path }) => path.endsWith('.cjs'));
  const sha256 = createHash('sha256').update(code.contents).digest('hex').slice(0, 16);
  for (const { path, contents } of outputFiles) replace(path, contents);
  if (code.text.includes(PARSE_WORKER)) await bundleWorker(dist);
  replace(join(dist, 'bundle.mjs'), loader.replace('$SHA256', sha256));
  for (const name of readdirSync(dist)) {
    if (name.startsWith('bundle.cjs.') && name.includes('.v8-') && !name.includes(sha256)) rmSync(join(dist, name));
  }
};

const importingBundle = (folder) =>
  build({
    ...COMMON,
    entryPoints: [join(root, folder, 'dist', 'main.js')],
    outfile: join(root, folder, 'dist', 'bundle.mjs'),
    format: 'esm',
    // Names are not minified: ssh2 checks whether a channel is a `Session`. keepNames would add a call for each
    // function that is created within a call.
    keepNames: false,
    minify: false,
    minifyWhitespace: true,
    minifySyntax: true,
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; import { fileURLToPath as __toPath } from 'node:url'; import { dirname as __dirnameOf } from 'node:path'; const require = __createRequire(import.meta.url); const __filename = __toPath(import.meta.url); const __dirname = __dirnameOf(__filename);",
    },
  });

const built = (folder) => existsSync(join(root, folder, 'dist', 'main.js'));
await Promise.all([...PROGRAMS.filter(built).map(bundle), ...IMPORTING_PROGRAMS.filter(built).map(importingBundle)]);
// The agent has its own bundler: the bundle is small and reproducible, and contains no runtime resolver.
await import('../apps/node-agent/bundle.mjs');

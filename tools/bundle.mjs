// Makes one file of each program, beside its dist: a program that is one file starts two to three times as fast.
import { build } from 'esbuild';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

const root = fileURLToPath(new URL('..', import.meta.url));
const PROGRAMS = ['apps/gateway', 'apps/infra-svc', 'apps/bootstrap-svc', 'apps/upgrade-svc', 'apps/cli', 'libs/lab'];

/** Optional companions of the packages that we use: they are looked for at run time and may be missing. */
const OPTIONAL = [
  '@nestjs/websockets',
  '@nestjs/websockets/*',
  'class-transformer',
  'class-transformer/*',
  'class-validator',
  '@grpc/*',
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

const bundle = (folder) =>
  build({
    entryPoints: [join(root, folder, 'dist', 'main.js')],
    outfile: join(root, folder, 'dist', 'bundle.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: OPTIONAL,
    sourcemap: true,
    keepNames: true, // Nest and TypeORM tell classes by their names.
    logLevel: 'warning',
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; import { fileURLToPath as __toPath } from 'node:url'; import { dirname as __dirnameOf } from 'node:path'; const require = __createRequire(import.meta.url); const __filename = __toPath(import.meta.url); const __dirname = __dirnameOf(__filename);",
    },
  });

await Promise.all(PROGRAMS.filter((folder) => existsSync(join(root, folder, 'dist', 'main.js'))).map(bundle));
// The agent has a bundle of its own kind: small, the same bytes from the same sources, without a runtime resolver.
await import('../apps/node-agent/bundle.mjs');

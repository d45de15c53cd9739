import { bundledNames } from './tools/jest/bundled.packages.js';

/** One configuration for the whole workspace; the suffix of a spec tells its cost (unit, int, sim, e2e). */
export default {
  testEnvironment: '<rootDir>/tools/jest/node.environment.js',
  globalSetup: '<rootDir>/tools/jest/bundled.packages.js',
  testSequencer: '<rootDir>/tools/jest/sequencer.js',
  roots: ['<rootDir>/libs', '<rootDir>/apps', '<rootDir>/tools', '<rootDir>/test'],
  // Specs of real hosts have a command of their own: npm run e2e:real.
  testMatch: ['**/!(*.real).spec.ts'],
  // A limit, no expectation: a loaded CI machine is several times slower than an idle one.
  testTimeout: 60_000,
  // A worker keeps the modules of every spec file that it ran: beyond this, collecting garbage and forking cost more than a new worker.
  workerIdleMemoryLimit: '1GB',
  modulePathIgnorePatterns: ['/dist/', '/.fairlead/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    ...bundledNames,
    '^@fairlead/lab/(.+)$': '<rootDir>/apps/lab/src/$1.ts',
    '^@fairlead/([^/]+)$': '<rootDir>/libs/$1/src/index.ts',
    '^@fairlead/([^/]+)/(.+)$': '<rootDir>/libs/$1/src/$2.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
        },
      },
    ],
  },
};

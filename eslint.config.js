import regexp from 'eslint-plugin-regexp';
import { readdirSync } from 'node:fs';
import tseslint from 'typescript-eslint';
import { foreignText, OWN_DATA } from './tools/lint/foreign.text.mjs';

/**
 * Taste and boundaries are tests. Between projects: who may import whom. Inside a project: the suffix of a file says its
 * layer, and the layer what it may import (docs/architecture.md, "Import rules"). Every message names the replacement.
 */

const APPS = readdirSync(new URL('apps', import.meta.url)).filter((name) => name !== 'lab');
const app = (name) => ({
  group: [`@fairlead/${name}`, `@fairlead/${name}/*`, `**/apps/${name}/**`],
  message: 'Apps meet only in @fairlead/contracts: publish an event there instead.',
});
const lib = (name, message) => ({ group: [`@fairlead/${name}`, `@fairlead/${name}/*`], message });

const NO_OTHER_APPS = [
  ...APPS.map(app),
  {
    group: ['@fairlead/lab', '@fairlead/lab/*', '**/apps/lab/**'],
    message: 'Only specs use the lab, by @fairlead/lab/testing.',
  },
  {
    group: [
      ...['@fairlead/testing', '@fairlead/testing/*', '@fairlead/embedded/testing'],
      ...['@fairlead/event-sourcing/spec', '@fairlead/event-sourcing/simulation'],
    ],
    message: 'Only specs, fixtures and simulations may import what is made for tests.',
  },
];
const SHELL_PACKAGES = [
  'node:*',
  '@nestjs/*',
  '@nats-io/*',
  'pg',
  'typeorm',
  'node-ssh',
  'ssh2',
  '@kubernetes/*',
  'rxjs',
  'fs',
  'crypto',
  'path',
];

const WEAK_TIMEOUT = "CallExpression[callee.object.name='AbortSignal'][callee.property.name='timeout']";
/** The timer of AbortSignal.timeout knows its signal only weakly, and AbortSignal.any knows its sources only weakly. */
const signalsThatHold = [
  'CallExpression[callee.object.name="AbortSignal"][callee.property.name="any"] ',
  'VariableDeclarator > ',
  'ReturnStatement > ',
  'ArrowFunctionExpression > ',
].map((place) => ({
  selector: `${place}${WEAK_TIMEOUT}`,
  message:
    'A signal of AbortSignal.timeout that is combined with others is garbage-collected and never aborts: use deadlineAfter or inTime, and hand AbortSignal.timeout only straight to whoever listens to it.',
}));

const PURE_FILES = [
  '**/*.decider.ts',
  '**/*.reconciler.ts',
  '**/*.planner.ts',
  '**/*.projection.ts',
  '**/*.evolve.ts',
  '**/*.rules.ts',
  '**/*.{state,view,views,fold,facts,conditions,text,words,verdict,status,faults,failure,columns,record,policy}.ts',
  'libs/node-scripts/src/**/*.ts',
  'libs/contracts/src/**/*.ts',
  'libs/domain/src/**/*.ts',
  'libs/parsers/src/**/!(*worker|certificates).ts',
];
/** Their suffix promises more than they keep; no file is added. */
const NOT_PURE_YET = [
  'apps/node-agent/src/software/unit.state.ts',
  'apps/gateway/src/templates/templates.view.ts',
  'libs/kubernetes/src/cluster/template.view.ts',
  'libs/event-sourcing/src/jetstream/partition.fold.ts',
  'libs/event-sourcing/src/latest.fold.ts',
];
const SPECS = ['**/*.spec.ts', '**/*.features.ts', '**/*.fixtures.ts', '**/test/**/*.ts'];

const pureImports = {
  'no-restricted-imports': [
    'error',
    {
      patterns: [
        ...NO_OTHER_APPS,
        {
          group: SHELL_PACKAGES,
          message:
            'A pure file takes values and returns values: let the shell (*.effects, *.store, *.http, adapters) call this and pass the result in.',
        },
        {
          group: [
            '@fairlead/event-sourcing/jetstream',
            '@fairlead/service-kit',
            '@fairlead/embedded',
            '@fairlead/embedded/*',
          ],
          message:
            'A pure file knows only @fairlead/contracts, @fairlead/domain, @fairlead/event-sourcing and other pure files.',
        },
        {
          group: [
            '**/*.effects.js',
            '**/*.store.js',
            '**/*.queries.js',
            '**/*.http.js',
            '**/*.module.js',
            '**/adapters/**',
          ],
          message: 'A pure file knows no shell file: turn the dependency round.',
        },
      ],
    },
  ],
  'no-restricted-globals': [
    'error',
    { name: 'process', message: 'Take configuration as a value.' },
    { name: 'fetch', message: 'Let the shell call the world and pass the answer in.' },
    { name: 'setTimeout', message: 'Return a timer reaction instead.' },
    { name: 'setInterval', message: 'Return a timer reaction instead.' },
    { name: 'crypto', message: 'Ids and randomness come in as values.' },
  ],
  'no-restricted-syntax': [
    'error',
    {
      selector: "NewExpression[callee.name='Date'][arguments.length=0]",
      message: 'Time comes in as a value: in the command, or as event.meta.time.',
    },
    {
      selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
      message: 'Time comes in as a value: in the command, or as event.meta.time.',
    },
    {
      selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']",
      message: 'Randomness comes in as a value; names are derived, never drawn.',
    },
    { selector: ':function[async=true]', message: 'A pure function answers at once: move the waiting to the shell.' },
    { selector: 'AwaitExpression', message: 'A pure function answers at once: move the waiting to the shell.' },
  ],
};

export default tseslint.config(
  { ignores: ['**/dist/**', '**/node_modules/**', '**/generated/**', '.nx/**', '**/.fairlead/**', 'coverage/**'] },
  {
    files: ['**/*.ts', '**/*.tsx'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: {
        // One program for all files: as many as there are projects would read the same declarations again and again.
        project: ['tsconfig.lint.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    plugins: { '@typescript-eslint': tseslint.plugin },
    linterOptions: { reportUnusedDisableDirectives: 'error', noInlineConfig: true },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': [
        'error',
        { checksVoidReturn: { arguments: false, attributes: false } },
      ],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/prefer-promise-reject-errors': 'error',
      eqeqeq: 'error',
      'no-empty': ['error', { allowEmptyCatch: false }],
      'no-console': 'error',
      'prefer-const': 'error',
      'no-restricted-syntax': ['error', ...signalsThatHold],
      'max-params': ['error', 4],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'no-restricted-imports': ['error', { patterns: NO_OTHER_APPS }],
    },
  },
  {
    files: ['apps/*/src/**/*.ts', 'apps/*/src/**/*.tsx', 'libs/*/src/**/*.ts'],
    ignores: [...SPECS, 'libs/testing/**', ...Object.keys(OWN_DATA).map((at) => (at.endsWith('/') ? `${at}**` : at))],
    plugins: { fairlead: { rules: { 'foreign-text': foreignText } } },
    rules: { 'fairlead/foreign-text': 'error' },
  },
  {
    // A text from outside may be the worst one: no expression takes more than linear time.
    files: ['apps/*/src/**/*.ts', 'apps/*/src/**/*.tsx', 'libs/*/src/**/*.ts'],
    ignores: SPECS,
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }],
    },
  },
  { files: PURE_FILES, ignores: [...SPECS, ...NOT_PURE_YET], rules: pureImports },
  {
    files: ['libs/contracts/src/**/*.ts'],
    ignores: SPECS,
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: ['node:*', '@nestjs/*', '@nats-io/*', '@fairlead/*', '!@fairlead/parsers'],
              message: 'Contracts know zod, semver, croner, ipaddr.js and @fairlead/parsers, and nothing else.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['libs/domain/src/**/*.ts'],
    ignores: SPECS,
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: ['node:*', '@nestjs/*', '@nats-io/*', '@fairlead/*', '!@fairlead/contracts', '!@fairlead/parsers'],
              message:
                'The domain knows @fairlead/contracts, @fairlead/parsers, zod and ipaddr.js: it also runs in a browser.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['**/*.effects.ts', '**/*.store.ts', '**/*.queries.ts', '**/*.http.ts'],
    ignores: SPECS,
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            ...NO_OTHER_APPS,
            { group: ['**/adapters/**'], message: 'Use the port (*.ports.ts) and let the module bring the adapter.' },
          ],
        },
      ],
    },
  },
  {
    files: ['**/adapters/**/*.ts'],
    ignores: SPECS,
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            ...NO_OTHER_APPS,
            {
              group: ['**/*.decider.js', '**/*.projection.js', '**/*.reconciler.js', '**/*.http.js', '**/*.effects.js'],
              message: 'An adapter knows its port and its vendor, no decisions.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['apps/cli/src/**/*.ts'],
    ignores: SPECS,
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            ...NO_OTHER_APPS,
            lib('service-kit', 'The CLI speaks the REST API: use @fairlead/api-client.'),
            {
              // `up` makes the streams by @fairlead/event-sourcing/streams; a group would forbid that too.
              regex: '^@fairlead/event-sourcing$',
              message: 'The CLI decides nothing: use @fairlead/api-client.',
            },
          ],
        },
      ],
      'no-console': 'off',
    },
  },
  {
    files: ['apps/web/src/**/*.ts', 'apps/web/src/**/*.tsx'],
    ignores: SPECS,
    rules: {
      // Markup is long: a component is as long as what it shows.
      'max-lines-per-function': ['error', { max: 100, skipBlankLines: true, skipComments: true }],
      'no-restricted-imports': [
        'error',
        { patterns: [...NO_OTHER_APPS, { group: ['node:*'], message: 'The page runs in a browser.' }] },
      ],
    },
  },
  {
    files: ['apps/node-agent/src/**/*.ts'],
    ignores: SPECS,
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            ...NO_OTHER_APPS,
            {
              group: ['@nestjs/*', 'typeorm', 'pg', '@fairlead/service-kit', '@fairlead/event-sourcing/jetstream'],
              message: 'The agent is small: no Nest, no database.',
            },
          ],
        },
      ],
    },
  },
  {
    files: SPECS,
    rules: {
      'max-lines-per-function': 'off',
      'no-restricted-imports': 'off',
      'no-restricted-globals': 'off',
      'no-restricted-syntax': 'off',
    },
  },
);

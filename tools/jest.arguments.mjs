/**
 * The arguments of jest for the specs, and for the stories, which run the whole product. Many specs wait for NATS,
 * PostgreSQL and SSH, so a third worker is useful on two cores.
 */
export const SPECS = ['--maxWorkers=3', '--testPathIgnorePatterns', '\\.e2e\\.spec\\.ts$'];
// An open handle in a story would keep jest from exiting. Specs must close theirs.
const ENDED_BY_FORCE = ['--forceExit', '--testMatch'];
const ONE_BY_ONE = ['--maxWorkers=1', ...ENDED_BY_FORCE];
export const STORIES = [...ONE_BY_ONE, '**/*.e2e.spec.ts'];

/**
 * Stories that take longer than 20 s on two cores: `npm test` runs them only if their path is given; `npm run test:all`
 * always does.
 */
export const LONG_STORIES = [
  'test/addon-upgrades',
  'test/addons',
  'test/alerts',
  'apps/cli/test/cli',
  'apps/node-agent/src/agent',
  'apps/upgrade-svc/test/rollout',
  'test/apply',
  'test/authentication',
  'test/backups',
  'test/control-plane',
  'test/declared-size',
  'test/declared-version',
  'test/join',
  'test/drift',
  'test/ended-certificates',
  'test/etcd-external',
  'test/etcd-members',
  'test/evictions',
  'test/faults',
  'test/firewall',
  'test/fresh-clone',
  'test/growth',
  'test/handover',
  'test/heal',
  'test/hooks',
  'test/lease',
  'test/lifetime',
  'test/node-conditions',
  'test/operations',
  'test/page',
  'test/pause',
  'test/pools',
  'test/replace',
  'test/published-lost',
  'test/powered-off',
  'test/realms',
  'test/renewal',
  'test/replicas',
  'test/replicated-nats',
  'test/releases',
  'test/restore',
  'test/restored-upgrade',
  'test/snapshots',
  'test/ssh-keys',
  'test/storm',
  'test/surge',
  'test/templates',
  'test/two-steps',
  'test/upgrade',
  'test/upgrade-failures',
  'test/version',
  'test/virtual-addresses',
  'test/waiting',
  'test/watch',
];
/** Takes a quarter of an hour: it measures the capacity of one machine. */
export const LARGE_STORY = 'test/large';
/** Runs `npm test` twice on a minimal machine. */
export const MACHINE_STORY = 'test/fresh-machine';
const fileOf = (story) => `**/${story}.e2e.spec.ts`;
/** The other stories: they mostly wait for the product, so that two cores can run two of them in parallel. */
export const SHORT = [
  '--maxWorkers=2',
  ...ENDED_BY_FORCE,
  '**/*.e2e.spec.ts',
  ...[...LONG_STORIES, LARGE_STORY, MACHINE_STORY].map((story) => `!${fileOf(story)}`),
];
export const LONG = [...ONE_BY_ONE, ...LONG_STORIES.map(fileOf)];
export const LARGE = [...ONE_BY_ONE, fileOf(LARGE_STORY)];
export const MACHINE = [...ONE_BY_ONE, fileOf(MACHINE_STORY)];
/** This story normally samples the events; here it covers all of them. */
export const CRASHES = [...ONE_BY_ONE, fileOf('test/crash')];

const seeded = (names) => ['--maxWorkers=2', '--testMatch', ...names.map((name) => `**/${name}.sim.spec.ts`)];
/** Simulations whose number of seeds is set by SIM_SEEDS. */
export const SEEDED = seeded([
  'bootstrap',
  'convergence',
  'crash',
  'executions',
  'hooks',
  'identity',
  'kubeconfigs',
  'machines',
  'node-actions',
  'partly.upgraded',
  'pause',
  'pool-status',
  'pools',
  'publication',
  'reconciler',
  'remediation',
  'rollout/rollout',
  'rollouts',
  'ssh-keys',
  'ssh.keys',
  'ssh.provider',
]);
/** Every entrance of untrusted text, with FAIRLEAD_TEXT_BYTES. */
export const TEXTS = ['--runInBand', '--testMatch', '**/foreign-text.unit.spec.ts'];
/** The tests of a quick check: specs without I/O, and few seeds of these simulations. */
export const QUICK = [...SEEDED, '**/*.unit.spec.ts'];

/** Filters come first: after an option that takes a list, jest would parse them as elements of that list. */
export const jestArguments = (filters, options) => [...filters, '--passWithNoTests', ...options];

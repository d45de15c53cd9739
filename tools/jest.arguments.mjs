/** The arguments of jest for the specs, and for the stories that run the whole product. */
export const SPECS = ['--maxWorkers=2', '--testPathIgnorePatterns', '\\.e2e\\.spec\\.ts$'];
// In one process, where whatever a story leaves open would keep the run from ending; specs have to end by themselves.
const ONE_BY_ONE = ['--maxWorkers=1', '--forceExit', '--testMatch'];
export const STORIES = [...ONE_BY_ONE, '**/*.e2e.spec.ts'];

/** Stories that take longer than 20 s on two cores: `npm test` leaves them to `npm run test:all`, unless it is given their path. */
export const LONG_STORIES = [
  'apps/cli/test/cli',
  'apps/node-agent/src/agent',
  'apps/upgrade-svc/test/rollout',
  'test/apply',
  'test/control-plane',
  'test/etcd-external',
  'test/faults',
  'test/fresh-clone',
  'test/growth',
  'test/heal',
  'test/pause',
  'test/pools',
  'test/powered-off',
  'test/renewal',
  'test/replicas',
  'test/restore',
  'test/ssh-keys',
  'test/surge',
  'test/two-steps',
  'test/upgrade',
  'test/watch',
];
const fileOf = (story) => `**/${story}.e2e.spec.ts`;
/** The other stories. */
export const SHORT = [...STORIES, ...LONG_STORIES.map((story) => `!${fileOf(story)}`)];
export const LONG = [...ONE_BY_ONE, ...LONG_STORIES.map(fileOf)];
/** The story whose sample of events becomes all of them. */
export const CRASHES = [...ONE_BY_ONE, fileOf('test/crash')];

const seeded = (names) => ['--maxWorkers=2', '--testMatch', ...names.map((name) => `**/${name}.sim.spec.ts`)];
/** Simulations whose seeds are counted by SIM_SEEDS. */
export const SEEDED = seeded([
  'bootstrap',
  'crash',
  'kubeconfigs',
  'machines',
  'pause',
  'pools',
  'reconciler',
  'remediation',
  'rollout/rollout',
  'rollouts',
  'ssh-keys',
  'ssh.keys',
  'ssh.provider',
]);
/** What a quick check runs: specs without I/O, and few seeds of these simulations. */
export const QUICK = [...SEEDED, '**/*.unit.spec.ts'];

/** Filters come first: behind an option that takes a list they would be taken for more of it. */
export const jestArguments = (filters, options) => [...filters, '--passWithNoTests', ...options];

/**
 * The arguments of jest for the specs, and for the stories that run the whole product. Many specs wait for NATS, PostgreSQL and SSH: a
 * third worker uses the time on two cores.
 */
export const SPECS = ['--maxWorkers=3', '--testPathIgnorePatterns', '\\.e2e\\.spec\\.ts$'];
// Whatever a story leaves open would keep the run from ending; specs have to end by themselves.
const ENDED_BY_FORCE = ['--forceExit', '--testMatch'];
const ONE_BY_ONE = ['--maxWorkers=1', ...ENDED_BY_FORCE];
export const STORIES = [...ONE_BY_ONE, '**/*.e2e.spec.ts'];

/** Stories that take longer than 20 s on two cores: `npm test` leaves them to `npm run test:all`, unless it is given their path. */
export const LONG_STORIES = [
  'test/addon-upgrades',
  'test/addons',
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
  'test/node-conditions',
  'test/operations',
  'test/page',
  'test/pause',
  'test/pools',
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
/** The story of what one machine holds takes a quarter of an hour. */
export const LARGE_STORY = 'test/large';
/** The story of a machine that has nothing else runs `npm test` twice. */
export const MACHINE_STORY = 'test/fresh-machine';
const fileOf = (story) => `**/${story}.e2e.spec.ts`;
/** The other stories: they wait so much for the product that two at a time fit on two cores. */
export const SHORT = [
  '--maxWorkers=2',
  ...ENDED_BY_FORCE,
  '**/*.e2e.spec.ts',
  ...[...LONG_STORIES, LARGE_STORY, MACHINE_STORY].map((story) => `!${fileOf(story)}`),
];
export const LONG = [...ONE_BY_ONE, ...LONG_STORIES.map(fileOf)];
export const LARGE = [...ONE_BY_ONE, fileOf(LARGE_STORY)];
export const MACHINE = [...ONE_BY_ONE, fileOf(MACHINE_STORY)];
/** The story whose sample of events becomes all of them. */
export const CRASHES = [...ONE_BY_ONE, fileOf('test/crash')];

const seeded = (names) => ['--maxWorkers=2', '--testMatch', ...names.map((name) => `**/${name}.sim.spec.ts`)];
/** Simulations whose seeds are counted by SIM_SEEDS. */
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

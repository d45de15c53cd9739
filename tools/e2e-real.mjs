// `npm run e2e:real [-- story ...]`: stories with real Kubernetes, mostly on real local hosts, in a network namespace
// without external network access. Prepares its requirements by the project's own commands, and prominently reports
// what could not be checked and why. The last line is `N passed, N failed[, N skipped]`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { countsIn, lineOf } from './runs.mjs';

const begunAt = Date.now();
const root = fileURLToPath(new URL('..', import.meta.url));
const stories = join(root, 'test', 'real');
const SUFFIX = '.real.spec.ts';
/** Stories whose spec has another name: they run the suites of that name. */
const SPECS = { 'kubernetes-api': 'kubernetes.features' };
const specOf = (story) => join(stories, `${SPECS[story] ?? story}${SUFFIX}`);
const known = readdirSync(stories)
  .filter((name) => name.endsWith(SUFFIX))
  .map((name) => name.slice(0, -SUFFIX.length))
  .map((spec) => Object.keys(SPECS).find((story) => SPECS[story] === spec) ?? spec);
/** Need the services of others, but neither Kubernetes nor hosts. */
const WITHOUT_MIRROR = ['openstack', 'keycloak'];
/** Stories without hosts. */
const WITHOUT_HOSTS = ['kubernetes-api', 'authentication', 'chart', ...WITHOUT_MIRROR];
/**
 * Shows in less than 20 minutes that clusters can be created and used. The other stories are run by name or with --all.
 */
const BY_DEFAULT = ['kubernetes-api', 'authentication', 'create', 'ssh', 'kill'];
const PACKAGES_WITHOUT_HOSTS = ['iproute2'];
const PACKAGES = ['systemd-container', 'mmdebstrap', 'iproute2', 'haproxy', 'openssh-client', 'openssl'];
/** Additional packages of these stories. */
const PACKAGES_OF = {
  'day-two': ['nmap'],
  'field-hosts': ['nftables'],
  openstack: ['mmdebstrap'],
  keycloak: ['default-jre-headless', 'maven'],
};

/** Duration on two cores, with a margin for a busy machine. A story that would exceed the time limit is not started. */
const MINUTES = {
  'kubernetes-api': 3,
  authentication: 3,
  chart: 4,
  create: 8,
  'etcd-external': 8,
  ssh: 8,
  kill: 8,
  bundle: 5,
  power: 5,
  replace: 4,
  systems: 4,
  recorded: 5,
  restore: 6,
  field: 12,
  openstack: 15,
  keycloak: 15,
  'field-hosts': 6,
  'field-certificates': 12,
  'field-egress': 6,
  surge: 8,
  chain: 8,
  'day-two': 14,
  keep: 14,
  upgrade: 20,
  ratio: 25,
  'upgrade-ratio': 28,
};
const MINUTES_OF_OTHERS = 20;
const MIRROR_MINUTES = 14;
const TRIAL_TIMEOUT_MS = 300_000;
const WORDS_MAX = 1_000;
const ROOTFS_MINUTES = 2;

const { values: options, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    help: { type: 'boolean' },
    'if-possible': { type: 'boolean', default: false },
    minutes: { type: 'string', default: 'Infinity' },
    report: { type: 'string' },
  },
});
if (options.help) {
  process.stdout.write(`usage: npm run e2e:real [-- story ...] [-- --if-possible]

Stories: ${known.join(', ')}; without a name: ${BY_DEFAULT.join(', ')}.
--all           every story, also those that take a quarter of an hour and more
--if-possible   where real hosts cannot stand, says what was not checked and ends well
--minutes <n>   begins no story that would probably end later than this, and says so
--report <file> writes {"passed": 1, "failed": 0, "skipped": 0} there, too
FAIRLEAD_REAL_VERSION=v1.33.13 builds clusters of another version that the mirror has.
`);
  process.exit(0);
}
const ifPossible = options['if-possible'];
const unknown = asked.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`there is no story ${unknown.join(', ')}; there are: ${known.join(', ')}\n`);
  process.exit(2);
}
const desired = options.all ? known : asked.length > 0 ? asked : BY_DEFAULT;
/** Run first: they are short and have the fewest requirements. */
const [first, onHosts] = [true, false].map((without) =>
  desired.filter((story) => WITHOUT_HOSTS.includes(story) === without),
);
const minutesLeft = () => Number(options.minutes) - (Date.now() - begunAt) / 60_000;
const minutesOf = (story) => MINUTES[story] ?? MINUTES_OF_OTHERS;
const version = process.env.FAIRLEAD_REAL_VERSION ?? 'v1.34.4';
/** Stories that need other versions than the default. */
const ONE_MINOR = ['v1.33.13', 'v1.34.4'];
const VERSIONS = {
  surge: ONE_MINOR,
  upgrade: ONE_MINOR,
  'upgrade-ratio': ONE_MINOR,
  recorded: ONE_MINOR,
  chain: [...ONE_MINOR, 'v1.35.4'],
  field: ['v1.34.4', 'v1.35.4'],
};
const versions = [...new Set([version, ...desired.flatMap((story) => VERSIONS[story] ?? [])])];

const has = (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

/** The reason why no story can run on this machine; undefined if they can. */
const whyNot = () => {
  if (process.platform !== 'linux') return `these stories need Linux; this is ${process.platform}`;
  if (process.getuid() !== 0) return 'these stories need root; run it as root, or: sudo npm run e2e:real';
  if (spawnSync('unshare', ['--net', 'true']).status !== 0) return 'this process may not make network namespaces';
  const packages = onHosts.length > 0 ? PACKAGES : PACKAGES_WITHOUT_HOSTS;
  return whyNotInstalled([...packages, ...desired.flatMap((story) => PACKAGES_OF[story] ?? [])]);
};

const whyNotInstalled = (packages) => {
  const missing = packages.filter((name) => spawnSync('dpkg', ['-s', name]).status !== 0);
  if (missing.length === 0) return undefined;
  if (!has('apt-get')) return `these Debian packages are missing: ${missing.join(' ')}`;
  say(`installing ${missing.join(' ')}`);
  const command = `apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ${missing.join(' ')}`;
  const { status, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
  return status === 0 ? undefined : `${missing.join(' ')} cannot be installed: ${stderr.trim().split('\n').at(-1)}`;
};

const say = (sentence) => process.stdout.write(`==> ${sentence}\n`);

const scratch = mkdtempSync(join(tmpdir(), 'fairlead-e2e-real-'));
const total = { passed: 0, failed: 0, skipped: 0, failures: [] };

/** Prints the last line. */
const end = () => {
  rmSync(scratch, { recursive: true, force: true });
  const { failed, passed } = total;
  if (options.report !== undefined) writeFileSync(options.report, `${JSON.stringify(total)}\n`);
  process.stdout.write(lineOf(total));
  process.exit(failed === 0 && (passed > 0 || ifPossible) ? 0 : 1);
};

/** An unchecked story is a failure, unless the caller allows it. */
const notChecked = (stories, why) => {
  process.stdout.write(`
!!! NOT CHECKED: real Kubernetes (${stories.join(', ')})
!!! because ${why}

`);
  total[ifPossible ? 'skipped' : 'failed'] += stories.length;
};

const noneChecked = (why, stories = desired) => {
  notChecked(stories, why);
  end();
};

/** A preparation step that all these stories depend on; its output is shown. */
const step = (title, command, args, stories = desired) => {
  const startedAt = Date.now();
  say(title);
  const { status, signal } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  say(`${title}: ${status === 0 ? 'ok' : `failed (${signal ?? `exit code ${status}`})`} after ${seconds} s`);
  if (status !== 0) noneChecked(`this failed: ${title}`, stories);
};

const refused = whyNot();
if (refused !== undefined) noneChecked(refused);

step('install and build', process.execPath, [join(root, 'tools', 'start.mjs'), '--prepare-only']);

const buildOf = (versions) => ['run', '--silent', 'kubernetes:build', '--', ...versions];

const { cacheFolder: cacheOf, localMirror } = await import('@fairlead/mirror');
if (desired.includes('openstack')) {
  const folder = join(cacheOf(process.env), 'openstack');
  const command = [join(root, 'tools', 'openstack', 'rootfs.sh'), folder];
  step("OpenStack's services (some minutes, once)", 'bash', command, ['openstack']);
  process.env.FAIRLEAD_OPENSTACK_ROOT = folder;
}
if (desired.includes('keycloak')) {
  const command = [join(root, 'tools', 'keycloak', 'fetch.sh'), cacheOf(process.env)];
  step('Keycloak (some minutes, once)', 'sh', command, ['keycloak']);
}
const catalogue = join(localMirror(process.env), 'catalogue.json');
const releases = existsSync(catalogue) ? JSON.parse(readFileSync(catalogue, 'utf8')).releases : [];
const needsMirror = desired.some((story) => !WITHOUT_MIRROR.includes(story));
const missing = needsMirror ? versions.filter((one) => !releases.some((release) => release.version === one)) : [];
if (missing.length > 0) {
  if (!has('go'))
    noneChecked(
      `there is no mirror with ${missing.join(' and ')}, and no Go to build it with: npm run kubernetes:build`,
    );
  const needed = MIRROR_MINUTES * missing.length + ROOTFS_MINUTES + minutesOf(desired[0]);
  if (needed > minutesLeft())
    noneChecked(`a mirror and the first story take about ${needed} minutes, and ${minutesLeft().toFixed(0)} are left`);
  step(`a mirror of Kubernetes ${missing.join(' and ')} (about 15 minutes each, once)`, 'npm', buildOf(missing));
} else if (needsMirror && has('go')) {
  // Parts whose recipe has changed are built again; if nothing has changed, this takes a second.
  say('the mirror of Kubernetes, as this checkout makes it');
  const { status } = spawnSync('npm', buildOf(versions), { cwd: root, stdio: 'inherit' });
  if (status !== 0) say('it could not be brought up to date; the stories go on with it as it is');
}
/** The prefix of a command that runs in a network namespace with only a loopback device. */
const IN_OWN_NETWORK = ['--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];

/**
 * Checks by a trial what cannot be checked otherwise. Undefined if a host booted, ran a container, and left nothing
 * behind.
 */
const trialFailure = () => {
  const trial = [process.execPath, join(root, 'tools', 'e2e-real.trial.mjs')];
  const { status, signal, stderr } = spawnSync('unshare', [...IN_OWN_NETWORK, ...trial], {
    cwd: root,
    encoding: 'utf8',
    timeout: TRIAL_TIMEOUT_MS,
  });
  if (status === 0) return undefined;
  const words = stderr.trim().slice(-WORDS_MAX);
  return `a host on trial failed (${signal ?? `exit code ${status}`}): ${words}`;
};
/** Runs each story in its own process and network namespace, so that stories do not affect each other. */
const tell = (story) => {
  const report = join(scratch, `${story}.json`);
  say(`story: ${story}`);
  spawnSync(
    'unshare',
    [
      ...IN_OWN_NETWORK,
      ...[process.execPath, '--experimental-vm-modules', '--no-warnings', join(root, 'node_modules/jest/bin/jest.js')],
      ...['--maxWorkers=1', '--forceExit', '--verbose', '--json', `--outputFile=${report}`],
      ...['--testMatch', '**/*.real.spec.ts', '--runTestsByPath', specOf(story)],
    ],
    { cwd: root, stdio: 'inherit', env: { ...process.env, FAIRLEAD_OWN_NETWORK: 'yes' } },
  );
  const { passed, failed, skipped, failures = [] } = countsIn(report);
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
  if (failed > 0) total.failures.push(...(failures.length > 0 ? failures : [`the real story ${story}`]));
};

const reportInTime = (story) => {
  if (minutesOf(story) <= minutesLeft()) tell(story);
  else notChecked([story], `it takes about ${minutesOf(story)} minutes, and ${minutesLeft().toFixed(0)} are left`);
};

for (const story of first) reportInTime(story);
if (onHosts.length === 0) end();

const { fileWatches, noRoomToWatch } = await import('@fairlead/nspawn');
const noRoom = noRoomToWatch(fileWatches(), 3, 2);
if (noRoom !== undefined) noneChecked(noRoom, onHosts);

step(
  'the hosts’ root file system (a minute and a half, once)',
  process.execPath,
  [...[join(root, 'libs', 'nspawn', 'dist', 'main.js'), 'rootfs']],
  onHosts,
);
if (desired.includes('systems'))
  step(
    'hosts of Debian 12 (a minute and a half, once)',
    process.execPath,
    [...[join(root, 'libs', 'nspawn', 'dist', 'main.js'), '--system', 'debian-12', 'rootfs']],
    onHosts,
  );
// Downloads are done here: the stories have no external network access.
const { resolveNatsServer, cacheFolder } = await import('@fairlead/embedded');
await resolveNatsServer({ cacheDir: cacheFolder(process.env, root), env: process.env, log: say });
say('one host on trial: it boots, runs a container, and goes');
const failedTrial = trialFailure();
if (failedTrial !== undefined) noneChecked(failedTrial, onHosts);

for (const story of onHosts) reportInTime(story);
end();

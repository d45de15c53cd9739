import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { spawnSync } from 'node:child_process';
import { Command, InvalidArgumentError, Option } from 'commander';
import { ExternalFailure } from '@fairlead/contracts';
import { cacheFolder, localMirror } from '@fairlead/mirror';
import { generateHostKey } from './hosts/host.keys.js';
import type { Host, Hosts } from './hosts/hosts.js';
import { openLocal } from './local.js';
import { obstacles } from './machine/requirements.js';
import { DEFAULT_SYSTEM, HOST_SYSTEMS, type HostSystem } from './rootfs/recipe.rules.js';
import { ensureRootfs, hasRootfs } from './rootfs/rootfs.js';

const NETWORK = 'hosts';
const BOOT_TIMEOUT_MS = 120_000;
const COUNT_MAX = 100;
const SECRET_MODE = 0o600;
const MIRROR_AT = '/opt/fairlead/mirror';

interface Options {
  readonly state: string;
  readonly cidr: string;
  readonly mirror: string;
  readonly system: HostSystem;
  readonly key?: string;
  readonly cpus?: number;
  readonly memory?: number;
}

const positive = (text: string): number => {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('a whole number above 0 is needed');
};

const count = (text: string): number => {
  const value = positive(text);
  if (value <= COUNT_MAX) return value;
  throw new InvalidArgumentError(`at most ${COUNT_MAX}`);
};

const program = new Command('hosts')
  .enablePositionalOptions()
  .description('Real Linux hosts on this machine, by systemd-nspawn: a tool for developers. Needs root.')
  .option('--state <folder>', 'where the hosts are kept', join('.fairlead', 'hosts'))
  .option('--cidr <range>', 'their network, within 198.18.0.0/15', '198.18.7.0/24')
  .option('--mirror <folder>', "Kubernetes' own files, seen by hosts at /opt/fairlead/mirror", localMirror(process.env))
  .addOption(
    new Option('--system <name>', 'what hosts are made of').choices(Object.keys(HOST_SYSTEMS)).default(DEFAULT_SYSTEM),
  )
  .option('--key <file>', 'OpenSSH public key that opens them (default: one is made in the state folder)')
  .option('--cpus <count>', 'limit of each host', positive)
  .option('--memory <MiB>', 'limit of each host', positive);

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const open = () => {
  const options = program.opts<Options>();
  return { options, ...openLocal({ stateDir: resolve(options.state), cacheDir: cacheFolder(process.env) }) };
};

const refuseUnable = async (folder: string): Promise<void> => {
  const found = await obstacles({ folder });
  if (found.length > 0) throw new Error(found.join('\n'));
};

/** Creates a key pair if none is given. */
const publicKey = (options: Options, stateDir: string): string => {
  if (options.key !== undefined) return readFileSync(options.key, 'utf8');
  const file = join(stateDir, 'id_ed25519');
  if (!existsSync(file)) {
    const pair = generateHostKey('hosts');
    writeFileSync(`${file}.pub`, pair.publicKeyLine);
    writeFileSync(file, pair.privateKeyFile, { mode: SECRET_MODE });
  }
  return readFileSync(`${file}.pub`, 'utf8');
};

const sshWords = (options: Options, stateDir: string, { address }: Host, user: string): readonly string[] => [
  'ssh',
  ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'LogLevel=ERROR'],
  ...(options.key === undefined ? ['-i', join(stateDir, 'id_ed25519')] : []),
  `${user}@${address}`,
];

const rowOf = ({ name, address, status, boots, partitioned, hostKey }: Host): string =>
  [name, address, status, `${boots} boots`, ...(partitioned ? ['partitioned'] : []), hostKey].join('\t');

const up = async (desired: number): Promise<void> => {
  await refuseUnable(resolve(program.opts<Options>().state));
  const { options, places, networks, hosts } = open();
  const { cidr } = await networks.ensure(NETWORK, options.cidr);
  const { system } = options;
  if (!hasRootfs(places.cacheDir, system)) say('building the root file system (about a minute and a half, once) ...');
  await ensureRootfs(places.cacheDir, (line) => say(`  ${line}`), system);
  const key = publicKey(options, places.stateDir);
  mkdirSync(places.stateDir, { recursive: true });
  if (!existsSync(options.mirror))
    say(`there is no mirror in ${options.mirror}: hosts see none (npm run kubernetes:build)`);
  const startedAt = performance.now();
  const names = Array.from({ length: desired }, (_, at) => `host-${at + 1}`);
  await Promise.all(
    names.map(async (name) => {
      await hosts.ensure({
        name,
        network: NETWORK,
        system,
        authorizedKeys: [key],
        cpus: options.cpus ?? null,
        memoryMiB: options.memory ?? null,
        readOnly: { [MIRROR_AT]: resolve(options.mirror) },
        labels: {},
      });
      say(rowOf(await hosts.untilReachable(name, AbortSignal.timeout(BOOT_TIMEOUT_MS))));
    }),
  );
  say(`${desired} answer SSH after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s, in ${cidr}`);
};

/** The named ones, or all. */
const chosen = (hosts: Hosts, names: readonly string[]): readonly string[] =>
  names.length > 0 ? names : hosts.all().map(({ name }) => name);

const each =
  (title: string, act: (hosts: Hosts, name: string) => Promise<void>) => async (names: readonly string[]) => {
    await refuseUnable(resolve(program.opts<Options>().state));
    const { hosts } = open();
    await Promise.all(
      chosen(hosts, names).map(async (name) => {
        await act(hosts, name);
        say(`${name}: ${title}`);
      }),
    );
  };

program
  .command('up')
  .argument('[count]', 'how many', count, 1)
  .description('make hosts host-1 to host-<count>, or give power to those that have none')
  .action(up);
program
  .command('rootfs')
  .description('build the root file system that all hosts share, unless it is there')
  .action(async () => {
    await refuseUnable(resolve(program.opts<Options>().state));
    const { options, places } = open();
    const { base } = await ensureRootfs(places.cacheDir, say, options.system);
    say(base);
  });
program
  .command('list')
  .description('show them')
  .action(() =>
    open()
      .hosts.all()
      .forEach((host) => say(rowOf(host))),
  );
program
  .command('ssh')
  .argument('<name>')
  .argument('[words...]', 'a command; none: a shell')
  .option('--user <name>', 'root, or ops who has sudo', 'root')
  .passThroughOptions()
  .description('enter one')
  .action((name: string, words: readonly string[], { user }: { readonly user: string }) => {
    const { hosts, options, places } = open();
    const host = hosts.find(name);
    if (host === undefined) throw new Error(`there is no host ${name}`);
    const [command = '', ...args] = [...sshWords(options, places.stateDir, host, user), ...words];
    process.exitCode = spawnSync(command, args, { stdio: 'inherit' }).status ?? 1;
  });
program
  .command('start')
  .argument('[names...]')
  .description('give them power')
  .action(each('has power', (hosts, name) => hosts.start(name)));
program
  .command('stop')
  .argument('[names...]')
  .description('shut them down')
  .action(each('is off', (hosts, name) => hosts.stop(name)));
program
  .command('power-cut')
  .argument('<names...>')
  .description('take their power without a word')
  .action(each('lost its power', (hosts, name) => hosts.powerCut(name)));
program
  .command('partition')
  .argument('<names...>')
  .description('cut their network')
  .action(each('is cut off', (hosts, name) => hosts.partition(name)));
program
  .command('heal')
  .argument('<names...>')
  .description('repair their network')
  .action(each('is back', (hosts, name) => hosts.heal(name)));
program
  .command('leftovers')
  .description('list what exists of them on this machine; nothing after delete')
  .action(async () => (await open().leftovers()).forEach(({ kind, what }) => say(`${kind}\t${what}`)));
program
  .command('delete')
  .argument('[names...]', 'none: all of them, and their network')
  .description('leave nothing of them')
  .action(async (names: readonly string[]) => {
    await each('is gone', (hosts, name) => hosts.delete(name))(names);
    if (names.length > 0) return;
    const { clear, places } = open();
    await clear();
    rmSync(places.stateDir, { recursive: true, force: true });
  });

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof Error)) throw error;
  process.stderr.write(
    `${error instanceof ExternalFailure ? `${error.operation} on ${error.target}: ` : ''}${error.message}\n`,
  );
  process.exitCode = 1;
}

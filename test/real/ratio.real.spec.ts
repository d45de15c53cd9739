import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheFolder, localMirror } from '@fairlead/mirror';
import { openLocal } from '@fairlead/nspawn';
import { expect, it } from '@jest/globals';
import { profileText } from './profile.js';
import { startRealSystem, VERSION } from './real.system.js';

const run = promisify(execFile);
const SHELL = fileURLToPath(new URL('bare-shell/create-3-2.sh', import.meta.url));
const FLANNEL = fileURLToPath(new URL('bare-shell/flannel.yaml', import.meta.url));
const NETWORK = '198.18.65.0/24';
const TIMES = 3;
const RATIO_MAX = 1.2;
const MINUTE_MS = 60_000;
const MIRROR_AT = '/opt/fairlead/mirror';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Seconds from nothing to five Ready nodes by plain shell, on the same hosts and from the same mirror. */
const byShell = async (): Promise<number> => {
  const stateDir = mkdtempSync(join(tmpdir(), 'fairlead-shell-'));
  const key = join(stateDir, 'key');
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  const { stdout: publicKey } = await run('cat', [`${key}.pub`]);
  const local = openLocal({ stateDir: join(stateDir, 'hosts'), cacheDir: cacheFolder(process.env) });
  try {
    const begunAt = performance.now();
    await local.networks.ensure('shell', NETWORK);
    const names = ['s1', 's2', 's3', 's4', 's5'];
    const hosts = await Promise.all(
      names.map((name) =>
        local.hosts.ensure({
          name,
          network: 'shell',
          authorizedKeys: [publicKey.trim()],
          cpus: null,
          memoryMiB: null,
          readOnly: { [MIRROR_AT]: localMirror(process.env) },
          labels: {},
        }),
      ),
    );
    const balancer = await local.balancers.ensure({
      name: 'shell',
      network: 'shell',
      port: 6443,
      healthPath: '/readyz',
      targets: hosts.slice(0, 3).map(({ name, address }) => ({ name, address, port: 6443 })),
    });
    const addresses = hosts.map(({ address }) => address);
    const { stdout } = await run(SHELL, [key, VERSION, balancer.address, FLANNEL, ...addresses], {
      timeout: 15 * MINUTE_MS,
    });
    const seconds = (performance.now() - begunAt) / 1_000;
    say(`by shell (its own clock begins when the hosts are asked for SSH):\n${stdout}`);
    return seconds;
  } finally {
    await local.clear();
    rmSync(stateDir, { recursive: true, force: true });
  }
};

/** Seconds from the request to five Ready nodes, by Fairlead. */
const byFairlead = async (): Promise<number> => {
  const system = await startRealSystem();
  try {
    const events = await system.create('ratio');
    say(`by Fairlead:\n${profileText(events)}`);
    const begun = Date.parse(events[0]?.meta.time ?? '');
    const ready = events.filter(({ type }) => type === 'NodeReady').map(({ meta }) => Date.parse(meta.time));
    return (Math.max(...ready) - begun) / 1_000;
  } finally {
    await system.stop();
  }
};

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

it(
  `takes at most ${RATIO_MAX} times as long as a plain shell to five Ready nodes`,
  async () => {
    const shell: number[] = [];
    const fairlead: number[] = [];
    for (let time = 0; time < TIMES; time += 1) {
      shell.push(await byShell());
      fairlead.push(await byFairlead());
    }
    const ratio = median(fairlead) / median(shell);
    const seconds = (values: readonly number[]): string => values.map((value) => value.toFixed(1)).join(', ');
    const table = `by shell: ${seconds(shell)} s; by Fairlead: ${seconds(fairlead)} s; ratio of the medians: ${ratio.toFixed(2)}`;
    say(table);
    const file = process.env['FAIRLEAD_RATIO_FILE'];
    if (file !== undefined) writeFileSync(file, `${table}\n`);
    expect(ratio).toBeLessThanOrEqual(RATIO_MAX);
  },
  60 * MINUTE_MS,
);

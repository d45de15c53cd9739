import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheFolder, localMirror } from '@fairlead/mirror';
import { openLocal } from '@fairlead/nspawn';
import { newFolder, removeFolder } from '@fairlead/testing';

const run = promisify(execFile);
const FLANNEL = fileURLToPath(new URL('flannel.yaml', import.meta.url));
const NETWORK = '198.18.65.0/24';
const NAMES = ['s1', 's2', 's3', 's4', 's5'];
const MIRROR_AT = '/opt/fairlead/mirror';
const SCRIPT_TIMEOUT_MS = 30 * 60_000;

/** Five hosts of the kind that Fairlead gets, with nothing on them, and a load balancer in front of the first three. */
export interface ShellHosts {
  /** When the first of them was requested (performance.now). */
  readonly begunAt: number;
  /** Creates a cluster of 3 control planes and 2 workers by plain shell; returns the script's output. */
  create(version: string): Promise<string>;
  /** The same as written by an expert: in parallel, with everything in place before it is needed. */
  createAsExpert(version: string): Promise<string>;
  /** Upgrades or downgrades the same cluster by plain shell. */
  upgrade(version: string): Promise<string>;
  /** The output of a command on the first control plane. */
  onFirst(...words: readonly string[]): Promise<string>;
}

export const withShellHosts = async <T>(work: (hosts: ShellHosts) => Promise<T>): Promise<T> => {
  const stateDir = newFolder('shell');
  const key = join(stateDir, 'key');
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  const publicKey = readFileSync(`${key}.pub`, 'utf8').trim();
  const local = openLocal({ stateDir: join(stateDir, 'hosts'), cacheDir: cacheFolder(process.env) });
  try {
    const begunAt = performance.now();
    await local.networks.ensure('shell', NETWORK);
    const hosts = await Promise.all(
      NAMES.map((name) =>
        local.hosts.ensure({
          name,
          network: 'shell',
          authorizedKeys: [publicKey],
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
    const script = async (name: string, ...words: readonly string[]): Promise<string> => {
      const path = fileURLToPath(new URL(name, import.meta.url));
      return (await run(path, [key, ...words, ...addresses], { timeout: SCRIPT_TIMEOUT_MS })).stdout;
    };
    return await work({
      begunAt,
      create: (version) => script('create-3-2.sh', version, balancer.address, FLANNEL),
      createAsExpert: (version) => script('create-3-2-expert.sh', version, balancer.address, FLANNEL),
      upgrade: (version) => script('upgrade-3-2.sh', version),
      onFirst: async (...words) => {
        const { code, stdout, stderr } = await local.hosts.execute(NAMES[0] ?? '', words);
        if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${stderr}${stdout}`);
        return stdout;
      },
    });
  } finally {
    await local.clear();
    removeFolder(stateDir);
  }
};

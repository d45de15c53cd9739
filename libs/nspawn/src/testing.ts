import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cacheFolder } from '@fairlead/mirror';
import { obstacles } from './machine/requirements.js';
import { hasRootfs } from './rootfs/rootfs.js';

/** Set in the network namespace in which specs of hosts run. */
const INSIDE = 'FAIRLEAD_OWN_NETWORK';
const OUTPUT_MAX = 200_000;

export const isInOwnNetwork = (): boolean => process.env[INSIDE] === 'yes';

/**
 * Why hosts cannot be created here, in one line; undefined: they can. Prints it on the terminal, so that a skip is not
 * mistaken for a pass.
 */
export const whyNoHosts = async (): Promise<string | undefined> => {
  const found = [
    ...(await obstacles()),
    ...(hasRootfs(cacheFolder(process.env))
      ? []
      : ['the root file system is not built: npm run hosts -- rootfs (as root, a minute and a half, once)']),
  ];
  if (found.length === 0) return undefined;
  const why = found.join('; ');
  process.stderr.write(`\n!!! NOT CHECKED on real local hosts: ${why}\n\n`);
  return why;
};

/**
 * Runs a spec again by itself in a network namespace that has only a loopback device, isolated from the machine's
 * network. Rejects with its output if it fails.
 */
export const runInOwnNetwork = (specUrl: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const jest = fileURLToPath(new URL('../../../node_modules/jest/bin/jest.js', import.meta.url));
    const child = spawn(
      'unshare',
      [
        ...['--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'],
        ...[process.execPath, '--experimental-vm-modules', '--no-warnings', jest, '--maxWorkers=1', '--forceExit'],
        ...['--colors=false', '--verbose', '--runTestsByPath', fileURLToPath(specUrl)],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, [INSIDE]: 'yes' } },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-OUTPUT_MAX)));
    }
    child.on('error', reject);
    child.on('close', (code) => {
      if (process.env['FAIRLEAD_SHOW'] === 'yes') process.stderr.write(output);
      if (code === 0) resolve();
      else reject(new Error(output));
    });
  });

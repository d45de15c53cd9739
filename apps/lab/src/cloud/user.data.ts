import { parseYaml } from '@fairlead/parsers';
import { PassThrough, Readable } from 'node:stream';
import type { RunningHost } from '../hosts/host.platform.js';

const LIMITS = { lengthMax: 65_536, depthMax: 10, valuesMax: 1_000 };
/** The file in which cloud-init stores the ID of the machine in its cloud. */
const INSTANCE_ID = '/var/lib/cloud/data/instance-id';

const quote = (word: unknown): string => `'${String(word).replaceAll("'", `'\\''`)}'`;

/** As in cloud-init: a list is one command with its arguments, a string is passed to the shell. */
const lineOf = (entry: unknown): string => (Array.isArray(entry) ? entry.map(quote).join(' ') : String(entry));

/**
 * The script that user data run at the first boot: a script as it is, or `runcmd` of a cloud-config. Nothing else of a
 * cloud-config is simulated.
 */
export const scriptOf = (userData: string): string => {
  if (userData.startsWith('#!')) return userData;
  const document = parseYaml(userData, LIMITS);
  const { runcmd = [] } = (document ?? {}) as { readonly runcmd?: unknown };
  return Array.isArray(runcmd) ? runcmd.map((entry) => `${lineOf(entry)}\n`).join('') : '';
};

/**
 * Runs user data at the first boot, as a cloud image does: the machine already counts as running, and the output goes
 * to the console.
 */
export const runUserData = async (
  { host, shell }: RunningHost,
  { id, userData }: { readonly id: string; readonly userData: string },
): Promise<void> => {
  await host.files.writeText(INSTANCE_ID, `${id}\n`);
  const output = new PassThrough();
  output.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString('utf8').trimEnd().split('\n')) host.log(`cloud-init: ${line}`);
  });
  const { ended } = shell.run({
    ...{ command: 'sh -s', stdin: Readable.from([scriptOf(userData)]) },
    ...{ stdout: output, stderr: output, environment: {} },
  });
  const { code, signal } = await ended;
  host.log(`cloud-init: user data ended with ${code ?? signal}`);
};

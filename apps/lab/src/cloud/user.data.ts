import { parseYaml } from '@fairlead/parsers';
import { PassThrough, Readable } from 'node:stream';
import type { RunningHost } from '../hosts/host.platform.js';

const LIMITS = { lengthMax: 65_536, depthMax: 10, valuesMax: 1_000 };
/** Where cloud-init leaves which machine of its cloud this is. */
const INSTANCE_ID = '/var/lib/cloud/data/instance-id';

const quote = (word: unknown): string => `'${String(word).replaceAll("'", `'\\''`)}'`;

/** As cloud-init: a list is one command with its arguments, a text is for the shell. */
const lineOf = (entry: unknown): string => (Array.isArray(entry) ? entry.map(quote).join(' ') : String(entry));

/** What user data run at the first boot: a script as it is, or `runcmd` of a cloud-config, of which nothing else is simulated. */
export const scriptOf = (userData: string): string => {
  if (userData.startsWith('#!')) return userData;
  const document = parseYaml(userData, LIMITS);
  const { runcmd = [] } = (document ?? {}) as { readonly runcmd?: unknown };
  return Array.isArray(runcmd) ? runcmd.map((entry) => `${lineOf(entry)}\n`).join('') : '';
};

/** Runs user data as the first boot of a cloud image does: the machine counts as running meanwhile, and the console has what they print. */
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

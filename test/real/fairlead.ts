import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CHECKOUT } from '../../apps/cli/src/checkout.js';
import type { System } from '../system/system.js';

const run = promisify(execFile);
const TIMEOUT_MS = 600_000;

/** The command line, as used by an operator of this system. */
export interface Fairlead {
  (...args: readonly string[]): Promise<string>;
  apply(manifest: { readonly metadata: { readonly name: string } }): Promise<string>;
}

export const fairleadOf = (system: System): Fairlead => {
  const main = join(CHECKOUT, 'apps', 'cli', 'dist', 'main.js');
  const env = { ...process.env, FAIRLEAD_SERVER: system.server, FAIRLEAD_TOKEN: system.token, NODE_OPTIONS: '' };
  const fairlead = async (...args: readonly string[]): Promise<string> =>
    (await run(process.execPath, [main, ...args], { env, timeout: TIMEOUT_MS })).stdout;
  return Object.assign(fairlead, {
    apply: (manifest: { readonly metadata: { readonly name: string } }): Promise<string> => {
      const file = join(system.environment.dataDir, `${manifest.metadata.name}.json`);
      writeFileSync(file, JSON.stringify(manifest));
      return fairlead('apply', '-f', file, '--yes');
    },
  });
};

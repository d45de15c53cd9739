import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { certificateIn, issueAuthority } from '@fairlead/embedded/credentials';
import { writeWhole } from '@fairlead/embedded/process';
import { newSshKey } from './ssh.key.js';

const KEY_BYTES = 32;

/** The secrets of a data folder, each in a file that only its owner may read, made once. */
export interface InstanceKeys {
  /** Seals every other secret: 32 bytes, base64. Without it nothing sealed can be read again. */
  readonly masterKeyFile: string;
  /** Written by the gateway at its first start. */
  readonly localTokenFile: string;
  readonly labToken: string;
  /** The SSH host key of the tunnel, and its public half. */
  readonly tunnelKeyFile: string;
  readonly tunnelPublicKeyFile: string;
}

export const ensureKeys = (dataDir: string): InstanceKeys => {
  const keys = join(dataDir, 'keys');
  const masterKeyFile = join(keys, 'master.key');
  const labTokenFile = join(keys, 'lab.token');
  for (const file of [masterKeyFile, labTokenFile]) ensureRandom(file);
  const tunnelKeyFile = join(keys, 'tunnel-host.key');
  ensureSshKey(tunnelKeyFile);
  return {
    masterKeyFile,
    localTokenFile: join(keys, 'local.token'),
    labToken: readFileSync(labTokenFile, 'utf8').trim(),
    tunnelKeyFile,
    tunnelPublicKeyFile: publicHalf(tunnelKeyFile),
  };
};

const AUTHORITY_DAYS = 3_650;

/**
 * The authority that the tunnel issues certificates of published services by: with its key, and beside it alone, for
 * browsers.
 */
export const ensureTunnelAuthority = async (dataDir: string): Promise<string> => {
  const file = join(dataDir, 'keys', 'tunnel-authority.pem');
  if (existsSync(file)) return file;
  const pair = await issueAuthority({ name: 'Fairlead published services', days: AUTHORITY_DAYS, now: new Date() });
  writeWhole(join(dataDir, 'keys', 'tunnel-ca.pem'), certificateIn(pair));
  writeWhole(file, pair);
  return file;
};

const publicHalf = (file: string): string => `${file}.pub`;

/** The public half is written first: with the private one, both are there. */
const ensureSshKey = (file: string): void => {
  if (existsSync(file)) return;
  const { privateKey, publicKey } = newSshKey();
  writeWhole(publicHalf(file), `${publicKey}\n`);
  writeWhole(file, privateKey);
};

/** Whole or not at all: half a master key would seal secrets that nothing can open. */
const ensureRandom = (file: string): void => {
  if (existsSync(file)) return;
  writeWhole(file, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
};

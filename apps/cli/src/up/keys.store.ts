import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from '@fairlead/embedded/process';

const KEY_BYTES = 32;

/** The secrets of a data folder, each in a file that only its owner may read, made once. */
export interface InstanceKeys {
  /** Seals every other secret: 32 bytes, base64. Without it nothing sealed can be read again. */
  readonly masterKeyFile: string;
  /** Written by the gateway at its first start. */
  readonly localTokenFile: string;
  readonly labToken: string;
}

export const ensureKeys = (dataDir: string): InstanceKeys => {
  const keys = join(dataDir, 'keys');
  const masterKeyFile = join(keys, 'master.key');
  const labTokenFile = join(keys, 'lab.token');
  for (const file of [masterKeyFile, labTokenFile]) ensureRandom(file);
  return {
    masterKeyFile,
    localTokenFile: join(keys, 'local.token'),
    labToken: readFileSync(labTokenFile, 'utf8').trim(),
  };
};

/** Whole or not at all: half a master key would seal secrets that nothing can open. */
const ensureRandom = (file: string): void => {
  if (existsSync(file)) return;
  writeWhole(file, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
};

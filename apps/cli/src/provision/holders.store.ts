import { join } from 'node:path';
import { makeFolder, readIfAny, writeWhole } from '@fairlead/embedded';
import { FILES_OF_HOLDER, type HeldFile, type Holder } from './holders.planner.js';

const OWNER_ONLY = 0o700;

/**
 * Copies the files of each of these holders from the data folder to the holder's folder; the data folder keeps all of
 * them.
 */
export const handOut = (
  { dataDir, secretsDir }: { readonly dataDir: string; readonly secretsDir: string },
  holders: readonly Holder[],
): void => {
  for (const holder of holders) {
    const folder = join(secretsDir, holder);
    makeFolder(folder, OWNER_ONLY);
    for (const file of FILES_OF_HOLDER[holder]) handOutFile(dataDir, folder, file);
  }
};

const handOutFile = (dataDir: string, folder: string, { from, name, handOut: when }: HeldFile): void => {
  const text = readIfAny(join(dataDir, from));
  const there = readIfAny(join(folder, name));
  if (text === undefined || text === there || (when === 'once' && there !== undefined)) return;
  writeWhole(join(folder, name), text);
};

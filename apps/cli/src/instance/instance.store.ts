import { errorCodeOf } from '@fairlead/contracts';
import { writeWhole } from '@fairlead/embedded/process';
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import * as z from 'zod';
import { CHECKOUT } from '../checkout.js';
import { CliFailure, wordsOf } from '../failures.js';
import { refuseUntrusted } from './instance.trust.js';

export const DATA_FOLDER = '.fairlead';
const FILE = 'instance.json';

/** An instance of Fairlead that uses a data folder, or used it, if its process has ended. */
export const Instance = z.object({
  format: z.literal(1),
  server: z.string(),
  tokenFile: z.string(),
  /**
   * The authority of the server's certificate; absent if the server uses plain text, or a certificate that Node.js
   * trusts.
   */
  caFile: z.string().optional(),
  dataDir: z.string(),
  /** Absent: written by an earlier release. */
  natsUrl: z.string().optional(),
  /** The process of the instance; `birth` distinguishes it from a later process with the same ID. */
  process: z.object({ pid: z.int(), birth: z.string().nullable() }),
  startedAt: z.string(),
  version: z.string(),
});
export type Instance = z.infer<typeof Instance>;

export const instanceFile = (dataDir: string): string => join(dataDir, FILE);

/** undefined: no instance uses that folder. Throws if the file is damaged, or if another user may have written it. */
export const readInstance = (dataDir: string): Instance | undefined => {
  const file = instanceFile(dataDir);
  try {
    const text = readFileSync(file, 'utf8');
    refuseUntrusted([dataDir, file]);
    const instance = Instance.parse(JSON.parse(text));
    refuseUntrusted([dirname(instance.tokenFile), instance.tokenFile]);
    return instance;
  } catch (error) {
    if (error instanceof CliFailure) throw error;
    if (errorCodeOf(error) === 'ENOENT' || errorCodeOf(error) === 'ENOTDIR') return undefined;
    if (errorCodeOf(error) === 'EACCES') refuseUntrusted([dataDir]);
    throw new CliFailure('failed', {
      code: 'cli.instance-damaged',
      message: `${file} cannot be used: ${wordsOf(error)}`,
      help: 'Start Fairlead again with "fairlead up"; it writes the file again.',
      cause: error,
    });
  }
};

export const writeInstance = (instance: Instance): void =>
  writeWhole(instanceFile(instance.dataDir), `${JSON.stringify(instance, undefined, 2)}\n`);

export const removeInstance = (dataDir: string): void => rmSync(instanceFile(dataDir), { force: true });

/** The instance of `dataDir`, otherwise of the nearest `.fairlead` above `cwd`, otherwise of the checkout. */
export const findInstance = (cwd: string, dataDir: string | undefined): Instance | undefined => {
  if (dataDir !== undefined) return readInstance(resolve(cwd, dataDir));
  for (const folder of [...ancestorsOf(cwd), CHECKOUT]) {
    const instance = readInstance(join(folder, DATA_FOLDER));
    if (instance !== undefined) return instance;
  }
  return undefined;
};

const ancestorsOf = (folder: string): readonly string[] =>
  dirname(folder) === folder ? [folder] : [folder, ...ancestorsOf(dirname(folder))];

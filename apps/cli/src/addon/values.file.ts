import { ParseFailure, parseYaml } from '@fairlead/parsers';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { usageFailure, wordsOf } from '../failures.js';
import { FILE_LIMITS } from '../io/file.limits.js';
import type { Io } from '../io/io.js';

type Values = Record<string, unknown>;

/** Chart values from a file, in Helm's format. */
export const valuesIn = async (file: string, io: Io): Promise<Values> => {
  const values = parseValues(await textIn(file, io), file);
  if (typeof values === 'object' && values !== null && !Array.isArray(values)) return values as Values;
  throw usageFailure(`${file} does not hold values: it is no mapping`);
};

const textIn = async (file: string, io: Io): Promise<string> => {
  if (file === '-') return io.readStdin();
  try {
    return await readFile(resolve(io.cwd, file), 'utf8');
  } catch (error) {
    throw usageFailure(`The values cannot be read: ${wordsOf(error)}`);
  }
};

export const parseValues = (text: string, file: string): unknown => {
  try {
    return parseYaml(text, FILE_LIMITS);
  } catch (error) {
    if (!(error instanceof ParseFailure)) throw error;
    throw usageFailure(`${file} is not YAML that can be read: ${error.message}`);
  }
};

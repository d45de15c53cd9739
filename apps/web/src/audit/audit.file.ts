import { parseJson } from '@fairlead/parsers';
import type { LoggedMessage } from './verify.js';

const FILE_BYTES_MAX = 64 * 1024 * 1024;

/** The messages in a file that this page has saved. */
export const inFile = async (file: Pick<File, 'name' | 'text'>): Promise<LoggedMessage[]> => {
  const parsed = parseJson(await file.text(), { lengthMax: FILE_BYTES_MAX });
  const items = typeof parsed === 'object' && parsed !== null && 'items' in parsed ? parsed.items : parsed;
  const isMessage = (one: unknown): one is LoggedMessage =>
    typeof one === 'object' && one !== null && 'seq' in one && 'context' in one && 'sha256' in one && 'message' in one;
  if (!Array.isArray(items) || !items.every(isMessage))
    throw new Error(`${file.name} is not a log that this page has saved.`);
  return items;
};

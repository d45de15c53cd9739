import { readdirSync } from 'node:fs';
import { errorCodeOf } from '@fairlead/contracts';

/** The files of a folder by name; none where there is no folder, or none that may be read. */
export const namesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder).toSorted();
  } catch (error) {
    if (errorCodeOf(error) === undefined) throw error;
    return [];
  }
};

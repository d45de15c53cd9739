import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Io } from '../io/io.js';

/** What the user types to call this program: npm scripts put it on their own PATH only. */
export const commandName = ({ env }: Pick<Io, 'env'>): string => {
  const folders = (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '' && !folder.includes('node_modules'));
  return folders.some((folder) => existsSync(join(folder, 'fairlead'))) ? 'fairlead' : 'npx fairlead';
};

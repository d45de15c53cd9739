import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The checkout that contains this program; its `.fairlead` is the default data folder. (The path is the same from
 * `dist/` and from a bundle in it.)
 */
export const CHECKOUT = resolve(fileURLToPath(new URL('../../..', import.meta.url)));

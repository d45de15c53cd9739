import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout that this program is part of; its `.fairlead` is the default data folder. (From `dist/` as well as from a bundle there.) */
export const CHECKOUT = resolve(fileURLToPath(new URL('../../..', import.meta.url)));

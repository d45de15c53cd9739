import { createRequire } from 'node:module';

const manifest = createRequire(import.meta.url)('../../../package.json') as { readonly version: string };

/** The version of this CLI. */
export const VERSION: string = manifest.version;

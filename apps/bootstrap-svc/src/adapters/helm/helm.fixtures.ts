import { findHelm } from '@fairlead/mirror';

/**
 * The helm program of this machine; undefined: not installed, with the reason on the console. Debian has no package of
 * it.
 */
export const installedHelm = (): string | undefined => {
  const found = findHelm(process.env);
  if (found === undefined)
    process.stderr.write('NOT CHECKED: there is no helm on this machine; "npm run helm:build" builds it with Go\n');
  return found;
};

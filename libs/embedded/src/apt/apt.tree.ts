import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { withDebianPackages, type AptGet } from './apt.download.js';

const DPKG_STATUS = '/var/lib/dpkg/status';

/** The packages that apt would install for these, without those that this machine already has. */
const missingOf =
  (names: readonly string[]) =>
  async (apt: AptGet): Promise<readonly string[] | { readonly reason: string }> => {
    const planned = await apt('install', '--simulate', '--no-install-recommends', ...names);
    if ('reason' in planned) return planned;
    const missing = planned.output.split('\n').flatMap((line) => /^Inst (\S+)/.exec(line)?.[1] ?? []);
    return [...new Set([...names, ...missing])];
  };

/**
 * Unpacks packages of this machine's own Debian release, with their missing dependencies, below `folder` without
 * installing them. Resolves to the reasons of a failure; to none on success.
 */
export const provideDebianTree = async (names: readonly string[], folder: string): Promise<readonly string[]> => {
  if (existsSync(folder)) return [];
  const suites = [/^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable'];
  const installed = existsSync(DPKG_STATUS) ? { installed: DPKG_STATUS } : {};
  return withDebianPackages({ suites, select: missingOf(names), ...installed }, async ({ root }) => {
    const partial = `${folder}.${process.pid}.partial`;
    mkdirSync(dirname(folder), { recursive: true });
    cpSync(root, partial, { recursive: true, verbatimSymlinks: true });
    if (existsSync(folder)) rmSync(partial, { recursive: true });
    else renameSync(partial, folder);
    return undefined;
  });
};

import { copyFileSync, chmodSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withDebianPackages } from './apt.download.js';

/**
 * Installs a program of a package of this machine's own Debian release at `file`, without installing the package.
 * Resolves to the reasons of a failure; to none on success.
 */
export const provideDebianProgram = async (
  { name, path }: { readonly name: string; readonly path: string },
  file: string,
): Promise<readonly string[]> => {
  if (existsSync(file)) return [];
  const suites = [/^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable'];
  return withDebianPackages({ suites, select: async () => [name] }, async ({ root }) => {
    const unpacked = join(root, path);
    if (!existsSync(unpacked)) return `the package ${name} has no ${path}`;
    mkdirSync(dirname(file), { recursive: true });
    const partial = `${file}.${process.pid}.partial`;
    copyFileSync(unpacked, partial);
    chmodSync(partial, 0o755);
    renameSync(partial, file);
    return undefined;
  });
};

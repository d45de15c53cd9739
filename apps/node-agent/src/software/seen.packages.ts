import type { InstalledPackage, PackageDriver } from './package.driver.js';

/**
 * Caches package versions for one inspection until something is installed: several items need the same packages, and
 * each query is a command.
 */
export const seenPackages = (driver: PackageDriver): PackageDriver => {
  const seen = new Map<string, InstalledPackage | undefined>();

  return {
    ...driver,

    installed: async (names) => {
      const unseen = names.filter((name) => !seen.has(name));
      if (unseen.length > 0) {
        const found = await driver.installed(unseen);
        for (const name of unseen) seen.set(name, found.get(name));
      }
      return new Map(
        names.flatMap((name) => {
          const found = seen.get(name);
          return found === undefined ? [] : [[name, found] as const];
        }),
      );
    },

    install: async (packages) => {
      try {
        await driver.install(packages);
      } finally {
        seen.clear();
      }
    },
  };
};

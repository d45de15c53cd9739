import type { HostPort } from '../agent/agent.ports.js';
import { mustRun } from './item.js';
import type { InstalledPackage, PackageDriver } from './package.driver.js';

const INSTALL_TIMEOUT_MS = 15 * 60_000;
const UPDATE_TIMEOUT_MS = 5 * 60_000;
const LOCK_TIMEOUT_S = 120;

/** `1.34.4-1.1` and `1.7.24~ds1-6+b2` are upstream 1.34.4 and 1.7.24 (deb-version(7): epoch:upstream-revision). */
export const upstreamOf = (version: string): string =>
  version
    .replace(/^\d+:/, '')
    .replace(/-[^-]*$/, '')
    .replace(/[~+].*$/, '');

const FORMAT = '${Package}\\t${Version}\\t${db:Status-Want}\\t${db:Status-Status}\\n';

/** dpkg-query's own answers; it exits with 1 when one of the names is not known to it. */
export const parseInstalled = (output: string): ReadonlyMap<string, InstalledPackage> => {
  const packages = new Map<string, InstalledPackage>();
  for (const line of output.split('\n')) {
    const [name, version, want, status] = line.split('\t');
    if (name === undefined || version === undefined || status !== 'installed') continue;
    packages.set(name, { version: upstreamOf(version), held: want === 'hold' });
  }
  return packages;
};

/** What apt-get says when its lists are missing or older than the wanted version. */
const NEEDS_UPDATE = /Unable to locate package|has no installation candidate|Version .* was not found/;

/** Debian and Ubuntu: apt with holds. */
export const aptPackages = (host: HostPort): PackageDriver => {
  const installArgs = (specs: readonly string[]): readonly string[] => [
    'install',
    '-y',
    '--no-install-recommends',
    '--allow-downgrades',
    '--allow-change-held-packages',
    '-o',
    `DPkg::Lock::Timeout=${LOCK_TIMEOUT_S}`,
    '-o',
    'Dpkg::Options::=--force-confold',
    ...specs,
  ];

  return {
    installed: async (names) => {
      const result = await host.run('dpkg-query', ['-W', `-f=${FORMAT}`, ...names], { timeoutMs: 30_000 });
      if (result.code === 0 || result.code === 1) return parseInstalled(result.stdout);
      await mustRun(host, 'dpkg-query', ['-W', `-f=${FORMAT}`, ...names]);
      return new Map();
    },

    install: async (packages) => {
      const names = Object.keys(packages);
      // Distributions add a revision of their own to the upstream version: `-1.1`, `~ds1-6`.
      const specs = Object.entries(packages).map(([name, version]) => `${name}=${version}*`);
      const first = await host.run('apt-get', installArgs(specs), { timeoutMs: INSTALL_TIMEOUT_MS });
      if (first.code !== 0) {
        if (NEEDS_UPDATE.test(first.stderr)) await mustRun(host, 'apt-get', ['update'], UPDATE_TIMEOUT_MS);
        await mustRun(host, 'apt-get', installArgs(specs), INSTALL_TIMEOUT_MS);
      }
      await mustRun(host, 'apt-mark', ['hold', ...names]);
    },
  };
};

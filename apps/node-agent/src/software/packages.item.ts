import type { SoftwareVersions } from '@fairlead/contracts';
import type { Difference } from '../node/difference.js';
import type { HostPort } from '../node/host.ports.js';
import { mustRun, succeeds, type Item } from './item.js';
import type { InstalledPackage, PackageDriver } from './package.driver.js';

const describe = (found: InstalledPackage | undefined): string => {
  if (found === undefined) return 'missing';
  return found.held ? found.version : `${found.version} without hold`;
};

const KUBELET = 'kubelet';
/** No running program depends on their versions. */
const TOOLS: ReadonlySet<string> = new Set(['kubeadm', 'kubectl']);

/** The desired packages at exactly the desired versions, held. All that differ are installed by one command. */
export const packagesItem = (host: HostPort, driver: PackageDriver, desired: SoftwareVersions): Item => ({
  name: 'packages',

  inspect: async () => {
    const installed = await driver.installed(Object.keys(desired));
    const differences: Difference[] = [];
    for (const [what, version] of Object.entries(desired)) {
      const found = installed.get(what);
      const observed = describe(found);
      if (observed === version) continue;
      if (found?.held === true && (await driver.accepts?.(what, version, found.version)) === true) continue;
      const needsDrain = found?.version !== version && !TOOLS.has(what) ? ({ needsDrain: true } as const) : {};
      differences.push({ item: 'packages', what, observed, desired: version, ...needsDrain });
    }
    return differences;
  },

  ensure: async (differences) => {
    const packages = Object.fromEntries(differences.map(({ what, desired: version }) => [what, version]));
    const isOther = differences.some(({ what, needsDrain }) => what === KUBELET && needsDrain === true);
    const restarts = isOther && (await succeeds(host, 'systemctl', ['is-active', '--quiet', KUBELET]));
    // Downloaded beforehand, to minimize the downtime of the kubelet.
    if (restarts) await driver.stage(packages);
    // Stopped first: after a crash in between, a stopped kubelet is detected; one that still runs its old version is
    // not.
    if (restarts) await mustRun(host, 'systemctl', ['stop', KUBELET]);
    await driver.install(packages);
    if (restarts) await mustRun(host, 'systemctl', ['start', KUBELET]);
  },
});

/** The installed versions of the desired packages; missing ones are omitted. */
export const observedSoftware = async (
  driver: Pick<PackageDriver, 'installed'>,
  desired: SoftwareVersions,
): Promise<SoftwareVersions> => {
  const installed = await driver.installed(Object.keys(desired));
  return Object.fromEntries(
    Object.keys(desired).flatMap((name) => {
      const found = installed.get(name);
      return found === undefined ? [] : [[name, found.version]];
    }),
  );
};

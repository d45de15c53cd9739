import type { HostPort } from '../node/host.ports.js';
import type { Mirror } from './mirror.js';
import { osValue } from './os.release.js';

/** A folder of the host with packages of its distribution, as an apt repository; undefined if there is none. */
export type LocalRepository = () => Promise<string | undefined>;

export const noRepository: LocalRepository = () => Promise.resolve(undefined);

/** The packages of a mirror in a folder of the host: their list is verified, and the list verifies each package. */
export const mirrorRepository = (host: HostPort, mirror: Mirror): LocalRepository => {
  return async () => {
    const osRelease = (await host.readFile('/etc/os-release')) ?? '';
    const distribution = `${osValue(osRelease, 'ID')}-${osValue(osRelease, 'VERSION_ID')}`;
    const packages = (await mirror.catalogue())?.packages.find((each) => each.distribution === distribution);
    return packages === undefined ? undefined : mirror.folder(packages.folder, 'Packages');
  };
};

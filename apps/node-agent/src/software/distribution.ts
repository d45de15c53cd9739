import { ExternalFailure } from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import { aptPackages } from './apt.packages.js';
import { noRepository, type LocalRepository } from './local.repository.js';
import { osValue } from './os.release.js';
import type { Distribution } from './package.driver.js';

/** Package managers by ID or ID_LIKE of os-release(5). To support a distribution, add a line. */
const DRIVERS: Readonly<Record<string, (host: HostPort, local: LocalRepository) => Distribution>> = {
  debian: aptPackages,
  ubuntu: aptPackages,
};

/** ID first, then ID_LIKE in its order. */
export const distributionIds = (osRelease: string): readonly string[] =>
  `${osValue(osRelease, 'ID')} ${osValue(osRelease, 'ID_LIKE')}`.split(' ').filter((id) => id !== '');

/** Throws ExternalFailure for an unsupported package manager. A host without an ID is treated as Debian. */
export const distributionOf = async (host: HostPort, local = noRepository): Promise<Distribution> => {
  const ids = distributionIds((await host.readFile('/etc/os-release')) ?? '');
  const driver = ids.length === 0 ? aptPackages : ids.map((id) => DRIVERS[id]).find((driver) => driver !== undefined);
  if (driver !== undefined) return driver(host, local);
  throw new ExternalFailure({
    operation: 'find the package manager',
    target: 'host',
    message: `${ids[0] ?? 'this system'} is none of ${Object.keys(DRIVERS).join(', ')}`,
    retryable: false,
  });
};

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { withDebianPackages } from '../apt/apt.download.js';

/** Testing first: it becomes the next stable release and keeps such a version; unstable moves on. */
const SUITES = ['forky', 'sid'] as const;

export interface DownloadedBinary {
  readonly path: string;
  readonly source: string;
}

/** Downloads Debian's nats-server. The binary exists until `use` resolves. */
export const withDebianDownload = async (
  use: (binary: DownloadedBinary) => Promise<string | undefined>,
): Promise<readonly string[]> =>
  withDebianPackages({ suites: SUITES, select: () => Promise.resolve(['nats-server']) }, async ({ root, source }) => {
    const path = join(root, 'usr', 'sbin', 'nats-server');
    return existsSync(path) ? use({ path, source }) : 'the package holds no /usr/sbin/nats-server';
  });

import { createHash } from 'node:crypto';
import { ChartFailure, type IndexedVersion, type RepositoryCredentials } from './charts.ports.js';

export const basicOf = ({ username, password }: RepositoryCredentials): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

/** Returns the archive if its digest matches the announced one. */
export const checkedArchive = (
  { version, digest }: Pick<IndexedVersion, 'version' | 'digest'>,
  bytes: Buffer,
): Buffer => {
  const actual = createHash('sha256').update(bytes).digest('hex');
  if (actual === digest) return bytes;
  throw new ChartFailure(
    'DigestMismatch',
    `the archive of version ${version} has the SHA-256 ${actual}, and the index says ${digest ?? 'nothing'}`,
  );
};

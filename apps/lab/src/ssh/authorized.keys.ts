import type { HostFiles } from '../files/host.files.js';

/** The keys that log in as root. */
export const AUTHORIZED_KEYS = '/root/.ssh/authorized_keys';

/** Lines without options only: nothing else is written on a simulated host. */
export const authorizedKeysIn = async (files: Pick<HostFiles, 'readText'>): Promise<readonly string[]> =>
  ((await files.readText(AUTHORIZED_KEYS)) ?? '').split('\n').filter((line) => line !== '');

import type { HostFiles } from '../files/host.files.js';

/** The keys that may log in as root. */
export const AUTHORIZED_KEYS = '/root/.ssh/authorized_keys';

/** Supports only lines without options, because no others are written on simulated hosts. */
export const authorizedKeysIn = async (files: Pick<HostFiles, 'readText'>): Promise<readonly string[]> =>
  ((await files.readText(AUTHORIZED_KEYS)) ?? '').split('\n').filter((line) => line !== '');

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '@fairlead/embedded';

const run = promisify(execFile);
const DOWNLOAD_TIMEOUT_MS = 120_000;

/**
 * kubectl from PATH, or the one of Debian's package kubernetes-client, unpacked into the cache without installing it.
 * Throws a sentence when neither is available: a test that needs kubectl must not pass without it.
 */
export const findKubectl = async (): Promise<string> => {
  const onPath = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'kubectl'));
  const found = onPath.find((file) => existsSync(file));
  if (found !== undefined) return found;
  const folder = join(cacheFolder(process.env, '.fairlead'), 'kubectl');
  const unpacked = join(folder, 'usr', 'bin', 'kubectl');
  if (existsSync(unpacked)) return unpacked;
  mkdirSync(folder, { recursive: true });
  await run('apt-get', ['download', 'kubernetes-client'], { cwd: folder, timeout: DOWNLOAD_TIMEOUT_MS });
  const archive = readdirSync(folder).find((file) => file.endsWith('.deb'));
  if (archive === undefined)
    throw new Error(
      'no kubectl on PATH, and apt-get download kubernetes-client brought none: install kubectl, or run apt-get update',
    );
  await run('dpkg-deb', ['-x', join(folder, archive), folder], { timeout: DOWNLOAD_TIMEOUT_MS });
  return unpacked;
};

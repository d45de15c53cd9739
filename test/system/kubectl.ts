import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '@fairlead/embedded';
import { provideDebianProgram } from '@fairlead/embedded/apt';

/**
 * kubectl from PATH, or from Debian's package kubernetes-client, unpacked into the cache without installing it. Throws
 * if neither is available: a test that needs kubectl must not pass without it.
 */
export const findKubectl = async (): Promise<string> => {
  const onPath = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'kubectl'));
  const found = onPath.find((file) => existsSync(file));
  if (found !== undefined) return found;
  const file = join(cacheFolder(process.env, '.fairlead'), 'kubectl', 'kubectl');
  const reasons = await provideDebianProgram({ name: 'kubernetes-client', path: 'usr/bin/kubectl' }, file);
  if (reasons.length > 0)
    throw new Error(`no kubectl on PATH, and none from Debian (${reasons.join('; ')}): install kubectl`);
  return file;
};

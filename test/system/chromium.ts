import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '@fairlead/embedded';
import { provideDebianTree } from '@fairlead/embedded/apt';
import { chromium, type Browser } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** A browser of this machine, or Debian's, unpacked into the cache without installing it. */
export interface Chromium {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

const inTree = (tree: string): Chromium => ({
  executablePath: join(tree, 'usr/lib/chromium/chromium'),
  env: {
    LD_LIBRARY_PATH: ['x86_64-linux-gnu', 'aarch64-linux-gnu']
      .flatMap((triplet) => ['', '/pulseaudio'].map((folder) => join(tree, 'usr/lib', `${triplet}${folder}`)))
      .join(':'),
    // Fonts are searched below the data folder.
    XDG_DATA_HOME: join(tree, 'usr/share'),
    ...(existsSync('/etc/fonts') ? {} : { FONTCONFIG_PATH: join(tree, 'etc/fonts') }),
  },
});

/** Resolves to the reason if there is none. */
export const findChromium = async (): Promise<Chromium | { readonly reason: string }> => {
  const found = PLACES.find((file) => existsSync(file));
  if (found !== undefined) return { executablePath: found, env: {} };
  const tree = join(cacheFolder(process.env, '.fairlead'), 'chromium');
  const reasons = await provideDebianTree(['chromium', 'fonts-dejavu-core', 'fontconfig-config'], tree);
  return reasons.length > 0 ? { reason: reasons.join('; ') } : inTree(tree);
};

/** Without a sandbox: tests run as root in containers, and open only what they serve themselves. */
export const launchChromium = ({ executablePath, env }: Chromium): Promise<Browser> =>
  chromium.launch({
    executablePath,
    env: { ...(process.env as Record<string, string>), ...env },
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });

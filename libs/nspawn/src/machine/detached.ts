import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

const SECRET_MODE = 0o600;

/**
 * Starts a program in its own session and mount namespace: it outlives this process, and its mounts are private. What
 * is unmounted here is also unmounted there. `ended` reports its end while this process is running.
 */
export const startDetached = (
  words: readonly string[],
  logFile: string,
  env: Readonly<Record<string, string>> = {},
): { readonly ended: () => boolean } => {
  const log = openSync(logFile, 'a', SECRET_MODE);
  let hasEnded = false;
  const child = spawn('unshare', ['--mount', '--propagation', 'slave', ...words], {
    detached: true,
    cwd: '/',
    stdio: ['ignore', log, log],
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', ...env },
  });
  closeSync(log);
  child.once('error', () => (hasEnded = true));
  child.once('exit', () => (hasEnded = true));
  child.unref();
  return { ended: () => hasEnded };
};

import type { HostPort } from '../node/host.ports.js';
import { memberIn } from './etcd.manifest.js';

const LOOK_TIMEOUT_MS = 10_000;
/** etcd writes a snapshot after this many log entries: immediately, for a member that has any. */
const ENTRIES = 10;

const FIRST_MINOR = 6;
const IMAGE = /^[ \t]*image: \S+:v?3\.(\d+)\./m;
const minorOf = (manifest: string): number | undefined => {
  const [, minor] = IMAGE.exec(manifest) ?? [];
  return minor === undefined ? undefined : Number(minor);
};

/** Whether the upgrade between these two etcd manifests crosses the version that misreads a log without a snapshot. */
export const leadsTo36 = (running: string, desired: string): boolean =>
  (minorOf(running) ?? FIRST_MINOR) < FIRST_MINOR && (minorOf(desired) ?? 0) >= FIRST_MINOR;

const SNAPSHOT_COUNT = /^([ \t]*-[ \t]+)--snapshot-count=\S+[ \t]*$/m;
const NAME = /^([ \t]*-[ \t]+)(--name=\S+)[ \t]*$/m;

/** The same member, but it writes a snapshot as soon as it has read its log. */
export const withSnapshotSoon = (manifest: string): string =>
  SNAPSHOT_COUNT.test(manifest)
    ? manifest.replace(SNAPSHOT_COUNT, `$1--snapshot-count=${ENTRIES}`)
    : manifest.replace(NAME, `$1$2\n$1--snapshot-count=${ENTRIES}`);

const found = async (host: HostPort, folder: string, pattern: string): Promise<boolean> => {
  const words = [folder, '-maxdepth', '2', '-type', 'f', '-name', pattern, '-size', '+0', '-print', '-quit'];
  const { code, stdout } = await host.run('find', words, { timeoutMs: LOOK_TIMEOUT_MS });
  return code === 0 && stdout.trim() !== '';
};

/**
 * Whether a member has a log but never wrote a snapshot: it has fewer than 10,000 entries, kubeadm's
 * `--snapshot-count`.
 */
export const hasNoSnapshot = async (host: HostPort, manifest: string): Promise<boolean> => {
  const folder = `${memberIn(manifest).dataFolder}/member`;
  return (await found(host, folder, '*.wal')) && !(await found(host, folder, '*.snap'));
};

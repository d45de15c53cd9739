import { AGENT_PATHS, EXTERNAL_ETCD, ExternalFailure, type EtcdChange } from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import { mustRun, succeeds } from '../software/item.js';
import { imageOf, memberIn, type Member } from './etcd.manifest.js';
import { runningContainers } from './running.containers.js';
import { STATIC_PODS } from './static.pods.js';
import { etcdUnitOn, isUnitRunning, startUnit, stopUnit } from './unit.etcd.js';

/** For a database of etcd's largest recommended size (8 GiB) on a slow disk. */
const RESTORE_TIMEOUT_MS = 20 * 60_000;
const SERVICE_TIMEOUT_MS = 120_000;
/** The kubelet checks manifests at least every 20 s (fileCheckFrequency), and a pod has a grace period of 30 s. */
const STOP_LIMIT_MS = 120_000;
/** Members wait for each other, and the kubelet restarts an API server without etcd with increasing backoff. */
const START_LIMIT_MS = 300_000;
const POLL_INTERVAL_MS = 1_000;
/** After this many incomplete attempts an operator must investigate. */
const TRIES_MAX = 9;
/** As recommended by the Kubernetes documentation: more than a cluster writes between a snapshot and its restore. */
const REVISIONS_AHEAD = 1_000_000_000;

const manifestOf = (name: string): string => `/etc/kubernetes/manifests/${name}.yaml`;
/** Outside the folder that the kubelet watches, and different from the path used by restarts of static pods. */
const stoppedOf = (name: string): string => `/etc/kubernetes/fairlead-restore-${name}.yaml`;

export interface RestoreParts {
  readonly host: HostPort;
  readonly sleep: (ms: number) => Promise<void>;
  readonly removeFile: ((path: string) => Promise<void>) | undefined;
  /** Installs etcdutl if the software source has it; returns undefined otherwise. */
  readonly etcdutl: () => Promise<string | undefined>;
}

const failure = (operation: string, message: string, retryable = true): ExternalFailure =>
  new ExternalFailure({ operation, target: 'host', message, retryable });

const until = async (parts: RestoreParts, name: string, desired: boolean): Promise<void> => {
  const limitMs = desired ? START_LIMIT_MS : STOP_LIMIT_MS;
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += POLL_INTERVAL_MS) {
    if ((await runningContainers(parts.host, name)).length > 0 === desired) return;
    await parts.sleep(POLL_INTERVAL_MS);
  }
  const what = desired ? 'does not run' : 'still runs';
  throw failure(`${desired ? 'start' : 'stop'} the static pod ${name}`, `it ${what} after ${limitMs / 1_000} s`);
};

/** etcd would find the former log beside the restored data, and fail. */
const refuseOtherLog = async (host: HostPort): Promise<void> => {
  const text = await runText(host);
  if (text === undefined) return;
  const { walFolder, dataFolder } = memberIn(text);
  if (walFolder === null) return;
  const message = `etcd keeps its log in ${walFolder} (--wal-dir), which a restore would leave beside other data: move what is in it to ${dataFolder}/member/wal, and take the flag out of the manifest`;
  throw failure('restore etcd', message, false);
};

/** Stops API servers first, so that nothing is written that would be lost, and etcd last. */
export const stopControlPlane = async (parts: RestoreParts): Promise<void> => {
  const { host } = parts;
  const names = STATIC_PODS.map(({ name }) => name).filter((name) => name !== 'etcd');
  for (const name of [...names, 'etcd']) {
    if (await host.exists(manifestOf(name))) await host.rename(manifestOf(name), stoppedOf(name));
  }
  for (const name of [...names, 'etcd']) await until(parts, name, false);
  if ((await etcdUnitOn(host)) !== undefined) await stopUnit(host);
};

export const stopForRestore = async (parts: RestoreParts): Promise<void> => {
  await refuseOtherLog(parts.host);
  await stopControlPlane(parts);
};

/** Starts etcd first, because an API server without etcd exits and is restarted only after a while. */
export const startControlPlane = async (parts: RestoreParts): Promise<void> => {
  const { host, removeFile } = parts;
  if ((await etcdUnitOn(host)) !== undefined) await startUnit(host);
  for (const { name } of STATIC_PODS) {
    if (await host.exists(stoppedOf(name))) await host.rename(stoppedOf(name), manifestOf(name));
  }
  // The kubelet has the previous state of the cluster in memory, and reads its manifests when it starts.
  await restartKubelet(host);
  for (const { name } of STATIC_PODS) {
    if (await host.exists(manifestOf(name))) await until(parts, name, true);
  }
  // The snapshot contains all secrets of the cluster.
  await removeFile?.(AGENT_PATHS.snapshot);
};

export const restartKubelet = (host: HostPort): Promise<string> =>
  mustRun(host, 'systemctl', ['restart', 'kubelet'], SERVICE_TIMEOUT_MS);

const keptIn = ({ dataFolder }: Member, { restoreId }: EtcdChange): string =>
  `${dataFolder}/fairlead-before-${restoreId}`;
const undoneIn = ({ dataFolder }: Member, { restoreId }: EtcdChange): string =>
  `${dataFolder}/fairlead-undone-${restoreId}`;

const runText = async (host: HostPort): Promise<string | undefined> =>
  (await etcdUnitOn(host)) ?? (await host.readFile(stoppedOf('etcd'))) ?? (await host.readFile(manifestOf('etcd')));

const manifestText = async (host: HostPort): Promise<string> => {
  const text = await runText(host);
  if (text === undefined) throw failure('read the manifest of etcd', `there is none at ${stoppedOf('etcd')}`, false);
  return text;
};

/** A member whose name or address differs from the list of all members would find no other. */
const checkedMember = (text: string, change: EtcdChange): Member => {
  const member = memberIn(text);
  const own = `${member.name}=${member.peerUrl}`;
  if (member.peerUrl === change.peerUrl && change.initialCluster.split(',').includes(own)) return member;
  const message = `the manifest of etcd says ${own}, which is not in ${change.initialCluster}`;
  throw failure('restore etcd', message, false);
};

/** A new folder per attempt: remains of an earlier attempt, interrupted by a power failure, are not used. */
const freshFolder = async (host: HostPort, { dataFolder }: Member, { restoreId }: EtcdChange): Promise<string> => {
  for (let number = 1; number <= TRIES_MAX; number += 1) {
    const folder = `${dataFolder}/fairlead-restored-${restoreId}-${number}`;
    if (!(await host.exists(folder))) return folder;
  }
  throw failure('restore etcd', `${TRIES_MAX} tries have left folders in ${dataFolder}`, false);
};

const restoreArguments = (help: string, member: Member, folder: string, change: EtcdChange): readonly string[] => [
  ...['snapshot', 'restore', AGENT_PATHS.snapshot],
  `--name=${member.name}`,
  `--initial-cluster=${change.initialCluster}`,
  `--initial-cluster-token=${change.token}`,
  `--initial-advertise-peer-urls=${member.peerUrl}`,
  `--data-dir=${folder}`,
  // Watches must not see known revisions with different contents: clients have to list again.
  ...(help.includes('--bump-revision') ? [`--bump-revision=${REVISIONS_AHEAD}`, '--mark-compacted'] : []),
];

/** etcdutl of an external etcd. */
const OWN_ETCDUTL = `${EXTERNAL_ETCD.programs}/etcdutl`;
const IMAGE_FOLDER = '/run/fairlead/etcd-image';

/** Runs with etcdutl of the host, of an external etcd, of the software source, or of the image of its etcd. */
const withEtcdutl = async (
  { host, etcdutl }: RestoreParts,
  manifest: string,
  work: (program: string) => Promise<void>,
): Promise<void> => {
  if (await succeeds(host, 'etcdutl', ['version'])) return work('etcdutl');
  if (await host.exists(OWN_ETCDUTL)) return work(OWN_ETCDUTL);
  const brought = await etcdutl();
  if (brought !== undefined) return work(brought);
  // Creates the folder.
  await host.writeFile(`${IMAGE_FOLDER}/.fairlead`, '', 0o600);
  const images = ['--namespace', 'k8s.io', 'images'];
  // Remains of an earlier attempt, if any, are in the way.
  await succeeds(host, 'ctr', [...images, 'unmount', '--rm', IMAGE_FOLDER]);
  await mustRun(host, 'ctr', [...images, 'mount', imageOf(manifest), IMAGE_FOLDER], SERVICE_TIMEOUT_MS);
  try {
    await work(`${IMAGE_FOLDER}/usr/local/bin/etcdutl`);
  } finally {
    await mustRun(host, 'ctr', [...images, 'unmount', '--rm', IMAGE_FOLDER], SERVICE_TIMEOUT_MS);
  }
};

/**
 * Replaces the member's data with those of the snapshot, and keeps the former ones next to them. May be run again after
 * a crash at any point: data are changed by two renames, whose completion can be detected.
 */
export const restoreMember = async (parts: RestoreParts, change: EtcdChange): Promise<void> => {
  const { host } = parts;
  const manifest = await manifestText(host);
  const member = checkedMember(manifest, change);
  if (await host.exists(manifestOf('etcd')))
    throw failure('restore etcd', 'the manifest of etcd is where the kubelet runs it', false);
  if ((await etcdUnitOn(host)) !== undefined && (await isUnitRunning(host)))
    throw failure('restore etcd', 'its member still runs');
  const [data, kept, ready] = [`${member.dataFolder}/member`, keptIn(member, change), readyFile(change)];
  if (await host.exists(kept)) {
    const folder = await host.readFile(ready);
    if (!(await host.exists(data)) && folder !== undefined) await host.rename(`${folder}/member`, data);
    return;
  }
  await withEtcdutl(parts, manifest, async (program) => {
    const { stdout: help } = await host.run(program, ['snapshot', 'restore', '--help'], {
      timeoutMs: SERVICE_TIMEOUT_MS,
    });
    const folder = await freshFolder(host, member, change);
    await mustRun(host, program, restoreArguments(help, member, folder, change), RESTORE_TIMEOUT_MS);
    await host.writeFile(ready, folder, 0o600);
    if (await host.exists(data)) await host.rename(data, kept);
    await host.rename(`${folder}/member`, data);
  });
};

/** Contains the path of the complete folder. */
const readyFile = ({ restoreId }: EtcdChange): string => `/var/lib/fairlead/etcd-restored-${restoreId}`;

/** Restores the former data and starts everything again. The restored data are kept in turn. */
export const undoRestore = async (parts: RestoreParts, change: EtcdChange): Promise<void> => {
  const { host } = parts;
  const member = memberIn(await manifestText(host));
  const [data, kept] = [`${member.dataFolder}/member`, keptIn(member, change)];
  if (await host.exists(kept)) {
    if (await host.exists(data)) await host.rename(data, undoneIn(member, change));
    await host.rename(kept, data);
  }
  await startControlPlane(parts);
};

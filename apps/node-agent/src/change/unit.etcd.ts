import {
  EXTERNAL_ETCD,
  etcdCheckFlags,
  imagesOf,
  releaseOf,
  ExternalFailure,
  type AgentProfile,
} from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import { mustRun, succeeds } from '../software/item.js';
import { hasNoSnapshot, leadsTo36 } from './etcd.first.snapshot.js';
import type { PhaseParts } from './phase.task.js';

const { unit: UNIT, programs: PROGRAMS, pod: POD } = EXTERNAL_ETCD;
const UNIT_FILE = `/etc/systemd/system/${UNIT}`;
const IMAGE_FILE = `${PROGRAMS}/image`;
const MOUNTED_AT = '/run/fairlead/etcd-image';
const IMAGES = ['--namespace', 'k8s.io', 'images'];
const NAMES = ['etcdctl', 'etcdutl', 'etcd'] as const;

const TOOL_TIMEOUT_MS = 120_000;
const PULL_TIMEOUT_MS = 10 * 60_000;
/** The unit has started once its member accepts requests, which needs a majority of all members. */
const START_TIMEOUT_MS = 300_000;
const [EXECUTABLE, PUBLIC, PRIVATE] = [0o755, 0o644, 0o600];

export type UnitEtcdParts = Pick<PhaseParts, 'host' | 'profile' | 'copyFile' | 'releases'>;

/** The unit of this host's external etcd member (ADR 24), or undefined if it has none. */
export const etcdUnitOn = (host: HostPort): Promise<string | undefined> => host.readFile(UNIT_FILE);

export const isUnitRunning = (host: HostPort): Promise<boolean> =>
  succeeds(host, 'systemctl', ['is-active', '--quiet', UNIT]);

/** Stops the unit, also across boots. */
export const stopUnit = async (host: HostPort): Promise<void> => {
  await mustRun(host, 'systemctl', ['disable', '--now', UNIT], TOOL_TIMEOUT_MS);
};

export const startUnit = async (host: HostPort): Promise<void> => {
  await mustRun(host, 'systemctl', ['enable', '--now', UNIT], START_TIMEOUT_MS);
};

const restartWith = async (host: HostPort, text: string): Promise<void> => {
  await host.writeFile(`${UNIT_FILE}.new`, text, PUBLIC);
  await host.rename(`${UNIT_FILE}.new`, UNIT_FILE);
  await mustRun(host, 'systemctl', ['daemon-reload'], TOOL_TIMEOUT_MS);
  await mustRun(host, 'systemctl', ['restart', UNIT], START_TIMEOUT_MS);
};

/** The etcd image that kubeadm of this release uses. */
const imageFor = (version: string, { profile: { imageRepository }, releases }: UnitEtcdParts): string => {
  const release = releaseOf(version, releases?.all);
  const image =
    release === undefined ? undefined : imagesOf(release, imageRepository).find(({ name }) => name === 'etcd');
  if (image !== undefined) return image.reference;
  const message = `Kubernetes ${version} is not among the supported releases`;
  throw new ExternalFailure({ operation: 'upgrade etcd', target: 'host', message, retryable: false });
};

const versionIn = (image: string): string => /:v?(\d+\.\d+\.\d+)/.exec(image)?.[1] ?? '';

const withMounted = async (
  host: HostPort,
  image: string,
  { imagePullPolicy }: Pick<AgentProfile, 'imagePullPolicy'>,
  work: () => Promise<void>,
): Promise<void> => {
  const listed = await mustRun(host, 'ctr', [...IMAGES, 'list', '--quiet'], TOOL_TIMEOUT_MS);
  if (imagePullPolicy !== 'Never' && !listed.split('\n').includes(image))
    await mustRun(host, 'ctr', [...IMAGES, 'pull', image], PULL_TIMEOUT_MS);
  // Creates the folder.
  await host.writeFile(`${MOUNTED_AT}/.fairlead`, '', PRIVATE);
  // Remains of an earlier attempt, if any, are in the way.
  await succeeds(host, 'ctr', [...IMAGES, 'unmount', '--rm', MOUNTED_AT]);
  await mustRun(host, 'ctr', [...IMAGES, 'mount', image, MOUNTED_AT], TOOL_TIMEOUT_MS);
  try {
    await work();
  } finally {
    await mustRun(host, 'ctr', [...IMAGES, 'unmount', '--rm', MOUNTED_AT], TOOL_TIMEOUT_MS);
  }
};

const newOf = (name: string): string => `${PROGRAMS}/${name}.new`;

const copy = async ({ host, copyFile }: UnitEtcdParts, from: string, to: string): Promise<void> => {
  if (copyFile !== undefined) return copyFile(from, to, EXECUTABLE);
  await host.writeFile(to, (await host.readFile(from)) ?? '', EXECUTABLE);
};

const bringPrograms = (parts: UnitEtcdParts, image: string): Promise<void> =>
  withMounted(parts.host, image, parts.profile, async () => {
    for (const name of NAMES) await copy(parts, `${MOUNTED_AT}/usr/local/bin/${name}`, newOf(name));
  });

const SNAPSHOT_COUNT = /--snapshot-count=\d+/;

/**
 * ADR 25: a member that never wrote a snapshot writes one while it is still 3.5, because it replays its log before it
 * accepts requests.
 */
const letWriteFirstSnapshot = async (host: HostPort, unit: string): Promise<void> => {
  if (!(await hasNoSnapshot(host, unit))) return;
  await restartWith(host, unit.replace(SNAPSHOT_COUNT, '--snapshot-count=10'));
  if (!(await hasNoSnapshot(host, unit))) return;
  const message = 'the member has written none';
  throw new ExternalFailure({ operation: 'first snapshot of etcd before 3.6', target: 'host', message });
};

/** The same unit with the flags of another version; only kubeadm's check flags differ. */
export const unitAt = (unit: string, from: string, to: string): string => {
  const after = etcdCheckFlags(to);
  return etcdCheckFlags(from)
    .reduce((text, flag, at) => text.replace(flag, after[at] ?? flag), unit)
    .replace(SNAPSHOT_COUNT, '--snapshot-count=10000');
};

/** Updates the etcdctl pod to the image of the member. */
const followWithPod = async (host: HostPort, image: string): Promise<void> => {
  const manifest = await host.readFile(POD);
  if (manifest === undefined) return;
  const aside = '/etc/kubernetes/fairlead-etcdctl.yaml';
  await host.writeFile(aside, manifest.replace(/^([ \t]*image: ).*$/m, `$1${image}`), PRIVATE);
  await host.rename(aside, POD);
};

/** The upgrade of this host's member to the etcd of a release. */
export interface UnitEtcdUpgrade {
  /** Everything that needs the network or takes long, while the member and its API server keep running. */
  readonly prepare: () => Promise<void>;
  /** Replaces the member. Its clients must be stopped, and every other member must be running. */
  readonly exchange: () => Promise<void>;
}

/**
 * Returns undefined if this host has no member, or already has the one of that release. May be repeated after a crash
 * at any point: the file with the image is written last.
 */
export const unitEtcdUpgrade = async (parts: UnitEtcdParts, version: string): Promise<UnitEtcdUpgrade | undefined> => {
  const { host } = parts;
  const unit = await etcdUnitOn(host);
  if (unit === undefined) return undefined;
  const image = imageFor(version, parts);
  const running = (await host.readFile(IMAGE_FILE)) ?? '';
  if (running === image) return undefined;
  return {
    prepare: () => bringPrograms(parts, image),
    exchange: async () => {
      if (leadsTo36(`image: ${running}`, `image: ${image}`)) await letWriteFirstSnapshot(host, unit);
      // A replaced program keeps running until its restart.
      for (const name of NAMES) await host.rename(newOf(name), `${PROGRAMS}/${name}`);
      await restartWith(host, unitAt(unit, versionIn(running), versionIn(image)));
      await followWithPod(host, image);
      await host.writeFile(`${IMAGE_FILE}.new`, image, PUBLIC);
      await host.rename(`${IMAGE_FILE}.new`, IMAGE_FILE);
    },
  };
};

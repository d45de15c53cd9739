import {
  WorldFailure,
  type AgentProfile,
  type EtcdChange,
  type NodeChange,
  type SoftwareVersions,
} from '@fairlead/contracts';
import type { AgentLog, HostPort } from '../agent/agent.ports.js';
import { commandLine, mustRun, replaceFile } from '../software/item.js';
import type { HostSoftware } from '../software/host.software.js';
import type { ChangePhase } from './change.decider.js';
import {
  restartKubelet,
  restoreMember,
  startControlPlane,
  stopControlPlane,
  undoRestore,
  type RestoreParts,
} from './etcd.restore.js';
import { PATCHES_FOLDER, writeEmulationPatches } from './emulated.version.js';
import { serverIn, withServer } from './kubelet.server.js';
import { writeNewManifests } from './kubeadm.manifests.js';
import { areStaticPodsAway, exchangeStaticPods, withStaticPodsAway } from './static.pods.exchange.js';
import { isWell, KUBELET, restartStaticPods, stopApiServer, untilWell, type StaticPodParts } from './static.pods.js';

const KUBELET_CONFIGURATION = '/etc/kubernetes/kubelet.conf';
const SUPER_ADMIN = '/etc/kubernetes/super-admin.conf';

/** Wall limit of `kubeadm upgrade` (upgrade rule C4). */
const KUBEADM_TIMEOUT_MS = 600_000;
const SERVICE_TIMEOUT_MS = 120_000;
/** A host that shuts its pods down in order may take its time. */
const REBOOT_LIMIT_MS = 600_000;

export interface PhaseParts extends StaticPodParts {
  readonly host: HostPort;
  readonly software: HostSoftware;
  readonly log: AgentLog;
  /** What kubeadm must not mind on a host of this kind; an upgrade remembers nothing of what init and join were told. */
  readonly profile: AgentProfile;
  /** undefined: a host whose files nobody removes, as those of the lab's light mode. */
  readonly removeFile: ((path: string) => Promise<void>) | undefined;
  /** Everything else that is wanted of the host, as it always is ensured. Throws where it fails. */
  readonly ensureRest: () => Promise<void>;
}

/** What a phase is about. */
export interface PhaseTask {
  readonly change: NodeChange;
  readonly wanted: SoftwareVersions;
  readonly ownServer: string | null;
  /** Remembers, before it is changed, what kubelet.conf named. */
  readonly keepServer: (server: string) => Promise<void>;
}

const upgradeArguments = (
  { kubeadm, kubernetes, emulatedVersion }: NodeChange,
  profile: AgentProfile,
): readonly string[] => {
  const ignored = [
    // CreateJob waits 15 s for a job that no node may run now; the gates before and after look at the cluster itself.
    ...(kubeadm === 'apply' ? ['CreateJob'] : []),
    ...(profile.ignorePreflightErrors ?? []),
    ...(profile.imagePullPolicy === 'Never' ? ['ImagePull'] : []),
  ];
  return [
    ...(kubeadm === 'apply' ? ['upgrade', 'apply', kubernetes ?? '', '--yes'] : ['upgrade', 'node']),
    ...(ignored.length === 0 ? [] : [`--ignore-preflight-errors=${ignored.join(',')}`]),
    ...(emulatedVersion === null ? [] : [`--patches=${PATCHES_FOLDER}`]),
  ];
};

/** For people and for events: the command that a phase is about, where it is about one. */
export const commandOf = (phase: ChangePhase, change: NodeChange, profile: AgentProfile): string | null => {
  switch (phase) {
    case 'kubeadm':
      return commandLine('kubeadm', upgradeArguments(change, profile));
    case 'kubelet':
    case 'kubelet-restart':
      return 'systemctl restart kubelet';
    case 'etcd-restore':
      return 'etcdutl snapshot restore';
    case 'certificates':
      return 'kubeadm certs renew all';
    case 'reboot':
      return 'systemctl reboot';
    case 'stage':
    case 'runtime':
    case 'etcd-stop':
    case 'etcd-start':
    case 'etcd-undo':
      return null;
  }
};

const versionOf = ({ kubernetes }: NodeChange): string => (kubernetes ?? '').slice(1);

/** See `restartAndSettle`. */
const KUBELET_SETTLES_MS = 3_000;

/**
 * A kubelet that starts makes sure of the volumes of each pod before all else. Were the manifest of a static pod gone before that, it
 * would wait for them to its limit of two minutes, and the pod would run on for so long. It tells nobody when it is done with it.
 */
const restartAndSettle = async (parts: PhaseParts): Promise<void> => {
  // What does not answer now cannot be waited for.
  const answers = await isWell(parts, KUBELET);
  await restartKubelet(parts.host);
  if (answers && (await untilWell(parts, KUBELET))) await parts.sleep(KUBELET_SETTLES_MS);
};

/** Points the kubelet at an API server. Does nothing where it is there already. */
const pointKubelet = async (
  parts: PhaseParts,
  server: string,
  keep: (before: string) => Promise<void>,
): Promise<void> => {
  const { host } = parts;
  const text = await host.readFile(KUBELET_CONFIGURATION);
  const before = text === undefined ? undefined : serverIn(text);
  if (text === undefined || before === undefined || before === server) return;
  await keep(before);
  await replaceFile(host, KUBELET_CONFIGURATION, withServer(text, server), 0o600);
  await restartAndSettle(parts);
};

/**
 * Does what kubeadm would wait for, without its waits, where others answer for this API server meanwhile; kubeadm then finds the
 * static pods as it wants them. Answers whether it did: where the new manifests cannot be had, kubeadm exchanges what is there.
 */
const exchangedAhead = async (parts: PhaseParts, change: NodeChange): Promise<boolean> => {
  if (change.balancedEndpoint === null || change.kubernetes === null) return false;
  let wanted: ReadonlyMap<string, string>;
  try {
    wanted = await writeNewManifests(parts.host, {
      version: change.kubernetes,
      patches: change.emulatedVersion === null ? null : PATCHES_FOLDER,
    });
  } catch (error) {
    if (!(error instanceof WorldFailure)) throw error;
    parts.log('warn', 'kubeadm exchanges the static pods itself', { cause: error.message });
    return false;
  }
  await exchangeStaticPods(parts, wanted);
  return true;
};

/**
 * While kubeadm exchanges this node's etcd and API server, its kubelet talks to the others: by its own it could not even
 * delete the mirror pod of what has stopped (docs/adr).
 */
const upgrade = async (parts: PhaseParts, { change, ownServer, keepServer }: PhaseTask): Promise<void> => {
  if (change.kubernetes !== null) await parts.software.packages.install({ kubeadm: versionOf(change) });
  if (change.balancedEndpoint !== null)
    await pointKubelet(parts, change.balancedEndpoint, (server) =>
      // What was kept in an earlier try is the truth.
      ownServer === null ? keepServer(server) : Promise.resolve(),
    );
  if (change.emulatedVersion !== null) await writeEmulationPatches(parts.host, change.emulatedVersion);
  if (!(await exchangedAhead(parts, change)) && change.stopApiServerFirst) await stopApiServer(parts);
  await mustRun(parts.host, 'kubeadm', upgradeArguments(change, parts.profile), KUBEADM_TIMEOUT_MS);
};

const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.');

/** Whether the static pods of this node begin anew with its new kubelet, and others answer for its API server meanwhile. */
const beginsStaticPodsAnew = async (parts: PhaseParts, change: NodeChange, version: string): Promise<boolean> => {
  if (change.balancedEndpoint === null) return false;
  if (await areStaticPodsAway(parts)) return true;
  const installed = (await parts.software.packages.installed(['kubelet'])).get('kubelet')?.version;
  return installed !== undefined && minorOf(installed) !== minorOf(version);
};

const exchangeKubelet = async (parts: PhaseParts, { change, wanted, ownServer }: PhaseTask): Promise<void> => {
  const { host, software } = parts;
  const version = versionOf(change);
  const kubelet = wanted['kubelet'] ?? version;
  const exchange = async (): Promise<void> => {
    await software.packages.install({ kubelet, kubectl: wanted['kubectl'] ?? version });
    const text = await host.readFile(KUBELET_CONFIGURATION);
    if (ownServer !== null && text !== undefined)
      await replaceFile(host, KUBELET_CONFIGURATION, withServer(text, ownServer), 0o600);
    await mustRun(host, 'systemctl', ['daemon-reload'], SERVICE_TIMEOUT_MS);
    await restartKubelet(host);
  };
  await ((await beginsStaticPodsAnew(parts, change, kubelet)) ? withStaticPodsAway(parts, exchange) : exchange());
};

const renewCertificates = async (parts: PhaseParts): Promise<void> => {
  await mustRun(parts.host, 'kubeadm', ['certs', 'renew', 'all'], SERVICE_TIMEOUT_MS);
  await restartStaticPods(parts);
  // It opens everything past RBAC, and nobody needs it after the first start (upgrade rule F).
  await parts.removeFile?.(SUPER_ADMIN);
};

/** Ends with the agent. If it does not, nobody has booted. */
const reboot = async ({ host, sleep }: PhaseParts): Promise<void> => {
  await mustRun(host, 'systemctl', ['reboot'], SERVICE_TIMEOUT_MS);
  await sleep(REBOOT_LIMIT_MS);
  throw new WorldFailure({
    operation: 'systemctl reboot',
    target: 'host',
    message: `the host has not booted within ${REBOOT_LIMIT_MS / 1_000} s`,
  });
};

type RestorePhase = 'etcd-stop' | 'etcd-restore' | 'etcd-start' | 'etcd-undo' | 'kubelet-restart';

const etcdOf = ({ etcd, id }: NodeChange): EtcdChange => {
  if (etcd === undefined) throw new Error(`change ${id} is no step of a restore`);
  return etcd;
};

const restoreStep = async (phase: RestorePhase, parts: PhaseParts, { change, wanted }: PhaseTask): Promise<void> => {
  const { host, sleep, removeFile, software } = parts;
  const etcdutl = (): Promise<string | undefined> => software.etcdutl(`v${wanted['kubelet'] ?? ''}`);
  const restore: RestoreParts = { host, sleep, removeFile, etcdutl };
  switch (phase) {
    case 'etcd-stop':
      return stopControlPlane(restore);
    case 'etcd-restore':
      return restoreMember(restore, etcdOf(change));
    case 'etcd-start':
      return startControlPlane(restore);
    case 'etcd-undo':
      return undoRestore(restore, etcdOf(change));
    case 'kubelet-restart':
      await restartKubelet(host);
  }
};

/** Carries a phase out. May be run again after a crash at any point of it. Throws WorldFailure with the words of what failed. */
export const runPhase = async (phase: ChangePhase, parts: PhaseParts, task: PhaseTask): Promise<void> => {
  switch (phase) {
    case 'stage':
      return parts.software.stage(task.wanted);
    case 'kubeadm':
      return upgrade(parts, task);
    case 'kubelet':
      return exchangeKubelet(parts, task);
    case 'runtime':
      return parts.ensureRest();
    case 'certificates':
      return renewCertificates(parts);
    case 'reboot':
      return reboot(parts);
    case 'etcd-stop':
    case 'etcd-restore':
    case 'etcd-start':
    case 'etcd-undo':
    case 'kubelet-restart':
      return restoreStep(phase, parts, task);
  }
};

import { ExternalFailure, type AgentProfile, type EtcdChange, type NodeChange } from '@fairlead/contracts';
import { commandLine, mustRun } from '../software/item.js';
import type { ChangePhase } from './change.decider.js';
import { PATCHES_FOLDER, writeEmulationPatches } from './emulated.version.js';
import {
  restartKubelet,
  restoreMember,
  startControlPlane,
  stopControlPlane,
  stopForRestore,
  undoRestore,
  type RestoreParts,
} from './etcd.restore.js';
import { writeNewManifests } from './kubeadm.manifests.js';
import {
  restartsStaticPods,
  configureNewKubelet,
  installKubelet,
  isStartedAsDesired,
  packageVersion,
  ownServerOf,
  pointKubelet,
} from './kubelet.exchange.js';

import { KUBELET_PATCH, KUBELET_PATCH_NAME, KUBELET_PATCHES_FOLDER } from '../software/kubelet.settings.js';
import { renewKubelet } from './kubelet.renewal.js';
import type { PhaseParts, PhaseTask } from './phase.task.js';
import { exchangeStaticPods, withStaticPodsAway } from './static.pods.exchange.js';
import { areStaticPodsWell, restartStaticPods, stopApiServer, whileApiServerAway } from './static.pods.js';
import { unitEtcdUpgrade } from './unit.etcd.js';

const PRIVATE = 0o600;
const SUPER_ADMIN = '/etc/kubernetes/super-admin.conf';

/** Time limit of `kubeadm upgrade` (upgrade rule C4). */
const KUBEADM_TIMEOUT_MS = 600_000;
const SERVICE_TIMEOUT_MS = 120_000;
/** Shutting down the pods of a host gracefully may take long. */
const REBOOT_LIMIT_MS = 600_000;

export const upgradeArguments = (
  {
    kubeadm,
    kubernetes,
    ignoredPreflightErrors = [],
  }: Pick<NodeChange, 'kubeadm' | 'kubernetes' | 'ignoredPreflightErrors'>,
  profile: AgentProfile,
  patches: string | null,
): readonly string[] => {
  const ignored = [
    // CreateJob waits 15 s for a job that no node may run at this time; the gates before and after check the cluster
    // itself.
    ...(kubeadm === 'apply' ? ['CreateJob'] : []),
    ...(profile.ignorePreflightErrors ?? []),
    ...ignoredPreflightErrors,
    ...(profile.imagePullPolicy === 'Never' ? ['ImagePull'] : []),
  ];
  return [
    ...(kubeadm === 'apply' ? ['upgrade', 'apply', kubernetes ?? '', '--yes'] : ['upgrade', 'node']),
    ...(ignored.length === 0 ? [] : [`--ignore-preflight-errors=${ignored.join(',')}`]),
    ...(patches === null ? [] : [`--patches=${patches}`]),
  ];
};

const emulationOf = ({ emulatedVersion }: NodeChange): string | null =>
  emulatedVersion === null ? null : PATCHES_FOLDER;

/** Node-specific settings were passed to kubeadm at the join; every upgrade must pass them again, or they are lost. */
const patchesOf = async ({ host }: PhaseParts, change: NodeChange): Promise<string | null> => {
  const emulation = emulationOf(change);
  const ofNode = await host.readFile(KUBELET_PATCH);
  if (ofNode === undefined) return emulation;
  if (emulation === null) return KUBELET_PATCHES_FOLDER;
  await host.writeFile(`${emulation}/${KUBELET_PATCH_NAME}`, ofNode, PRIVATE);
  return emulation;
};

/** The command of a phase for messages and events, if it has one. */
export const commandOf = (phase: ChangePhase, change: NodeChange, profile: AgentProfile): string | null => {
  switch (phase) {
    case 'kubeadm':
      return commandLine('kubeadm', upgradeArguments(change, profile, emulationOf(change)));
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

/**
 * Returns undefined if manifests cannot be generated, or if no other API server is available in the meantime: kubeadm
 * then replaces the static pods itself.
 */
const prepareExchange = async (
  parts: PhaseParts,
  { change }: PhaseTask,
  { kubeletGoes, patches }: { readonly kubeletGoes: boolean; readonly patches: string | null },
): Promise<ReadonlyMap<string, string> | undefined> => {
  if (change.balancedEndpoint === null || change.kubernetes === null) return undefined;
  try {
    const desired = await writeNewManifests(parts.host, { version: change.kubernetes, patches });
    if (kubeletGoes) await configureNewKubelet(parts.host, patches);
    return desired;
  } catch (error) {
    if (!(error instanceof ExternalFailure)) throw error;
    parts.log('warn', 'kubeadm exchanges the static pods itself', { cause: error.message });
    return undefined;
  }
};

/**
 * Replaces the static pods as kubeadm would, without its waits; kubeadm then finds them in the expected state. A
 * kubelet that keeps running while this node's API server and etcd are replaced uses the other API servers: with its
 * own it could not even delete the mirror pod of a stopped one. A kubelet that is replaced together with them, after
 * they have stopped, keeps its own (docs/adr).
 */
const upgrade = async (parts: PhaseParts, task: PhaseTask): Promise<void> => {
  const { change } = task;
  if (change.kubernetes !== null) await parts.software.packages.install({ kubeadm: packageVersion(change.kubernetes) });
  if (change.emulatedVersion !== null) await writeEmulationPatches(parts.host, change.emulatedVersion);
  const patches = await patchesOf(parts, change);
  const ownServer = await ownServerOf(parts, task);
  // A kubelet of a newer minor version may use only this node's own API server, because the others are older (A).
  const kubeletGoes = ownServer !== null && (await restartsStaticPods(parts, task));
  // Recorded, so that a later attempt, which may find the new kubelet, does not switch it to them either.
  if (kubeletGoes) await task.remember({ ownServer });
  const etcd = change.kubernetes === null ? undefined : await unitEtcdUpgrade(parts, change.kubernetes);
  const [desired] = await Promise.all([
    prepareExchange(parts, task, { kubeletGoes, patches }),
    etcd?.prepare(),
    kubeletGoes ? undefined : pointKubelet(parts, task),
  ]);
  if (kubeletGoes && desired === undefined) await pointKubelet(parts, task);
  const unitEtcd = etcd === undefined ? {} : { unitEtcd: etcd.exchange };
  const kubelet = kubeletGoes ? { kubelet: () => installKubelet(parts, task, ownServer) } : {};
  if (desired !== undefined) await exchangeStaticPods(parts, desired, { ...kubelet, ...unitEtcd });
  else if (etcd !== undefined) await whileApiServerAway(parts, etcd.exchange);
  else if (change.stopApiServerFirst) await stopApiServer(parts);
  await mustRun(parts.host, 'kubeadm', upgradeArguments(change, parts.profile, patches), KUBEADM_TIMEOUT_MS);
};

/** Does nothing if the kubelet was replaced with the static pods, unless kubeadm has changed its settings since. */
const exchangeKubelet = async (parts: PhaseParts, task: PhaseTask): Promise<void> => {
  const { change, isRepeated } = task;
  if (!isRepeated && (await isStartedAsDesired(parts, task))) return;
  const exchange = (): Promise<void> => installKubelet(parts, task, task.ownServer);
  // After an attempt that did not finish, the running kubelet may not be the installed one.
  const restarts = (isRepeated && change.balancedEndpoint !== null) || (await restartsStaticPods(parts, task));
  await (restarts ? withStaticPodsAway(parts, exchange) : exchange());
};

const restorePartsOf = ({ host, sleep, removeFile, software }: PhaseParts, { desired }: PhaseTask): RestoreParts => {
  const etcdutl = (): Promise<string | undefined> => software.etcdutl(`v${desired['kubelet'] ?? ''}`);
  return { host, sleep, removeFile, etcdutl };
};

/**
 * With expired certificates some components do not run at all, and none is healthy before the others: there is no order
 * to keep.
 */
const startAfresh = async (restore: RestoreParts): Promise<void> => {
  try {
    await stopControlPlane(restore);
  } finally {
    await startControlPlane(restore);
  }
};

const renewCertificates = async (parts: PhaseParts, task: PhaseTask): Promise<void> => {
  await mustRun(parts.host, 'kubeadm', ['certs', 'renew', 'all'], SERVICE_TIMEOUT_MS);
  const isRenewed = await renewKubelet(parts, task);
  if (!isRenewed && (await areStaticPodsWell(parts))) await restartStaticPods(parts);
  else await startAfresh(restorePartsOf(parts, task));
  // It bypasses RBAC entirely, and nothing needs it after the first start (upgrade rule F).
  await parts.removeFile?.(SUPER_ADMIN);
};

/** A reboot ends the agent; if the agent still runs after the limit, the host has not rebooted. */
const reboot = async ({ host, sleep }: PhaseParts): Promise<void> => {
  await mustRun(host, 'systemctl', ['reboot'], SERVICE_TIMEOUT_MS);
  await sleep(REBOOT_LIMIT_MS);
  throw new ExternalFailure({
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

const restoreStep = async (phase: RestorePhase, parts: PhaseParts, task: PhaseTask): Promise<void> => {
  const { change } = task;
  const { host } = parts;
  const restore = restorePartsOf(parts, task);
  switch (phase) {
    case 'etcd-stop':
      return stopForRestore(restore);
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

/**
 * Runs a phase. May be run again after a crash at any point. Throws ExternalFailure with the message of the failed
 * command.
 */
export const runPhase = async (phase: ChangePhase, parts: PhaseParts, task: PhaseTask): Promise<void> => {
  switch (phase) {
    case 'stage':
      return parts.software.stage(task.desired);
    case 'kubeadm':
      return upgrade(parts, task);
    case 'kubelet':
      return exchangeKubelet(parts, task);
    case 'runtime':
      return parts.ensureRest();
    case 'certificates':
      return renewCertificates(parts, task);
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

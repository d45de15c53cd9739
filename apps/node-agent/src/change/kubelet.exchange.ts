import { createHash } from 'node:crypto';
import type { NodeChange } from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import { mustRun, replaceFile } from '../software/item.js';
import { restartKubelet } from './etcd.restore.js';
import { serverIn, withServer } from './kubelet.server.js';
import type { PhaseParts, PhaseTask } from './phase.task.js';
import { isWell, KUBELET, untilWell } from './static.pods.js';

const KUBELET_CONFIGURATION = '/etc/kubernetes/kubelet.conf';
const PRIVATE = 0o600;
const SERVICE_TIMEOUT_MS = 120_000;
const CONFIGURE_TIMEOUT_MS = 60_000;

export const packageVersion = (kubernetes: NodeChange['kubernetes']): string => (kubernetes ?? '').slice(1);
const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.');

const desiredOf = ({ change, desired }: PhaseTask): string => desired['kubelet'] ?? packageVersion(change.kubernetes);

const installedOf = async ({ software }: PhaseParts): Promise<string | undefined> =>
  (await software.packages.installed(['kubelet'])).get('kubelet')?.version;

/**
 * A kubelet that starts makes sure of the volumes of each pod before all else. Were the manifest of a static pod gone before that, it
 * would wait for them to its limit of two minutes, and the pod would run on for so long. It does not report when it is done.
 */
const SETTLES_MS = 3_000;

/** What kubelet.conf names besides the balanced API server, or named before an earlier try; null: none. */
export const ownServerOf = async ({ host }: PhaseParts, { ownServer, change }: PhaseTask): Promise<string | null> => {
  if (ownServer !== null || change.balancedEndpoint === null) return ownServer;
  const text = await host.readFile(KUBELET_CONFIGURATION);
  const named = text === undefined ? undefined : serverIn(text);
  return named === undefined || named === change.balancedEndpoint ? null : named;
};

/**
 * Points the kubelet at the balanced API server, where there is one; from then on manifests may leave. Does nothing where it is there
 * already, and where an earlier try has exchanged it: a newer kubelet may not talk to the API servers that are still older (A).
 */
export const pointKubelet = async (parts: PhaseParts, task: PhaseTask): Promise<void> => {
  const { host } = parts;
  const { ownServer, change, remember } = task;
  const server = change.balancedEndpoint;
  if (server === null) return;
  if (ownServer !== null && (await installedOf(parts)) === desiredOf(task)) return;
  const text = await host.readFile(KUBELET_CONFIGURATION);
  const before = text === undefined ? undefined : serverIn(text);
  if (text === undefined || before === undefined || before === server) return;
  // What was kept in an earlier try is the truth.
  if (ownServer === null) await remember({ ownServer: before });
  await replaceFile(host, KUBELET_CONFIGURATION, withServer(text, server), PRIVATE);
  // What does not answer now cannot be waited for.
  const answers = await isWell(parts, KUBELET);
  await restartKubelet(host);
  if (answers && (await untilWell(parts, KUBELET))) await parts.sleep(SETTLES_MS);
};

/** Whether the static pods of this node begin again with its new kubelet, and others answer for its API server meanwhile. */
export const restartsStaticPods = async (parts: PhaseParts, task: PhaseTask): Promise<boolean> => {
  if (task.change.balancedEndpoint === null) return false;
  const installed = await installedOf(parts);
  return installed !== undefined && minorOf(installed) !== minorOf(desiredOf(task));
};

/**
 * Has the new kubeadm write what it would write at the end of its upgrade for the kubelet of this node: its configuration, and its flags
 * without those that the new one does not have. Nothing that runs is touched; the static pods must be there, by which it knows a
 * control plane. What kubeadm's upgrade itself changes of it afterwards is read at the kubelet's next start.
 */
export const configureNewKubelet = async (host: HostPort, patches: string | null): Promise<void> => {
  const patched = patches === null ? [] : [`--patches=${patches}`];
  await mustRun(host, 'kubeadm', ['upgrade', 'node', 'phase', 'kubelet-config', ...patched], CONFIGURE_TIMEOUT_MS);
  await mustRun(host, 'kubeadm', ['upgrade', 'node', 'phase', 'post-upgrade'], CONFIGURE_TIMEOUT_MS);
};

const READ_AT_ITS_START = [
  '/var/lib/kubelet/config.yaml',
  '/var/lib/kubelet/instance-config.yaml',
  '/var/lib/kubelet/kubeadm-flags.env',
  KUBELET_CONFIGURATION,
];

/** A digest of what the desired kubelet would start with now. */
const startOf = async ({ host }: PhaseParts, task: PhaseTask): Promise<string> => {
  const texts = await Promise.all(READ_AT_ITS_START.map((path) => host.readFile(path)));
  return createHash('sha256')
    .update(JSON.stringify([desiredOf(task), ...texts.map((text) => text ?? null)]))
    .digest('hex');
};

/** Whether it was started in this change, and kubeadm has written nothing else for it since. Another start would have every probe of its pods wait again. */
export const isStartedAsDesired = async (parts: PhaseParts, task: PhaseTask): Promise<boolean> =>
  task.startedKubelet !== null && task.startedKubelet === (await startOf(parts, task));

/** It names its own API server again before it is newer than the others. May be repeated after a crash at any point. */
export const installKubelet = async (parts: PhaseParts, task: PhaseTask, ownServer: string | null): Promise<void> => {
  const { host, software } = parts;
  const text = await host.readFile(KUBELET_CONFIGURATION);
  if (ownServer !== null && text !== undefined && serverIn(text) !== ownServer)
    await replaceFile(host, KUBELET_CONFIGURATION, withServer(text, ownServer), PRIVATE);
  const version = packageVersion(task.change.kubernetes);
  await software.packages.install({ kubelet: desiredOf(task), kubectl: task.desired['kubectl'] ?? version });
  await mustRun(host, 'systemctl', ['daemon-reload'], SERVICE_TIMEOUT_MS);
  const startedKubelet = await startOf(parts, task);
  await restartKubelet(host);
  await task.remember({ startedKubelet });
};

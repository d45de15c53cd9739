import { createHash } from 'node:crypto';
import type { NodeChange } from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import { KUBELET_CONF } from '../node/node.paths.js';
import { mustRun, replaceFile } from '../software/item.js';
import { restartKubelet } from './etcd.restore.js';
import { serverIn, withServer } from './kubelet.server.js';
import type { PhaseParts, PhaseTask } from './phase.task.js';
import { isWell, KUBELET, untilWell } from './static.pods.js';

const PRIVATE = 0o600;
const SERVICE_TIMEOUT_MS = 120_000;
const CONFIGURE_TIMEOUT_MS = 60_000;

export const packageVersion = (kubernetes: NodeChange['kubernetes']): string => (kubernetes ?? '').slice(1);
const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.');

const desiredOf = ({ change, desired }: PhaseTask): string => desired['kubelet'] ?? packageVersion(change.kubernetes);

const installedOf = async ({ software }: PhaseParts): Promise<string | undefined> =>
  (await software.packages.installed(['kubelet'])).get('kubelet')?.version;

/**
 * A starting kubelet first verifies the volumes of each pod. If the manifest of a static pod were removed before that,
 * it would wait for them up to its limit of two minutes while the pod keeps running. It does not report when it is
 * done.
 */
const SETTLES_MS = 3_000;

/** The API server in kubelet.conf, now or before an earlier attempt, if it is not the balanced one; otherwise null. */
export const ownServerOf = async ({ host }: PhaseParts, { ownServer, change }: PhaseTask): Promise<string | null> => {
  if (ownServer !== null || change.balancedEndpoint === null) return ownServer;
  const text = await host.readFile(KUBELET_CONF);
  const named = text === undefined ? undefined : serverIn(text);
  return named === undefined || named === change.balancedEndpoint ? null : named;
};

/**
 * Switches the kubelet to the balanced API server, if there is one; from then on manifests may be removed. Does nothing
 * if already done, or if an earlier attempt has replaced the kubelet: a newer kubelet may not use API servers that are
 * still older (A).
 */
export const pointKubelet = async (parts: PhaseParts, task: PhaseTask): Promise<void> => {
  const { host } = parts;
  const { ownServer, change, remember } = task;
  const server = change.balancedEndpoint;
  if (server === null) return;
  if (ownServer !== null && (await installedOf(parts)) === desiredOf(task)) return;
  const text = await host.readFile(KUBELET_CONF);
  const before = text === undefined ? undefined : serverIn(text);
  if (text === undefined || before === undefined || before === server) return;
  // The value of an earlier attempt takes precedence.
  if (ownServer === null) await remember({ ownServer: before });
  await replaceFile(host, KUBELET_CONF, withServer(text, server), PRIVATE);
  // A kubelet that is unhealthy now cannot be waited for.
  const answers = await isWell(parts, KUBELET);
  await restartKubelet(host);
  if (answers && (await untilWell(parts, KUBELET))) await parts.sleep(SETTLES_MS);
};

/** Whether the static pods of this node restart with its new kubelet, while other API servers are available. */
export const restartsStaticPods = async (parts: PhaseParts, task: PhaseTask): Promise<boolean> => {
  if (task.change.balancedEndpoint === null) return false;
  const installed = await installedOf(parts);
  return installed !== undefined && minorOf(installed) !== minorOf(desiredOf(task));
};

/**
 * Lets the new kubeadm write the kubelet's configuration as at the end of its upgrade: the configuration file, and its
 * flags without those that the new version does not have. Nothing that runs is changed. The static pods must exist,
 * because kubeadm recognizes a control plane by them. Later changes by kubeadm's upgrade apply at the kubelet's next
 * start.
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
  KUBELET_CONF,
];

/** A digest of the settings with which the desired kubelet would start now. */
const startOf = async ({ host }: PhaseParts, task: PhaseTask): Promise<string> => {
  const texts = await Promise.all(READ_AT_ITS_START.map((path) => host.readFile(path)));
  return createHash('sha256')
    .update(JSON.stringify([desiredOf(task), ...texts.map((text) => text ?? null)]))
    .digest('hex');
};

/**
 * Whether the kubelet was started in this change, and kubeadm has not changed its settings since. Another start would
 * delay every probe of its pods.
 */
export const isStartedAsDesired = async (parts: PhaseParts, task: PhaseTask): Promise<boolean> =>
  task.startedKubelet !== null && task.startedKubelet === (await startOf(parts, task));

/**
 * Installs the kubelet, after switching it back to its own API server, before it is newer than the others. May be
 * repeated after a crash at any point.
 */
export const installKubelet = async (parts: PhaseParts, task: PhaseTask, ownServer: string | null): Promise<void> => {
  const { host, software } = parts;
  const text = await host.readFile(KUBELET_CONF);
  if (ownServer !== null && text !== undefined && serverIn(text) !== ownServer)
    await replaceFile(host, KUBELET_CONF, withServer(text, ownServer), PRIVATE);
  const version = packageVersion(task.change.kubernetes);
  await software.packages.install({ kubelet: desiredOf(task), kubectl: task.desired['kubectl'] ?? version });
  await mustRun(host, 'systemctl', ['daemon-reload'], SERVICE_TIMEOUT_MS);
  const startedKubelet = await startOf(parts, task);
  await restartKubelet(host);
  await task.remember({ startedKubelet });
};

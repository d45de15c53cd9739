import { ExternalFailure } from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import type { Ask } from './change.ports.js';

interface Answering {
  readonly name: string;
  /** Responds with 200 while it works; kubeadm's defaults. */
  readonly health: string;
}

/** In start order, because each waits for the one before it. */
export const STATIC_PODS: readonly Answering[] = [
  { name: 'etcd', health: 'http://127.0.0.1:2381/health' },
  { name: 'kube-apiserver', health: 'https://127.0.0.1:6443/readyz' },
  { name: 'kube-controller-manager', health: 'https://127.0.0.1:10257/healthz' },
  { name: 'kube-scheduler', health: 'https://127.0.0.1:10259/healthz' },
];

export const manifestOf = (name: string): string => `/etc/kubernetes/manifests/${name}.yaml`;
/** Next to the folder that the kubelet watches, on the same file system. */
export const asidePathOf = (name: string): string => `/etc/kubernetes/fairlead-${name}.yaml`;

export const KUBELET: Answering = { name: 'kubelet', health: 'http://127.0.0.1:10248/healthz' };

/** The kubelet checks manifests at least every 20 s (fileCheckFrequency), and a pod has a grace period of 30 s. */
const STOP_LIMIT_MS = 90_000;
const START_LIMIT_MS = 180_000;
const ASK_EVERY_MS = 250;
const ASK_TIMEOUT_MS = 2_000;

export interface StaticPodParts {
  readonly host: HostPort;
  readonly ask: Ask;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Restores manifests that a crash left outside the folder. May be called at any time. */
export const restoreStaticPods = async ({ host }: Pick<StaticPodParts, 'host'>): Promise<void> => {
  for (const { name } of STATIC_PODS) {
    if (!(await host.exists(asidePathOf(name)))) continue;
    // kubeadm may have written a newer one in the meantime, which is kept.
    if (await host.exists(manifestOf(name))) await host.rename(asidePathOf(name), `${asidePathOf(name)}.old`);
    else await host.rename(asidePathOf(name), manifestOf(name));
  }
};

/** Whether it is healthy now. */
export const isWell = async ({ ask }: StaticPodParts, { health }: Answering): Promise<boolean> => {
  const asked = await ask(health, ASK_TIMEOUT_MS);
  return asked.kind === 'answered' && asked.status === 200;
};

/** Whether all static pods of this node are healthy now. */
export const areStaticPodsWell = async (parts: StaticPodParts): Promise<boolean> => {
  for (const pod of STATIC_PODS)
    if ((await parts.host.exists(manifestOf(pod.name))) && !(await isWell(parts, pod))) return false;
  return true;
};

const until = async (parts: StaticPodParts, pod: Answering, desired: boolean): Promise<boolean> => {
  const limitMs = desired ? START_LIMIT_MS : STOP_LIMIT_MS;
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += ASK_EVERY_MS) {
    if ((await isWell(parts, pod)) === desired) return true;
    await parts.sleep(ASK_EVERY_MS);
  }
  return false;
};

/** Whether it becomes healthy within the time that a static pod may take to start. */
export const untilWell = (parts: StaticPodParts, pod: Answering): Promise<boolean> => until(parts, pod, true);

const failureOf = ({ name }: Answering, message: string): ExternalFailure =>
  new ExternalFailure({ operation: `restart of the static pod ${name}`, target: 'host', message });

const silent = (pod: Answering): ExternalFailure =>
  failureOf(pod, `it does not answer at ${pod.health} within ${START_LIMIT_MS / 1_000} s`);

const restart = async (parts: StaticPodParts, pod: Answering): Promise<void> => {
  const { host } = parts;
  if (!(await host.exists(manifestOf(pod.name)))) return;
  // An unhealthy pod cannot be waited for; the gates of the rollout check it afterwards.
  const answers = await isWell(parts, pod);
  await host.rename(manifestOf(pod.name), asidePathOf(pod.name));
  const hasStopped = answers && (await until(parts, pod, false));
  await host.rename(asidePathOf(pod.name), manifestOf(pod.name));
  if (answers && !hasStopped) throw failureOf(pod, `it did not stop within ${STOP_LIMIT_MS / 1_000} s`);
  if (answers && !(await until(parts, pod, true))) throw silent(pod);
};

const API_SERVER = 'kube-apiserver';

/** In-flight requests have this time to finish, as in kubeadm's documentation. */
const API_SERVER_GRACE_MS = 20_000;

/** Stops this node's API server gracefully before its etcd (upgrade rule C3). Returns whether it was running. */
const moveApiServerAside = async (parts: StaticPodParts): Promise<boolean> => {
  const { host } = parts;
  const pod = STATIC_PODS.find(({ name }) => name === API_SERVER);
  if (pod === undefined || !(await host.exists(manifestOf(API_SERVER))) || !(await isWell(parts, pod))) return false;
  await host.rename(manifestOf(API_SERVER), asidePathOf(API_SERVER));
  await parts.sleep(API_SERVER_GRACE_MS);
  return true;
};

const restoreApiServer = ({ host }: StaticPodParts): Promise<void> =>
  host.rename(asidePathOf(API_SERVER), manifestOf(API_SERVER));

/**
 * Restarts one pod after the other, each once the previous one is healthy. The API server is down while its etcd is:
 * otherwise it would accept requests and fail them until its load balancer notices.
 */
export const restartStaticPods = async (parts: StaticPodParts): Promise<void> => {
  await restoreStaticPods(parts);
  const isQuarantined = await moveApiServerAside(parts);
  for (const pod of STATIC_PODS) {
    if (pod.name !== API_SERVER || !isQuarantined) await restart(parts, pod);
    else {
      await restoreApiServer(parts);
      if (!(await until(parts, pod, true))) throw silent(pod);
    }
  }
};

/**
 * The kubelet stops the API server by its manifest: a signal by program name would reach any process of that name on
 * the machine, also outside this host.
 */
export const stopApiServer = (parts: StaticPodParts): Promise<void> => whileApiServerAway(parts, async () => undefined);

/** After a crash, the agent's next action restores it. */
export const whileApiServerAway = async (parts: StaticPodParts, work: () => Promise<void>): Promise<void> => {
  const isAway = await moveApiServerAside(parts);
  await work();
  if (isAway) await restoreApiServer(parts);
};

import { WorldFailure } from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import type { Ask } from './change.ports.js';

interface Answering {
  readonly name: string;
  /** Answers 200 while it works; kubeadm's defaults. */
  readonly health: string;
}

/** etcd last but one would be the API server without its etcd: each waits for the one before it. */
export const STATIC_PODS: readonly Answering[] = [
  { name: 'etcd', health: 'http://127.0.0.1:2381/health' },
  { name: 'kube-apiserver', health: 'https://127.0.0.1:6443/readyz' },
  { name: 'kube-controller-manager', health: 'https://127.0.0.1:10257/healthz' },
  { name: 'kube-scheduler', health: 'https://127.0.0.1:10259/healthz' },
];

export const manifestOf = (name: string): string => `/etc/kubernetes/manifests/${name}.yaml`;
/** Beside the folder that the kubelet watches, on its file system. */
export const asidePathOf = (name: string): string => `/etc/kubernetes/fairlead-${name}.yaml`;

export const KUBELET: Answering = { name: 'kubelet', health: 'http://127.0.0.1:10248/healthz' };

/** The kubelet looks every 20 s at the latest (fileCheckFrequency), and a pod may take its 30 s of grace. */
const STOP_LIMIT_MS = 90_000;
const START_LIMIT_MS = 180_000;
const ASK_EVERY_MS = 250;
const ASK_TIMEOUT_MS = 2_000;

export interface StaticPodParts {
  readonly host: HostPort;
  readonly ask: Ask;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Puts back what a crash left beside its folder. May be called at any time. */
export const restoreStaticPods = async ({ host }: Pick<StaticPodParts, 'host'>): Promise<void> => {
  for (const { name } of STATIC_PODS) {
    if (!(await host.exists(asidePathOf(name)))) continue;
    // kubeadm may have written a newer one meanwhile: that stays.
    if (await host.exists(manifestOf(name))) await host.rename(asidePathOf(name), `${asidePathOf(name)}.old`);
    else await host.rename(asidePathOf(name), manifestOf(name));
  }
};

/** Whether it works now. */
export const isWell = async ({ ask }: StaticPodParts, { health }: Answering): Promise<boolean> => {
  const asked = await ask(health, ASK_TIMEOUT_MS);
  return asked.kind === 'answered' && asked.status === 200;
};

/** Whether all that this node has work now. */
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

/** Whether it answers within the time that a static pod may take to start. */
export const untilWell = (parts: StaticPodParts, pod: Answering): Promise<boolean> => until(parts, pod, true);

const failureOf = ({ name }: Answering, message: string): WorldFailure =>
  new WorldFailure({ operation: `restart of the static pod ${name}`, target: 'host', message });

const silent = (pod: Answering): WorldFailure =>
  failureOf(pod, `it does not answer at ${pod.health} within ${START_LIMIT_MS / 1_000} s`);

const restart = async (parts: StaticPodParts, pod: Answering): Promise<void> => {
  const { host } = parts;
  if (!(await host.exists(manifestOf(pod.name)))) return;
  // What does not answer now cannot be waited for; the gates of the rollout look at it afterwards.
  const answers = await isWell(parts, pod);
  await host.rename(manifestOf(pod.name), asidePathOf(pod.name));
  const hasStopped = answers && (await until(parts, pod, false));
  await host.rename(asidePathOf(pod.name), manifestOf(pod.name));
  if (answers && !hasStopped) throw failureOf(pod, `it did not stop within ${STOP_LIMIT_MS / 1_000} s`);
  if (answers && !(await until(parts, pod, true))) throw silent(pod);
};

const API_SERVER = 'kube-apiserver';

/** In-flight requests get this time to end, as kubeadm's own documentation has it. */
const API_SERVER_GRACE_MS = 20_000;

/** This node's API server has ended in order before its etcd goes (upgrade rule C3). Answers whether it was there. */
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
 * One after the other, each well before the next one goes. The API server is away while its etcd is: without it it would go on taking
 * requests and answer that it cannot, for as long as its balancer needs to see that.
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
 * It is the kubelet that stops the API server, by its manifest: a signal by the name of a program would reach whatever bears that name
 * on the machine, also outside of this host.
 */
export const stopApiServer = (parts: StaticPodParts): Promise<void> => whileApiServerAway(parts, async () => undefined);

/** After a crash it is back with the agent's next action. */
export const whileApiServerAway = async (parts: StaticPodParts, work: () => Promise<void>): Promise<void> => {
  const isAway = await moveApiServerAside(parts);
  await work();
  if (isAway) await restoreApiServer(parts);
};

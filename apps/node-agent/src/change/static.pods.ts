import { WorldFailure } from '@fairlead/contracts';
import type { HostPort } from '../agent/agent.ports.js';
import type { Ask } from './change.ports.js';

interface StaticPod {
  readonly name: string;
  /** Answers 200 while it works; kubeadm's defaults. */
  readonly health: string;
}

/** etcd last but one would be the API server without its etcd: each waits for the one before it. */
export const STATIC_PODS: readonly StaticPod[] = [
  { name: 'etcd', health: 'http://127.0.0.1:2381/health' },
  { name: 'kube-apiserver', health: 'https://127.0.0.1:6443/readyz' },
  { name: 'kube-controller-manager', health: 'https://127.0.0.1:10257/healthz' },
  { name: 'kube-scheduler', health: 'https://127.0.0.1:10259/healthz' },
];

export const manifestOf = (name: string): string => `/etc/kubernetes/manifests/${name}.yaml`;
/** Beside the folder that the kubelet watches, on its file system. */
export const parkedOf = (name: string): string => `/etc/kubernetes/fairlead-${name}.yaml`;

/** The kubelet looks every 20 s at the latest (fileCheckFrequency), and a pod may take its 30 s of grace. */
const STOP_LIMIT_MS = 90_000;
const START_LIMIT_MS = 180_000;
const ASK_EVERY_MS = 500;
const ASK_TIMEOUT_MS = 2_000;

export interface StaticPodParts {
  readonly host: HostPort;
  readonly ask: Ask;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Puts back what a crash left beside its folder. May be called at any time. */
export const unparkStaticPods = async ({ host }: Pick<StaticPodParts, 'host'>): Promise<void> => {
  for (const { name } of STATIC_PODS) {
    if (!(await host.exists(parkedOf(name)))) continue;
    // kubeadm may have written a newer one meanwhile: that stays.
    if (await host.exists(manifestOf(name))) await host.rename(parkedOf(name), `${parkedOf(name)}.old`);
    else await host.rename(parkedOf(name), manifestOf(name));
  }
};

const isWell = async ({ ask }: StaticPodParts, { health }: StaticPod): Promise<boolean> => {
  const asked = await ask(health, ASK_TIMEOUT_MS);
  return asked.kind === 'answered' && asked.status === 200;
};

const until = async (parts: StaticPodParts, pod: StaticPod, wanted: boolean): Promise<boolean> => {
  const limitMs = wanted ? START_LIMIT_MS : STOP_LIMIT_MS;
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += ASK_EVERY_MS) {
    if ((await isWell(parts, pod)) === wanted) return true;
    await parts.sleep(ASK_EVERY_MS);
  }
  return false;
};

/** Whether it answers within the time that a static pod may take to start. */
export const untilWell = (parts: StaticPodParts, pod: StaticPod): Promise<boolean> => until(parts, pod, true);

const restart = async (parts: StaticPodParts, pod: StaticPod): Promise<void> => {
  const { host } = parts;
  if (!(await host.exists(manifestOf(pod.name)))) return;
  // What does not answer now cannot be waited for; the gates of the roll-out look at it afterwards.
  const answers = await isWell(parts, pod);
  await host.rename(manifestOf(pod.name), parkedOf(pod.name));
  const hasStopped = answers && (await until(parts, pod, false));
  await host.rename(parkedOf(pod.name), manifestOf(pod.name));
  const failure = (message: string): WorldFailure =>
    new WorldFailure({ operation: `restart of the static pod ${pod.name}`, target: 'host', message });
  if (answers && !hasStopped) throw failure(`it did not stop within ${STOP_LIMIT_MS / 1_000} s`);
  if (answers && !(await until(parts, pod, true)))
    throw failure(`it does not answer at ${pod.health} within ${START_LIMIT_MS / 1_000} s`);
};

/** One after the other, each well before the next one goes. */
export const restartStaticPods = async (parts: StaticPodParts): Promise<void> => {
  await unparkStaticPods(parts);
  for (const pod of STATIC_PODS) await restart(parts, pod);
};

/** In-flight requests get this time to end, as kubeadm's own documentation has it. */
const API_SERVER_GRACE_MS = 20_000;

/**
 * The API server of this node ends in order before its etcd goes (upgrade rule C3). It is the kubelet that stops it, by its manifest: a
 * signal by the name of a program would reach whatever bears that name on the machine, also outside of this host.
 */
export const stopApiServer = async (parts: StaticPodParts): Promise<void> => {
  const pod = STATIC_PODS.find(({ name }) => name === 'kube-apiserver');
  const { host } = parts;
  if (pod === undefined || !(await host.exists(manifestOf(pod.name))) || !(await isWell(parts, pod))) return;
  await host.rename(manifestOf(pod.name), parkedOf(pod.name));
  await parts.sleep(API_SERVER_GRACE_MS);
  await host.rename(parkedOf(pod.name), manifestOf(pod.name));
};

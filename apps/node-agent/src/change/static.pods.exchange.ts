import { WorldFailure } from '@fairlead/contracts';
import { mustRun } from '../software/item.js';
import { hasNoSnapshot, leadsTo36, withSnapshotSoon } from './etcd.first.snapshot.js';
import { KUBEADM_CONFIG, newManifestOf } from './kubeadm.manifests.js';
import { runningContainers } from './running.containers.js';
import { isWell, manifestOf, asidePathOf, STATIC_PODS, untilWell, type StaticPodParts } from './static.pods.js';

const CONTAINERS = ['-n', 'k8s.io'];
const RENEW_TIMEOUT_MS = 120_000;
const LOOK_EVERY_MS = 250;
/** Each is killed long before. */
const STOP_LIMIT_MS = 90_000;
/**
 * An API server waits for its open watches until it is killed. By this time its balancer, which looks once a second and believes three
 * looks, has sent everyone elsewhere, and what was asked before has its answer.
 */
const API_SERVER_GRACE_MS = 6_000;
/** A new pod that comes while the kubelet still tidies up after the old one waits for 10 to 15 s; a moment of patience saves that. */
const SETTLE_MS = 1_500;

const PRIVATE = 0o600;

const ETCD = 'etcd';
const API_SERVER = 'kube-apiserver';

/**
 * What still answers so long after its manifest left was not asked to end: a kubelet that is busy with the volumes of that pod asks it
 * after two minutes (seen once). An API server that was asked to end reports itself not ready; a second SIGTERM would cut it short.
 */
const TELL_AFTER_MS = 3_000;
/** A second SIGTERM changes nothing for etcd, and a kubelet that has only just started it takes its time to ask. */
const TELL_ETCD_AFTER_MS = 1_000;
/** etcd, the controller manager and the scheduler end within a second of SIGTERM. */
const KILL_AFTER_MS = 20_000;

const podOf = (name: string): (typeof STATIC_PODS)[number] | undefined => STATIC_PODS.find((one) => one.name === name);

/** By the containers' own ids. One that has just ended by itself is as good. */
const signal = async ({ host }: StaticPodParts, ids: readonly string[], name: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
  for (const id of ids)
    await host.run('ctr', [...CONTAINERS, 'tasks', 'kill', '--signal', name, id], { timeoutMs: STOP_LIMIT_MS });
};

/** Whatever it says: an API server that ends reports itself not ready. */
const answersAtAll = async ({ ask }: StaticPodParts, { health }: { readonly health: string }): Promise<boolean> =>
  (await ask(health, LOOK_EVERY_MS)).kind === 'answered';

/** Its containers are asked for only once it is silent, or their ids are needed: each look at them is two programs. */
const untilGone = async (parts: StaticPodParts, name: string, killAfterMs: number): Promise<void> => {
  const pod = podOf(name);
  const begunMs = performance.now();
  const signals = [
    { kind: 'SIGTERM', afterMs: name === ETCD ? TELL_ETCD_AFTER_MS : TELL_AFTER_MS },
    { kind: 'SIGKILL', afterMs: killAfterMs },
  ] as const;
  let sent = 0;
  for (let restedMs = 0; restedMs < STOP_LIMIT_MS; restedMs += LOOK_EVERY_MS) {
    const next = signals[sent];
    // On a machine that is busy the looks take longer than the rests between them.
    const isDue = next !== undefined && Math.max(restedMs, performance.now() - begunMs) >= next.afterMs;
    if (isDue || pod === undefined || !(await answersAtAll(parts, pod))) {
      const ids = await runningContainers(parts.host, name);
      if (ids.length === 0) return;
      if (isDue && (next.kind === 'SIGKILL' || (pod !== undefined && (await isWell(parts, pod)))))
        await signal(parts, ids, next.kind);
      if (isDue) sent += 1;
    }
    await parts.sleep(LOOK_EVERY_MS);
  }
  const message = `it did not stop within ${STOP_LIMIT_MS / 1_000} s`;
  throw new WorldFailure({ operation: `exchange of the static pod ${name}`, target: 'host', message });
};

const moveAside = async ({ host }: StaticPodParts, name: string): Promise<void> => {
  if (await host.exists(manifestOf(name))) await host.rename(manifestOf(name), asidePathOf(name));
};

const stop = async (parts: StaticPodParts, name: string, killAfterMs = KILL_AFTER_MS): Promise<void> => {
  await moveAside(parts, name);
  await untilGone(parts, name, killAfterMs);
};

const oldOf = (name: string): string => `${asidePathOf(name)}.old`;

/** From here on the new one is what a crash, or a boot, leaves for the kubelet to start. */
const replaceQuarantined = async ({ host }: StaticPodParts, name: string): Promise<void> => {
  const before = await host.readFile(asidePathOf(name));
  if (before !== undefined) await host.writeFile(oldOf(name), before, PRIVATE);
  await host.rename(newManifestOf(name), asidePathOf(name));
};

const silent = (name: string, health: string, isBack: boolean): WorldFailure => {
  const before = isBack ? 'the one before is back' : `the one before is kept as ${oldOf(name)}`;
  const message = `it does not answer at ${health}; ${before}`;
  return new WorldFailure({ operation: `exchange of the static pod ${name}`, target: 'host', message });
};

/**
 * `mayGoBack`: the old manifest comes back where the new one does not work; never etcd's, whose data the new one may have changed (G2),
 * and none under a new kubelet, which is not for an older API server (A).
 */
const start = async (parts: StaticPodParts, name: string, mayGoBack: boolean): Promise<void> => {
  const { host } = parts;
  // Written elsewhere: the kubelet takes every file of its folder for a pod.
  await host.rename(asidePathOf(name), manifestOf(name));
  const pod = podOf(name);
  if (pod === undefined || (await untilWell(parts, pod))) return;
  const goesBack = mayGoBack && name !== ETCD && (await host.exists(oldOf(name)));
  if (goesBack) await host.rename(oldOf(name), manifestOf(name));
  throw silent(name, pod.health, goesBack);
};

const whatNeedsTheApi = (names: ReadonlySet<string>): readonly string[] =>
  [...names].filter((name) => name !== ETCD && name !== API_SERVER);

const stopBeforeEtcd = async (parts: StaticPodParts, names: ReadonlySet<string>): Promise<void> => {
  await Promise.all([
    ...whatNeedsTheApi(names).map((name) => stop(parts, name)),
    ...(names.has(API_SERVER) ? [stop(parts, API_SERVER, API_SERVER_GRACE_MS)] : []),
  ]);
};

const FIRST_SNAPSHOT = '/etc/kubernetes/fairlead-etcd-first-snapshot.yaml';

/**
 * etcd 3.6 that reads its whole log once more takes the version of its beginning for a downgrade, and writes a snapshot with members
 * that the configuration of raft in it does not know; from it, at the next start, it forgets them for good (ADR 25). So a member
 * that has never written a snapshot writes one while it is still 3.5. May be repeated after a crash at any point.
 */
const letEtcdWriteFirstSnapshot = async (parts: StaticPodParts, desired: string): Promise<void> => {
  const { host, sleep } = parts;
  const running = (await host.readFile(manifestOf(ETCD))) ?? (await host.readFile(asidePathOf(ETCD)));
  if (running === undefined || !leadsTo36(running, desired) || !(await hasNoSnapshot(host, running))) return;
  await stop(parts, ETCD);
  await sleep(SETTLE_MS);
  await host.writeFile(FIRST_SNAPSHOT, withSnapshotSoon(running), PRIVATE);
  await host.rename(FIRST_SNAPSHOT, manifestOf(ETCD));
  const pod = podOf(ETCD);
  // It answers when it has read its log to the end, and the snapshots on the way to there are written.
  if (pod !== undefined && (await untilWell(parts, pod)) && !(await hasNoSnapshot(host, running))) return;
  const message = 'the member does not answer, or has written none';
  throw new WorldFailure({ operation: 'first snapshot of etcd before 3.6', target: 'host', message });
};

const inOrder = async (names: ReadonlySet<string>, startOne: (name: string) => Promise<void>): Promise<void> => {
  if (names.has(ETCD)) await startOne(ETCD);
  if (names.has(API_SERVER)) await startOne(API_SERVER);
  await Promise.all(whatNeedsTheApi(names).map(startOne));
};

/** Back as it is. What does not answer, or did not before, is for the gates of the rollout to see. */
const startAgain = async (parts: StaticPodParts, name: string, wereWell: ReadonlySet<string>): Promise<void> => {
  const { host } = parts;
  if (!(await host.exists(asidePathOf(name)))) return;
  await host.rename(asidePathOf(name), manifestOf(name));
  const pod = podOf(name);
  if (pod !== undefined && wereWell.has(name)) await untilWell(parts, pod);
};

const whatDiffers = async (
  { host }: StaticPodParts,
  desired: ReadonlyMap<string, string>,
): Promise<ReadonlySet<string>> => {
  const differing = new Set<string>();
  for (const [name, text] of desired) if ((await host.readFile(manifestOf(name))) !== text) differing.add(name);
  return differing;
};

const ALL: ReadonlySet<string> = new Set(STATIC_PODS.map(({ name }) => name));

/** What is replaced together with static pods, while they are away. */
export interface ExchangedBeside {
  readonly kubelet?: () => Promise<void>;
  /** The member of an external etcd, which is a unit of the host. */
  readonly unitEtcd?: () => Promise<void>;
}

/** What must be away while these are exchanged: the API server never answers for an etcd that is gone. */
const awayFor = (
  changing: ReadonlySet<string>,
  desired: ReadonlyMap<string, string>,
  { kubelet, unitEtcd }: ExchangedBeside,
): ReadonlySet<string> => {
  if (kubelet !== undefined) return new Set([...ALL].filter((name) => desired.has(name)));
  return changing.has(ETCD) || unitEtcd !== undefined ? new Set([...changing, API_SERVER]) : changing;
};

/**
 * As an upgrade by kubeadm does (rule F), while etcd ends; whatever reads them begins again afterwards. Not sooner: an API server that ends
 * answers that it is not ready, for longer where new keys take the processors. By the configuration that the new manifests were made of,
 * so that the cluster is not asked for it. Answers with its end.
 */
const renewCertificates = (host: StaticPodParts['host']): (() => Promise<void>) => {
  const arguments_ = ['certs', 'renew', 'all', '--config', KUBEADM_CONFIG];
  const ended = Promise.allSettled([mustRun(host, 'kubeadm', arguments_, RENEW_TIMEOUT_MS)]);
  return async () => {
    const [outcome] = await ended;
    if (outcome.status === 'rejected') throw outcome.reason;
  };
};

/**
 * Exchanges the static pods of this node for what kubeadm would make of them, so that it finds them done. The API server ends before
 * its etcd (C3) and comes back when that answers; what needs it comes after it. Each new pod begins when its old one is gone: notified of
 * both at once, as kubeadm does, the kubelet waits 10 to 15 s before it looks again. May be repeated after a crash at any point.
 *
 * `kubelet`: one of another minor version would begin every static pod again once more, so it comes while they are away (see
 * `withStaticPodsAway`). Where nothing differs, nothing is away, and it is not called.
 */
export const exchangeStaticPods = async (
  parts: StaticPodParts,
  desired: ReadonlyMap<string, string>,
  beside: ExchangedBeside = {},
): Promise<void> => {
  const { host, sleep } = parts;
  const { kubelet, unitEtcd } = beside;
  const changing = await whatDiffers(parts, desired);
  if (changing.size === 0 && unitEtcd === undefined) return;
  const away = awayFor(changing, desired, beside);
  await stopBeforeEtcd(parts, away);
  const renewal = renewCertificates(host);
  if (away.has(ETCD)) {
    await letEtcdWriteFirstSnapshot(parts, desired.get(ETCD) ?? '');
    await stop(parts, ETCD);
  }
  await unitEtcd?.();
  await renewal();
  // A kubelet that begins now has nothing to tidy up.
  if (kubelet === undefined) await sleep(SETTLE_MS);
  await inOrder(away, (name) => replaceQuarantined(parts, name));
  try {
    await kubelet?.();
  } catch (error) {
    await inOrder(away, (name) => startAgain(parts, name, away));
    throw error;
  }
  await inOrder(away, (name) => start(parts, name, kubelet === undefined));
};

/**
 * A kubelet of another minor version begins every static pod again, all at once and by itself: the API server goes without a word to its
 * balancer, and what needs it fails until it is back. So they end in order before such a work, and come back in order after it, also
 * when it failed. May be repeated after a crash at any point.
 */
export const withStaticPodsAway = async (parts: StaticPodParts, work: () => Promise<void>): Promise<void> => {
  const wereWell = new Set<string>();
  for (const pod of STATIC_PODS) if (await isWell(parts, pod)) wereWell.add(pod.name);
  await stopBeforeEtcd(parts, ALL);
  await stop(parts, ETCD);
  await parts.sleep(SETTLE_MS);
  try {
    await work();
  } finally {
    await inOrder(ALL, (name) => startAgain(parts, name, wereWell));
  }
};

import { ExternalFailure } from '@fairlead/contracts';
import { mustRun } from '../software/item.js';
import { hasNoSnapshot, leadsTo36, withSnapshotSoon } from './etcd.first.snapshot.js';
import { KUBEADM_CONFIG, newManifestOf } from './kubeadm.manifests.js';
import { runningContainers } from './running.containers.js';
import { isWell, manifestOf, asidePathOf, STATIC_PODS, untilWell, type StaticPodParts } from './static.pods.js';

const CONTAINERS = ['-n', 'k8s.io'];
const RENEW_TIMEOUT_MS = 120_000;
const POLL_INTERVAL_MS = 250;
/** The kill happens long before this limit. */
const STOP_LIMIT_MS = 90_000;
/**
 * An API server waits for its open watches until it is killed. After 3 failed checks (3 s) the load balancer stops
 * routing here, and in-flight requests have finished by then.
 */
const API_SERVER_GRACE_MS = 6_000;
/**
 * A new pod that appears while the kubelet still cleans up the old one waits 10 to 15 s; this short delay avoids that.
 */
const SETTLE_MS = 1_500;

const PRIVATE = 0o600;

const ETCD = 'etcd';
const API_SERVER = 'kube-apiserver';

/**
 * A pod that still responds this long after its manifest was removed was not asked to stop: a kubelet that is busy with
 * the volumes of that pod asks it after two minutes (seen once). A stopping API server reports itself not ready; a
 * second SIGTERM would interrupt it.
 */
const TELL_AFTER_MS = 3_000;
/** A second SIGTERM does not affect etcd, and a kubelet that has only just started it is slow to send the first. */
const TELL_ETCD_AFTER_MS = 1_000;
/** etcd, the controller manager and the scheduler stop within a second of SIGTERM. */
const KILL_AFTER_MS = 20_000;

const podOf = (name: string): (typeof STATIC_PODS)[number] | undefined => STATIC_PODS.find((one) => one.name === name);

/** Signals containers by ID. One that has just ended is ignored. */
const signal = async ({ host }: StaticPodParts, ids: readonly string[], name: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
  for (const id of ids)
    await host.run('ctr', [...CONTAINERS, 'tasks', 'kill', '--signal', name, id], { timeoutMs: STOP_LIMIT_MS });
};

/** Any response counts: a stopping API server reports itself not ready. */
const answersAtAll = async ({ ask }: StaticPodParts, { health }: { readonly health: string }): Promise<boolean> =>
  (await ask(health, POLL_INTERVAL_MS)).kind === 'answered';

/**
 * Queries its containers only once it stops responding or their IDs are needed, because each query runs two programs.
 */
const untilGone = async (parts: StaticPodParts, name: string, killAfterMs: number): Promise<void> => {
  const pod = podOf(name);
  const begunMs = performance.now();
  const signals = [
    { kind: 'SIGTERM', afterMs: name === ETCD ? TELL_ETCD_AFTER_MS : TELL_AFTER_MS },
    { kind: 'SIGKILL', afterMs: killAfterMs },
  ] as const;
  let sent = 0;
  for (let restedMs = 0; restedMs < STOP_LIMIT_MS; restedMs += POLL_INTERVAL_MS) {
    const next = signals[sent];
    // On a busy machine the checks take longer than the sleeps between them.
    const isDue = next !== undefined && Math.max(restedMs, performance.now() - begunMs) >= next.afterMs;
    if (isDue || pod === undefined || !(await answersAtAll(parts, pod))) {
      const ids = await runningContainers(parts.host, name);
      if (ids.length === 0) return;
      if (isDue && (next.kind === 'SIGKILL' || (pod !== undefined && (await isWell(parts, pod)))))
        await signal(parts, ids, next.kind);
      if (isDue) sent += 1;
    }
    await parts.sleep(POLL_INTERVAL_MS);
  }
  const message = `it did not stop within ${STOP_LIMIT_MS / 1_000} s`;
  throw new ExternalFailure({ operation: `exchange of the static pod ${name}`, target: 'host', message });
};

const moveAside = async ({ host }: StaticPodParts, name: string): Promise<void> => {
  if (await host.exists(manifestOf(name))) await host.rename(manifestOf(name), asidePathOf(name));
};

const stop = async (parts: StaticPodParts, name: string, killAfterMs = KILL_AFTER_MS): Promise<void> => {
  await moveAside(parts, name);
  await untilGone(parts, name, killAfterMs);
};

const oldOf = (name: string): string => `${asidePathOf(name)}.old`;

/** From here on, the kubelet starts the new pod after a crash or a boot. */
const replaceQuarantined = async ({ host }: StaticPodParts, name: string): Promise<void> => {
  const before = await host.readFile(asidePathOf(name));
  if (before !== undefined) await host.writeFile(oldOf(name), before, PRIVATE);
  await host.rename(newManifestOf(name), asidePathOf(name));
};

const silent = (name: string, health: string, isBack: boolean): ExternalFailure => {
  const before = isBack ? 'the one before is back' : `the one before is kept as ${oldOf(name)}`;
  const message = `it does not answer at ${health}; ${before}`;
  return new ExternalFailure({ operation: `exchange of the static pod ${name}`, target: 'host', message });
};

/**
 * `mayGoBack`: restores the old manifest if the new one does not work. Never for etcd, whose data the new version may
 * have changed (G2), nor under a new kubelet, which does not support an older API server (A).
 */
const start = async (parts: StaticPodParts, name: string, mayGoBack: boolean): Promise<void> => {
  const { host } = parts;
  // Prepared outside the folder, because the kubelet treats every file in it as a pod.
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
 * etcd 3.6 that replays its whole log takes the initial version for a downgrade, and writes a snapshot with members
 * that its raft configuration does not contain; at the next start from that snapshot it loses them permanently (ADR
 * 25). So a member that never wrote a snapshot writes one while it is still 3.5. May be repeated after a crash at any
 * point.
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
  // It responds after it has replayed its log, by when it has written the snapshots.
  if (pod !== undefined && (await untilWell(parts, pod)) && !(await hasNoSnapshot(host, running))) return;
  const message = 'the member does not answer, or has written none';
  throw new ExternalFailure({ operation: 'first snapshot of etcd before 3.6', target: 'host', message });
};

const inOrder = async (names: ReadonlySet<string>, startOne: (name: string) => Promise<void>): Promise<void> => {
  if (names.has(ETCD)) await startOne(ETCD);
  if (names.has(API_SERVER)) await startOne(API_SERVER);
  await Promise.all(whatNeedsTheApi(names).map(startOne));
};

/** Restores the pod as it was. The gates of the rollout check a pod that does not respond, or did not before. */
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

/** Components that are replaced together with the static pods, while those are down. */
export interface ExchangedBeside {
  readonly kubelet?: () => Promise<void>;
  /** The member of an external etcd, which is a unit of the host. */
  readonly unitEtcd?: () => Promise<void>;
}

/** The static pods to stop during the replacement: the API server never serves while its etcd is down. */
const awayFor = (
  changing: ReadonlySet<string>,
  desired: ReadonlyMap<string, string>,
  { kubelet, unitEtcd }: ExchangedBeside,
): ReadonlySet<string> => {
  if (kubelet !== undefined) return new Set([...ALL].filter((name) => desired.has(name)));
  return changing.has(ETCD) || unitEtcd !== undefined ? new Set([...changing, API_SERVER]) : changing;
};

/**
 * Renews certificates like kubeadm's upgrade (rule F), while etcd stops; everything that reads them is restarted
 * afterwards. Not earlier, because a stopping API server reports itself not ready, and key generation would prolong
 * that. Uses the configuration of the new manifests, so that the cluster is not queried. Returns a function that waits
 * for the result.
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
 * Replaces the static pods of this node with those that kubeadm would create, so that kubeadm finds them done. The API
 * server stops before etcd (C3) and returns once etcd responds; its clients follow. Each new pod starts after its old
 * one is gone: if the kubelet saw both changes at once, as with kubeadm, it would wait 10 to 15 s before its next
 * check. May be repeated after a crash at any point.
 *
 * `kubelet`: a kubelet of another minor version would restart every static pod once more, so it is replaced while they
 * are down (see `withStaticPodsAway`). If nothing differs, nothing is stopped, and it is not called.
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
  // A kubelet that starts now has nothing to clean up.
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
 * A kubelet of another minor version restarts every static pod at once: the API server disappears without notice to its
 * load balancer, and its clients fail until it is back. So static pods are stopped in order before the work and started
 * in order after it, also if it failed. May be repeated after a crash at any point.
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

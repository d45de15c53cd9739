import { WorldFailure, wordsOf } from '@fairlead/contracts';
import type { V1Pod } from '@kubernetes/client-node';
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Evicted } from '../../kubernetes/kubernetes.ports.js';
import { statusOf, type KubernetesClient } from '@fairlead/kubernetes';

const LOOK_EVERY_MS = 1_000;
const EVICTIONS_AT_ONCE_MAX = 10;
const MIRROR = 'kubernetes.io/config.mirror';

/** Static pods and DaemonSets' pods stay: they would come back at once. Pods that have ended are in nobody's way. */
const mustLeave = ({ metadata, status }: V1Pod): boolean =>
  metadata?.annotations?.[MIRROR] === undefined &&
  !metadata?.ownerReferences?.some(({ kind, controller }) => kind === 'DaemonSet' && controller === true) &&
  status?.phase !== 'Succeeded' &&
  status?.phase !== 'Failed';

const nameOf = ({ metadata }: V1Pod): string => `${metadata?.namespace}/${metadata?.name}`;

/** What an eviction was answered: undefined when the pod goes, else the words of what holds it. */
const evict = (client: KubernetesClient, pod: V1Pod): Promise<string | undefined> => {
  const { name = '', namespace = '' } = pod.metadata ?? {};
  return client.call(`evict ${nameOf(pod)}`, async () => {
    try {
      await client.core.createNamespacedPodEviction({
        name,
        namespace,
        body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } },
      });
      return undefined;
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      if (statusOf(error) !== 429) throw error;
      return wordsOf(error);
    }
  });
};

/** What holds a pod, out of all that the refusal of its eviction says. */
export const budgetWords = (message: string): string =>
  /Cannot evict pod[^"\\]*/.exec(message)?.[0] ??
  /disruption budget [\w.-]+/.exec(message)?.[0] ??
  'a disruption budget';

const isReady = async (client: KubernetesClient, name: string): Promise<boolean> => {
  const node = await client.find(`read node ${name}`, () => client.core.readNode({ name }));
  return node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
};

/** Evicts and waits until what must leave is gone: a pod that is told to go is not gone yet. */
export const drainNode = async (
  client: KubernetesClient,
  node: string,
  { deadlineMs, signal }: { readonly deadlineMs: number; readonly signal: AbortSignal },
): Promise<Evicted> => {
  const deadline = Date.now() + deadlineMs;
  const limit = pLimit(EVICTIONS_AT_ONCE_MAX);
  const evicted = new Set<string>();
  for (;;) {
    const { items } = await client.call(`list pods on ${node}`, () =>
      client.core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${node}` }),
    );
    const leaving = items.filter(mustLeave);
    if (leaving.length === 0) return { evictedPods: evicted.size, dead: false };
    // Nobody is there any more who could end its pods.
    if (!(await isReady(client, node))) return { evictedPods: evicted.size, dead: true };
    const held = new Map<string, string>();
    await Promise.all(
      leaving
        .filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
        .map((pod) =>
          limit(async () => {
            const holder = await evict(client, pod);
            if (holder === undefined) evicted.add(pod.metadata?.uid ?? nameOf(pod));
            else held.set(nameOf(pod), budgetWords(holder));
          }),
        ),
    );
    if (Date.now() >= deadline) {
      const reasons = leaving.map((pod) => `${nameOf(pod)}: ${held.get(nameOf(pod)) ?? 'it has not ended yet'}`);
      throw new WorldFailure({ operation: 'drain', target: node, message: reasons.join('; ') });
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
};

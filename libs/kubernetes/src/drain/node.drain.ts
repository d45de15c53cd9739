import type { DrainRule } from '@fairlead/contracts';
import pLimit from 'p-limit';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterApi, EvictionAnswer, NodeView, PodIdentity } from '../cluster.ports.js';
import { leavingOf, nextEvictions, type DrainPod } from './drain.planner.js';

const EVICTIONS_AT_ONCE_MAX = 10;
/** D4: a volume that does not detach delays the next one for this long, and no longer. */
const DETACH_LIMIT_MS = 2 * 60_000;
/** So many pods are named; the rest is a number. */
const NAMED_PODS_MAX = 20;
/** Budgets and webhooks choose their words themselves. */
const REASON_LENGTH_MAX = 300;

/** What a drain needs of a cluster. */
export interface DrainableCluster extends Pick<ClusterApi, 'evict' | 'deletePod' | 'volumeOf' | 'attachedVolumes'> {
  node(name: string): Promise<Pick<NodeView, 'ready'> | undefined>;
  podsOn(node: string): Promise<readonly DrainPod[]>;
}

/** Who refuses, which pods, and in which words. */
export interface Refusal {
  /** namespace/name; null: no budget is named. */
  readonly budget: string | null;
  readonly pods: readonly string[];
  readonly message: string;
}

export interface DrainLook {
  /** namespace/name of the pods that must leave and have not. */
  readonly left: readonly string[];
  readonly refusals: readonly Refusal[];
  /** Those of them that are not evicted (WaitCompleted). */
  readonly ending: readonly string[];
}

const nameOf = ({ namespace, name }: PodIdentity): string => `${namespace}/${name}`;

/**
 * The drain of one node, look by look; no state survives between two looks but the counts and the volumes, so a crash costs
 * only these. Pods leave through the eviction API: disruption budgets apply.
 */
export class NodeDrain {
  private readonly evicted = new Set<string>();
  private readonly forced = new Set<string>();
  private detaching: { readonly volumes: readonly string[]; readonly sinceMs: number } | undefined;

  constructor(
    private readonly cluster: DrainableCluster,
    private readonly node: string,
    private readonly nowMs: () => number,
    private readonly rules: readonly DrainRule[] = [],
  ) {}

  get evictedPods(): number {
    return this.evicted.size;
  }

  get forcedPods(): number {
    return this.forced.size;
  }

  /** Evicts what is due and reports what is left. */
  async look(): Promise<DrainLook> {
    const [pods, view] = await Promise.all([this.cluster.podsOn(this.node), this.cluster.node(this.node)]);
    // Without a kubelet nothing ends its pods: a pod that is being deleted counts as gone.
    const present = view?.ready === true ? pods : pods.filter(({ deleting }) => !deleting);
    const detaching = await this.isDetaching();
    const { evict, left, ending } = nextEvictions(present, { detaching, rules: this.rules });
    return { left: left.map(nameOf), ending: ending.map(nameOf), refusals: await this.evictAll(evict) };
  }

  /** Deletes what is left, regardless of budgets. */
  async force(): Promise<DrainLook> {
    const pods = await this.cluster.podsOn(this.node);
    const { left, ending } = nextEvictions(pods, { detaching: false, rules: this.rules });
    for (const pod of left.filter(({ uid, deleting }) => !deleting && !this.forced.has(uid))) {
      await this.cluster.deletePod(pod);
      this.forced.add(pod.uid);
    }
    return { left: left.map(nameOf), ending: ending.map(nameOf), refusals: [] };
  }

  /** Volumes that are attached to the node and that no pod needs which stays on it. */
  async attached(): Promise<readonly string[]> {
    const [attached, pods] = await Promise.all([
      this.cluster.attachedVolumes(this.node),
      this.cluster.podsOn(this.node),
    ]);
    if (attached.length === 0) return [];
    const staying = pods.filter((pod) => leavingOf(pod, this.rules).behavior === 'Skip');
    const needed = await Promise.all(
      staying.flatMap(({ namespace, claims }) => claims.map((claim) => this.cluster.volumeOf(namespace, claim))),
    );
    return attached.filter((volume) => !needed.includes(volume));
  }

  private async evictAll(pods: readonly DrainPod[]): Promise<readonly Refusal[]> {
    const limit = pLimit(EVICTIONS_AT_ONCE_MAX);
    const answers = await Promise.all(
      pods.map((pod) => limit(async () => ({ pod, answer: await this.evictOne(pod) }))),
    );
    const refusals = new Map<string, Refusal>();
    for (const { pod, answer } of answers) {
      if (answer.answer !== 'refused') continue;
      const { budget, message } = answer;
      const key = budget ?? message;
      const before = refusals.get(key)?.pods ?? [];
      refusals.set(key, { budget, message, pods: [...before, nameOf(pod)].toSorted() });
    }
    return [...refusals.values()];
  }

  private async evictOne(pod: DrainPod): Promise<EvictionAnswer> {
    // Its volumes are looked up before it is deleted: afterwards they cannot be assigned to it.
    const volumes = await Promise.all(pod.claims.map((claim) => this.cluster.volumeOf(pod.namespace, claim)));
    const answer = await this.cluster.evict(pod);
    if (answer.answer !== 'evicted') return answer;
    this.evicted.add(pod.uid);
    const bound = volumes.filter((volume) => volume !== undefined);
    if (bound.length > 0) this.detaching = { volumes: bound, sinceMs: this.nowMs() };
    return answer;
  }

  private async isDetaching(): Promise<boolean> {
    const { detaching } = this;
    if (detaching === undefined) return false;
    const attached = await this.cluster.attachedVolumes(this.node);
    const waits =
      detaching.volumes.some((volume) => attached.includes(volume)) &&
      this.nowMs() - detaching.sinceMs < DETACH_LIMIT_MS;
    if (!waits) this.detaching = undefined;
    return waits;
  }
}

/** A pod that is left, and what it waits for. */
export interface LeftPod {
  readonly pod: string;
  readonly reason: string;
}

export interface Drained {
  readonly outcome: 'drained';
  readonly evictedPods: number;
  /** The node was not Ready, or stopped being so: neither its pods nor their volumes are waited for. */
  readonly dead: boolean;
  /** Pods, and volumes, that were left when their time was over. */
  readonly leftPods: number;
  readonly attachedVolumes: number;
}

/** Pods are left, and the drain may go on. */
export interface Draining {
  readonly outcome: 'waiting';
  readonly left: number;
  /** The first of them. */
  readonly pods: readonly LeftPod[];
}

export interface DrainLimits {
  readonly rules?: readonly DrainRule[];
  /** How long this call may wait for pods. */
  readonly sliceMs: number;
  /** How much of the time for pods is left; undefined: they are waited for, however long that takes. */
  readonly remainingMs?: number | undefined;
  /** How long volumes may take to be detached. */
  readonly detachMs: number;
  readonly everyMs: number;
  readonly signal: AbortSignal;
}

const waiting = ({ left, refusals, ending }: DrainLook): Draining => ({
  outcome: 'waiting',
  left: left.length,
  pods: left.slice(0, NAMED_PODS_MAX).map((pod) => {
    const refusal = refusals.find(({ pods }) => pods.includes(pod));
    const otherwise = ending.includes(pod) ? 'it ends by itself (WaitCompleted)' : 'it has not ended yet';
    return { pod, reason: (refusal?.message ?? otherwise).slice(0, REASON_LENGTH_MAX) };
  }),
});

/**
 * Drains a node that does not come back. Its volumes are detached by the time it is drained, or their time is over: a machine that is
 * deleted with a volume keeps other nodes from it.
 */
export const drainNode = async (
  cluster: DrainableCluster,
  node: string,
  { rules = [], sliceMs, remainingMs, detachMs, everyMs, signal }: DrainLimits,
): Promise<Drained | Draining> => {
  const begunMs = Date.now();
  const drain = new NodeDrain(cluster, node, () => Date.now(), rules);
  const ended = (more: Partial<Drained>): Drained => ({
    ...{ outcome: 'drained', evictedPods: drain.evictedPods, dead: false, leftPods: 0, attachedVolumes: 0 },
    ...more,
  });
  for (let detachingSinceMs: number | undefined; ;) {
    // A dead node has no kubelet to end pods, and a budget must not hold it back.
    if ((await cluster.node(node))?.ready !== true) return ended({ dead: true });
    const look = await drain.look();
    const passedMs = Date.now() - begunMs;
    if (look.left.length > 0 && remainingMs !== undefined && passedMs >= remainingMs)
      return ended({ leftPods: look.left.length });
    if (look.left.length > 0 && passedMs >= sliceMs) return waiting(look);
    if (look.left.length === 0) {
      const { length: attachedVolumes } = await drain.attached();
      detachingSinceMs ??= Date.now();
      if (attachedVolumes === 0 || Date.now() - detachingSinceMs >= detachMs) return ended({ attachedVolumes });
    }
    await sleep(everyMs, undefined, { signal });
  }
};

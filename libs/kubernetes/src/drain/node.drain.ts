import { WorldFailure } from '@fairlead/contracts';
import pLimit from 'p-limit';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterApi, EvictionAnswer, NodeView, PodIdentity } from '../cluster.ports.js';
import { nextEvictions, type DrainPod } from './drain.planner.js';

const EVICTIONS_AT_ONCE_MAX = 10;
/** D4: a volume that does not detach delays the next one for this long, and no longer. */
const DETACH_LIMIT_MS = 2 * 60_000;
/** A failure names so many pods; the rest is a number. */
const NAMED_PODS_MAX = 20;

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
    const { evict, left } = nextEvictions(present, await this.isDetaching());
    return { left: left.map(nameOf), refusals: await this.evictAll(evict) };
  }

  /** Deletes what is left, regardless of budgets. */
  async force(): Promise<DrainLook> {
    const { left } = nextEvictions(await this.cluster.podsOn(this.node), false);
    for (const pod of left.filter(({ uid, deleting }) => !deleting && !this.forced.has(uid))) {
      await this.cluster.deletePod(pod);
      this.forced.add(pod.uid);
    }
    return { left: left.map(nameOf), refusals: [] };
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

export interface Drained {
  readonly evictedPods: number;
  /** The node was not Ready, or stopped being so: its pods are not waited for. */
  readonly dead: boolean;
}

export interface DrainLimits {
  readonly deadlineMs: number;
  readonly everyMs: number;
  readonly signal: AbortSignal;
}

const lateness = (node: string, { left, refusals }: DrainLook): WorldFailure => {
  const reasons = left.slice(0, NAMED_PODS_MAX).map((pod) => {
    const refusal = refusals.find(({ pods }) => pods.includes(pod));
    return `${pod}: ${refusal?.message ?? 'it has not ended yet'}`;
  });
  const more = left.length - reasons.length;
  const message = [...reasons, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
  return new WorldFailure({ operation: 'drain', target: node, message });
};

/** Drains a node that does not come back: to its end, or to the deadline, when it fails and names each pod with its reason. */
export const drainNode = async (
  cluster: DrainableCluster,
  node: string,
  { deadlineMs, everyMs, signal }: DrainLimits,
): Promise<Drained> => {
  const deadline = Date.now() + deadlineMs;
  const drain = new NodeDrain(cluster, node, () => Date.now());
  for (;;) {
    // A dead node has no kubelet to end pods, and a budget must not hold it back.
    const view = await cluster.node(node);
    if (view?.ready !== true) return { evictedPods: drain.evictedPods, dead: true };
    const look = await drain.look();
    if (look.left.length === 0) return { evictedPods: drain.evictedPods, dead: false };
    if (Date.now() >= deadline) throw lateness(node, look);
    await sleep(everyMs, undefined, { signal });
  }
};

import pLimit from 'p-limit';
import type { EvictionAnswer, PodView, UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { nextEvictions } from './drain.planner.js';

const EVICTIONS_AT_ONCE_MAX = 10;
/** D4: a volume that does not detach holds the next one back for so long, and no longer. */
const DETACH_LIMIT_MS = 2 * 60_000;

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

export const nameOf = ({ namespace, name }: PodView): string => `${namespace}/${name}`;

/**
 * The emptying of one node, look by look; between two looks nothing is owed to anybody, so a crash costs only the count. Pods
 * go through the eviction API, so that disruption budgets have their say.
 */
export class NodeDrain {
  private readonly evicted = new Set<string>();
  private readonly forced = new Set<string>();
  private detaching: { readonly volumes: readonly string[]; readonly sinceMs: number } | undefined;

  constructor(
    private readonly cluster: UpgradeCluster,
    private readonly node: string,
    private readonly nowMs: () => number,
  ) {}

  get evictedPods(): number {
    return this.evicted.size;
  }

  get forcedPods(): number {
    return this.forced.size;
  }

  /** Evicts what is due and tells what is left. */
  async look(): Promise<DrainLook> {
    const [pods, view] = await Promise.all([this.cluster.podsOn(this.node), this.cluster.node(this.node)]);
    // Without a kubelet nobody is there who could end its pods: what was told to go counts as gone.
    const present = view?.ready === true ? pods : pods.filter(({ deleting }) => !deleting);
    const { evict, left } = nextEvictions(present, await this.isDetaching());
    return { left: left.map(nameOf), refusals: await this.evictAll(evict) };
  }

  /** Deletes what is left, whatever budgets say. */
  async force(): Promise<DrainLook> {
    const { left } = nextEvictions(await this.cluster.podsOn(this.node), false);
    for (const pod of left.filter(({ uid, deleting }) => !deleting && !this.forced.has(uid))) {
      await this.cluster.deletePod(pod);
      this.forced.add(pod.uid);
    }
    return { left: left.map(nameOf), refusals: [] };
  }

  private async evictAll(pods: readonly PodView[]): Promise<readonly Refusal[]> {
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

  private async evictOne(pod: PodView): Promise<EvictionAnswer> {
    // Its volumes are looked up before it goes: afterwards nobody tells whose they were.
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

import { ExternalFailure, type DrainRule } from '@fairlead/contracts';
import pLimit from 'p-limit';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterApi, NodeView, PodIdentity } from '../cluster.ports.js';
import { leavingOf, nextEvictions, whyReturned, whyWaiting, type DrainPod } from './drain.planner.js';

const EVICTIONS_AT_ONCE_MAX = 10;
/** D4: a volume that does not detach delays the next pod by at most this long. */
const DETACH_LIMIT_MS = 2 * 60_000;
/** Maximum number of named pods; the rest are counted. */
const NAMED_PODS_MAX = 20;
/** Budgets and webhooks determine their own messages. */
const REASON_LENGTH_MAX = 300;
/** Backoff of a denied or failed eviction. */
const DENIED_AGAIN = { firstMs: 1_000, maxMs: 30_000 };
/**
 * Unlike a budget during the start of replacements, a denial does not resolve within seconds: it is reported
 * immediately.
 */
const DENIED_REPORTED_MS = 5_000;

/** The part of a cluster's API that a drain needs. */
export interface DrainableCluster extends Pick<
  ClusterApi,
  'beginDrain' | 'evict' | 'deletePod' | 'volumeOf' | 'attachedVolumes'
> {
  node(name: string): Promise<Pick<NodeView, 'ready'> | undefined>;
  podsOn(node: string): Promise<readonly DrainPod[]>;
}

export interface DrainOptions {
  /** The mark of the node's cordon. Drains with the same mark wait for the same pods. */
  readonly mark: string;
  readonly nowMs: () => number;
  readonly rules?: readonly DrainRule[];
}

/** Who refuses, which pods, and the message. */
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
  /** What each of them waits for. */
  readonly reasons: Readonly<Record<string, string>>;
  /** An eviction was denied or failed, and not because of a budget. */
  readonly isDenied: boolean;
  /** Pods created after the drain began, and why they are on the node. The drain does not wait for them. */
  readonly returned: readonly LeftPod[];
}

/** A pod that is on the node, and why. */
export interface LeftPod {
  readonly pod: string;
  readonly reason: string;
}

/** The last response to the eviction or deletion of a pod. */
interface Refused {
  readonly budget: string | null;
  readonly message: string;
  /** Consecutive denials; 0: a budget refuses, which is retried at each check. */
  readonly denials: number;
  readonly againMs: number;
}

const nameOf = ({ namespace, name }: PodIdentity): string => `${namespace}/${name}`;

/**
 * The drain of one node, in repeated checks. Like `kubectl drain`, it waits for the pods that were there when it began:
 * later ones, which tolerate the cordon, stay. Its start is recorded on the node; a crash loses only counts, volumes
 * and the backoff of denied evictions. Pods leave through the eviction API: disruption budgets apply.
 */
export class NodeDrain {
  private readonly evicted = new Set<string>();
  private readonly forced = new Set<string>();
  private readonly refused = new Map<string, Refused>();
  private begun: { readonly atMs: number | undefined } | undefined;
  /** Uids of the pods found by the first check. */
  private found: ReadonlySet<string> | undefined;
  private detaching: { readonly volumes: readonly string[]; readonly sinceMs: number } | undefined;
  private readonly rules: readonly DrainRule[];

  constructor(
    private readonly cluster: DrainableCluster,
    private readonly node: string,
    private readonly options: DrainOptions,
  ) {
    this.rules = options.rules ?? [];
  }

  get evictedPods(): number {
    return this.evicted.size;
  }

  get forcedPods(): number {
    return this.forced.size;
  }

  /** Evicts due pods and reports what is left. */
  async look(): Promise<DrainLook> {
    const { pods, returned } = await this.pods();
    const view = await this.cluster.node(this.node);
    // Without a kubelet nothing ends its pods: a pod that is being deleted counts as gone.
    const present = view?.ready === true ? pods : pods.filter(({ deleting }) => !deleting);
    const detaching = await this.isDetaching();
    const { evict, left, ending } = nextEvictions(present, { detaching, rules: this.rules });
    await this.ask(evict, (pod) => this.evictOne(pod));
    return this.lookOf({ left, ending, returned });
  }

  /** Deletes what is left, regardless of budgets. */
  async force(): Promise<DrainLook> {
    const { pods, returned } = await this.pods();
    const { left, ending } = nextEvictions(pods, { detaching: false, rules: this.rules });
    const due = left.filter(({ uid, deleting }) => !deleting && !this.forced.has(uid));
    await this.ask(due, async (pod) => {
      await this.cluster.deletePod(pod);
      this.forced.add(pod.uid);
      return undefined;
    });
    return this.lookOf({ left, ending, returned });
  }

  /** Volumes attached to the node, except those of pods that stay on it. */
  async attached(): Promise<readonly string[]> {
    const [attached, { pods, returned }] = await Promise.all([this.cluster.attachedVolumes(this.node), this.pods()]);
    if (attached.length === 0) return [];
    const staying = [...returned, ...pods.filter((pod) => leavingOf(pod, this.rules).behavior === 'Skip')];
    const needed = await Promise.all(
      staying.flatMap(({ namespace, claims }) => claims.map((claim) => this.cluster.volumeOf(namespace, claim))),
    );
    return attached.filter((volume) => !needed.includes(volume));
  }

  /** Pods that were there when the drain began, and later ones that would have to leave. */
  private async pods(): Promise<{ readonly pods: readonly DrainPod[]; readonly returned: readonly DrainPod[] }> {
    this.begun ??= { atMs: await this.cluster.beginDrain(this.node, this.options.mark) };
    const { atMs } = this.begun;
    const pods = await this.cluster.podsOn(this.node);
    // A node that Kubernetes does not know has no recorded start.
    const wasThere = ({ createdMs }: DrainPod): boolean => atMs === undefined || createdMs <= atMs;
    this.found ??= new Set(pods.filter(wasThere).map(({ uid }) => uid));
    const { found } = this;
    return {
      pods: pods.filter(({ uid }) => found.has(uid)),
      returned: pods.filter((pod) => !found.has(pod.uid) && leavingOf(pod, this.rules).behavior !== 'Skip'),
    };
  }

  private lookOf({ left, ending, returned }: Record<'left' | 'ending' | 'returned', readonly DrainPod[]>): DrainLook {
    const refusals = new Map<string, Refusal>();
    for (const pod of left) {
      const refused = this.refused.get(pod.uid);
      if (refused === undefined || pod.deleting) continue;
      const { budget, message } = refused;
      const key = budget ?? message;
      const before = refusals.get(key)?.pods ?? [];
      refusals.set(key, { budget, message, pods: [...before, nameOf(pod)].toSorted() });
    }
    const reasonOf = (pod: DrainPod): string =>
      (pod.deleting ? undefined : this.refused.get(pod.uid)?.message) ?? whyWaiting(pod, ending.includes(pod));
    return {
      left: left.map(nameOf),
      reasons: Object.fromEntries(left.map((pod) => [nameOf(pod), reasonOf(pod).slice(0, REASON_LENGTH_MAX)])),
      refusals: [...refusals.values()],
      isDenied: left.some(({ uid, deleting }) => !deleting && (this.refused.get(uid)?.denials ?? 0) > 0),
      returned: returned
        .slice(0, NAMED_PODS_MAX)
        .map((pod) => ({ pod: nameOf(pod), reason: whyReturned(pod) }))
        .toSorted((one, other) => (one.pod < other.pod ? -1 : 1)),
    };
  }

  /** Evicts those whose retry is due, and remembers who refuses. */
  private async ask(
    pods: readonly DrainPod[],
    request: (pod: DrainPod) => Promise<Pick<Refused, 'budget' | 'message' | 'againMs'> | undefined>,
  ): Promise<void> {
    const limit = pLimit(EVICTIONS_AT_ONCE_MAX);
    const nowMs = this.options.nowMs();
    const due = pods.filter(({ uid }) => (this.refused.get(uid)?.againMs ?? nowMs) <= nowMs);
    await Promise.all(
      due.map((pod) =>
        limit(async () => {
          const denials = this.refused.get(pod.uid)?.denials ?? 0;
          const refused = await request(pod)
            .then((answer) => answer && { ...answer, denials: 0 })
            .catch((error: unknown) => this.denied(error, denials + 1));
          if (refused === undefined) this.refused.delete(pod.uid);
          else this.refused.set(pod.uid, refused);
        }),
      ),
    );
  }

  /** A webhook denies it, or the API server fails: a retry may succeed. */
  private denied(error: unknown, denials: number): Refused {
    if (!(error instanceof ExternalFailure)) throw error;
    const waitMs = Math.min(DENIED_AGAIN.maxMs, DENIED_AGAIN.firstMs * 2 ** Math.min(denials - 1, 10));
    return { budget: null, message: error.message, denials, againMs: this.options.nowMs() + waitMs };
  }

  private async evictOne(pod: DrainPod): Promise<Omit<Refused, 'denials'> | undefined> {
    // Its volumes are looked up before it is deleted: afterwards they cannot be assigned to it.
    const volumes = await Promise.all(pod.claims.map((claim) => this.cluster.volumeOf(pod.namespace, claim)));
    const answer = await this.cluster.evict(pod);
    const nowMs = this.options.nowMs();
    if (answer.answer === 'refused')
      return { budget: answer.budget, message: answer.message, againMs: nowMs + (answer.retryAfterMs ?? 0) };
    if (answer.answer === 'gone') return undefined;
    this.evicted.add(pod.uid);
    const bound = volumes.filter((volume) => volume !== undefined);
    if (bound.length > 0) this.detaching = { volumes: bound, sinceMs: nowMs };
    return undefined;
  }

  private async isDetaching(): Promise<boolean> {
    const { detaching } = this;
    if (detaching === undefined) return false;
    const attached = await this.cluster.attachedVolumes(this.node);
    const waits =
      detaching.volumes.some((volume) => attached.includes(volume)) &&
      this.options.nowMs() - detaching.sinceMs < DETACH_LIMIT_MS;
    if (!waits) this.detaching = undefined;
    return waits;
  }
}

export interface Drained {
  readonly outcome: 'drained';
  readonly evictedPods: number;
  /** The node was or became NotReady: the drain waits neither for its pods nor for their volumes. */
  readonly dead: boolean;
  /** Pods, and volumes, that were left at the timeout. */
  readonly leftPods: number;
  readonly attachedVolumes: number;
  /** Pods created after the drain began (the first of them): they stay. */
  readonly returned: readonly LeftPod[];
}

/** Pods are left, and the drain may continue. */
export interface Draining {
  readonly outcome: 'waiting';
  readonly left: number;
  /** The first of them, then the first of those that returned. */
  readonly pods: readonly LeftPod[];
}

export interface DrainLimits {
  readonly mark: string;
  readonly rules?: readonly DrainRule[];
  /** The long duration of the drain was already reported. */
  readonly isReported: boolean;
  /** How long this call may wait for pods. */
  readonly sliceMs: number;
  /** Time left until the timeout for pods; undefined: no timeout. */
  readonly remainingMs?: number | undefined;
  /** How long volumes may take to detach. */
  readonly detachMs: number;
  readonly everyMs: number;
  readonly signal: AbortSignal;
}

const waiting = ({ left, reasons, returned }: DrainLook): Draining => ({
  outcome: 'waiting',
  left: left.length,
  pods: [...left.map((pod) => ({ pod, reason: reasons[pod] ?? '' })), ...returned].slice(0, NAMED_PODS_MAX),
});

/**
 * Drains a node that is being removed. Afterwards its volumes are detached, or their timeout has expired: deleting a
 * machine with an attached volume blocks the volume for other nodes.
 */
export const drainNode = async (
  cluster: DrainableCluster,
  node: string,
  { mark, rules = [], isReported, sliceMs, remainingMs, detachMs, everyMs, signal }: DrainLimits,
): Promise<Drained | Draining> => {
  const begunMs = Date.now();
  const drain = new NodeDrain(cluster, node, { mark, nowMs: () => Date.now(), rules });
  const ended = (more: Partial<Drained>): Drained => ({
    ...{
      outcome: 'drained',
      evictedPods: drain.evictedPods,
      dead: false,
      leftPods: 0,
      attachedVolumes: 0,
      returned: [],
    },
    ...more,
  });
  for (let detachingSinceMs: number | undefined; ;) {
    // A dead node has no kubelet to end pods, and a budget must not block its removal.
    if ((await cluster.node(node))?.ready !== true) return ended({ dead: true });
    const look = await drain.look();
    const passedMs = Date.now() - begunMs;
    if (look.left.length > 0 && remainingMs !== undefined && passedMs >= remainingMs)
      return ended({ leftPods: look.left.length, returned: look.returned });
    const isLong = passedMs >= sliceMs || (look.isDenied && !isReported && passedMs >= DENIED_REPORTED_MS);
    if (look.left.length > 0 && isLong) return waiting(look);
    if (look.left.length === 0) {
      const { length: attachedVolumes } = await drain.attached();
      detachingSinceMs ??= Date.now();
      if (attachedVolumes === 0 || Date.now() - detachingSinceMs >= detachMs)
        return ended({ attachedVolumes, returned: look.returned });
    }
    await sleep(everyMs, undefined, { signal });
  }
};

import { WorldFailure, type DrainRule } from '@fairlead/contracts';
import pLimit from 'p-limit';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterApi, NodeView, PodIdentity } from '../cluster.ports.js';
import { leavingOf, nextEvictions, whyReturned, whyWaiting, type DrainPod } from './drain.planner.js';

const EVICTIONS_AT_ONCE_MAX = 10;
/** D4: a volume that does not detach delays the next one for this long, and no longer. */
const DETACH_LIMIT_MS = 2 * 60_000;
/** So many pods are named; the rest is a number. */
const NAMED_PODS_MAX = 20;
/** Budgets and webhooks choose their words themselves. */
const REASON_LENGTH_MAX = 300;
/** An eviction that was denied or failed is requested again after this, then after twice as long each time. */
const DENIED_AGAIN = { firstMs: 1_000, maxMs: 30_000 };
/** What others deny is no matter of a few seconds, as it is for budgets while replacements start: it is reported at once. */
const DENIED_REPORTED_MS = 5_000;

/** What a drain needs of a cluster. */
export interface DrainableCluster extends Pick<
  ClusterApi,
  'beginDrain' | 'evict' | 'deletePod' | 'volumeOf' | 'attachedVolumes'
> {
  node(name: string): Promise<Pick<NodeView, 'ready'> | undefined>;
  podsOn(node: string): Promise<readonly DrainPod[]>;
}

export interface DrainOptions {
  /** Under which the node is cordoned. Drains under one mark wait for the same pods. */
  readonly mark: string;
  readonly nowMs: () => number;
  readonly rules?: readonly DrainRule[];
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
  /** What each of them waits for. */
  readonly reasons: Readonly<Record<string, string>>;
  /** An eviction was denied, or failed, and not by a budget. */
  readonly isDenied: boolean;
  /** Pods that were made after the drain began, and why they are on the node. Nothing waits for them. */
  readonly returned: readonly LeftPod[];
}

/** A pod that is on the node, and why. */
export interface LeftPod {
  readonly pod: string;
  readonly reason: string;
}

/** The last answer to a request to evict a pod, or to delete it. */
interface Refused {
  readonly budget: string | null;
  readonly message: string;
  /** In a row; 0: a budget refuses, which is asked again at each look. */
  readonly denials: number;
  readonly againMs: number;
}

const nameOf = ({ namespace, name }: PodIdentity): string => `${namespace}/${name}`;

/**
 * The drain of one node, look by look. Like `kubectl drain`, it waits for the pods that were there when it began: those that are made afterwards,
 * because they tolerate the cordon, stay. When it began is recorded on the node; what is lost in a crash are counts, volumes and the times at
 * which denied evictions are requested again. Pods leave through the eviction API: disruption budgets apply.
 */
export class NodeDrain {
  private readonly evicted = new Set<string>();
  private readonly forced = new Set<string>();
  private readonly refused = new Map<string, Refused>();
  private begun: { readonly atMs: number | undefined } | undefined;
  /** Uids of the pods that were there at the first look. */
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

  /** Evicts what is due and reports what is left. */
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

  /** Volumes that are attached to the node and that no pod needs which stays on it. */
  async attached(): Promise<readonly string[]> {
    const [attached, { pods, returned }] = await Promise.all([this.cluster.attachedVolumes(this.node), this.pods()]);
    if (attached.length === 0) return [];
    const staying = [...returned, ...pods.filter((pod) => leavingOf(pod, this.rules).behavior === 'Skip')];
    const needed = await Promise.all(
      staying.flatMap(({ namespace, claims }) => claims.map((claim) => this.cluster.volumeOf(namespace, claim))),
    );
    return attached.filter((volume) => !needed.includes(volume));
  }

  /** Those that were there when the drain began, and those that were made since and would have to leave. */
  private async pods(): Promise<{ readonly pods: readonly DrainPod[]; readonly returned: readonly DrainPod[] }> {
    this.begun ??= { atMs: await this.cluster.beginDrain(this.node, this.options.mark) };
    const { atMs } = this.begun;
    const pods = await this.cluster.podsOn(this.node);
    // A node that Kubernetes does not know has no cordon to come back to.
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

  /** Those whose time has come, and remembers who refuses. */
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

  /** A webhook denies it, or the API server fails at it: that may be over the next time. */
  private denied(error: unknown, denials: number): Refused {
    if (!(error instanceof WorldFailure)) throw error;
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
  /** The node was not Ready, or stopped being so: neither its pods nor their volumes are waited for. */
  readonly dead: boolean;
  /** Pods, and volumes, that were left when their time was over. */
  readonly leftPods: number;
  readonly attachedVolumes: number;
  /** Pods that were made after the drain began, the first of them: they stay. */
  readonly returned: readonly LeftPod[];
}

/** Pods are left, and the drain may go on. */
export interface Draining {
  readonly outcome: 'waiting';
  readonly left: number;
  /** The first of them, then the first of those that came back. */
  readonly pods: readonly LeftPod[];
}

export interface DrainLimits {
  readonly mark: string;
  readonly rules?: readonly DrainRule[];
  /** It was reported already that the drain takes long. */
  readonly isReported: boolean;
  /** How long this call may wait for pods. */
  readonly sliceMs: number;
  /** How much of the time for pods is left; undefined: they are waited for, however long that takes. */
  readonly remainingMs?: number | undefined;
  /** How long volumes may take to be detached. */
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
 * Drains a node that does not come back. Its volumes are detached by the time it is drained, or their time is over: a machine that is
 * deleted with a volume keeps other nodes from it.
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
    // A dead node has no kubelet to end pods, and a budget must not hold it back.
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

import { firstLookAt, isRefusal, nextLookAt, wordsOf } from '@fairlead/contracts';
import { untilSharedAfter, type Handle } from '@fairlead/event-sourcing/jetstream';
import type { ServiceMetrics } from '@fairlead/service-kit';
import { Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Settings } from '../config.js';
import type { HeartbeatListener } from '../health/heartbeats.listener.js';
import type { WatchedNodes } from '../health/watched.nodes.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { clusterKey, type NodeRow } from '../nodes/nodes.projection.js';
import type { AddonFindings } from './addons.planner.js';
import { AddonWatch } from './addons.watch.js';
import { EtcdWatch } from './etcd.watch.js';
import { deletable, presence } from './presence.decider.js';
import type { EtcdProblem, Presence } from './presence.evolve.js';
import { compare, NO_MEMORY, raisesContradiction, type Comparison, type Memory } from './presence.planner.js';

const ACTOR = 'system/upgrade-svc';
const LOOKS_AT_ONCE_MAX = 16;
/** Of one replica. A look costs some milliseconds, most of them for TLS: with very many clusters, each is looked at less often. */
const LOOKS_PER_SECOND_MAX = 1;
/** Where nothing is amiss and no agent is silent: agents say when their Node objects change. */
const QUIET_LOOKS_PER_SECOND_MAX = 0.5;
/** Where something is amiss the next look comes sooner, so many times at most: a tenant can make any cluster look so. */
const SOONER_MAX = 8;
/** Between two lists that have to agree that a node is not Ready, although its agent reports it as Ready: its report may be on its way. */
const CONTRADICTION_CONFIRMED_MS = 5_000;
const TICK_MAX_MS = 1_000;
const TICKS_PER_INTERVAL = 10;
/** A cluster that is new is noticed after so many ticks at the latest. */
const QUIET_TICKS_MAX = 5;

export interface PresenceWorld {
  readonly nodes: Pick<WatchedNodes, 'byCluster' | 'get'>;
  readonly heartbeats: Pick<HeartbeatListener, 'whenNodeChanges'>;
  readonly access: Pick<ClusterAccess, 'of'>;
  readonly handle: Handle;
  readonly metrics: Pick<ServiceMetrics, 'addCounter'>;
  readonly settings: Pick<Settings, 'nodesWatchIntervalMs' | 'strangerLimitMs'>;
}

/** A cluster, as this replica looks at it. */
interface Looked {
  nextAtMs: number;
  /** When the last look began. */
  lookedAtMs: number;
  underWay: Promise<void> | undefined;
  memory: Memory;
  readonly addons: AddonWatch;
  readonly etcd: EtcdWatch;
  /** What was recorded last; undefined: nothing yet, so what was stated before is compared once. */
  recorded: string | undefined;
}

/** What is looked at with the Nodes; undefined: this look left it out. */
interface BesideNodes {
  readonly addons: AddonFindings | undefined;
  readonly etcd: readonly EtcdProblem[] | undefined;
}

const fresh = (nextAtMs: number, nowMs: number): Looked => ({
  nextAtMs,
  lookedAtMs: nowMs,
  underWay: undefined,
  memory: NO_MEMORY,
  addons: new AddonWatch(),
  etcd: new EtcdWatch(),
  recorded: undefined,
});

interface Intervals {
  readonly intervalMs: number;
  readonly quietMs: number;
}

/** Between two looks at a cluster, of so many that this replica looks at. */
export const lookIntervalMs = (clusters: number, settingMs: number): number =>
  Math.max(settingMs, (clusters * 1_000) / LOOKS_PER_SECOND_MAX);

/** The same where nothing gives a reason to look sooner. */
export const quietIntervalMs = (clusters: number, settingMs: number): number =>
  Math.max(settingMs, (clusters * 1_000) / QUIET_LOOKS_PER_SECOND_MAX);

/** The same where what a look has seen has to be confirmed, or may soon be over. */
export const soonerMs = (intervalMs: number, settingMs: number): number => Math.max(settingMs, intervalMs / SOONER_MAX);

/** A difference that the look before did not show has to be confirmed, and a Node that is missing or not Ready may be back soon. */
const isUnsettled = ({ confirmed, memory }: Comparison, before: Memory, rows: readonly NodeRow[]): boolean =>
  confirmed.missing.length > 0 ||
  rows.some(({ contradicted }) => contradicted === true) ||
  [...memory.keys()].some((key) => !before.has(key));

/** It may have become Ready since it was listed: then it stays. */
const deleteNode = async (api: Pick<UpgradeCluster, 'node' | 'deleteNode'>, name: string): Promise<void> => {
  if ((await api.node(name))?.ready === false) await api.deleteNode(name);
};

/**
 * Lists the Nodes of each cluster of this replica's partitions, again and again: one call for each cluster and interval. An API that does not
 * answer has said nothing.
 */
export class PresenceEffects implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('presence');
  private readonly clusters = new Map<string, Looked>();
  private readonly count: (of: { readonly outcome: 'answered' | 'failed' }) => void;
  private timer: NodeJS.Timeout | undefined;
  private looking = 0;

  constructor(private readonly world: PresenceWorld) {
    this.count = world.metrics.addCounter({
      name: 'fairlead_node_looks_total',
      help: 'Looks at the Nodes of clusters: answered, or failed',
      labels: ['outcome'],
    });
  }

  onApplicationBootstrap(): void {
    // Nest calls this once for the HTTP part of the application and once for its transport.
    if (this.timer !== undefined) return;
    this.world.heartbeats.whenNodeChanges((subject) => this.lookSoon(subject));
    this.wait();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearTimeout(this.timer);
    await Promise.all(
      [...this.clusters.values()].flatMap(({ underWay }) => (underWay === undefined ? [] : [underWay])),
    );
  }

  private wait(): void {
    const everyMs = Math.min(TICK_MAX_MS, this.world.settings.nodesWatchIntervalMs / TICKS_PER_INTERVAL);
    let nextAtMs = Infinity;
    for (const looked of this.clusters.values()) nextAtMs = Math.min(nextAtMs, looked.nextAtMs);
    const dueInMs = nextAtMs - performance.now();
    this.timer = setTimeout(
      () => {
        this.tick();
        this.wait();
      },
      untilSharedAfter(Math.min(dueInMs, (QUIET_TICKS_MAX - 1) * everyMs), everyMs),
    );
  }

  /** Begins every look that is due; it does not wait for them. */
  private tick(): void {
    const groups = this.world.nodes.byCluster();
    const nowMs = performance.now();
    const { nodesWatchIntervalMs: settingMs } = this.world.settings;
    const intervalMs = lookIntervalMs(groups.size, settingMs);
    const quietMs = quietIntervalMs(groups.size, settingMs);
    for (const key of this.clusters.keys()) if (!groups.has(key)) this.clusters.delete(key);
    for (const [key, rows] of groups) {
      const looked = this.clusters.get(key) ?? fresh(firstLookAt(nowMs, quietMs, Math.random()), nowMs);
      this.clusters.set(key, looked);
      // A silent agent says nothing of its Node object.
      if (rows.some(({ lost }) => lost)) looked.nextAtMs = Math.min(looked.nextAtMs, looked.lookedAtMs + intervalMs);
      if (looked.underWay === undefined && looked.nextAtMs <= nowMs && this.looking < LOOKS_AT_ONCE_MAX)
        this.begin(looked, rows, { intervalMs, quietMs });
    }
  }

  /**
   * The agent sees its Node object become Ready or not, appear or vanish: the next tick looks. An agent that says so again and again gets no
   * more looks than a cluster in which something is amiss.
   */
  private lookSoon(subject: string): void {
    const row = this.world.nodes.get(subject)?.row;
    const looked = row && this.clusters.get(clusterKey(row.namespace, row.cluster));
    if (looked === undefined) return;
    const { nodesWatchIntervalMs: settingMs } = this.world.settings;
    const afterMs = soonerMs(lookIntervalMs(this.clusters.size, settingMs), settingMs);
    looked.nextAtMs = Math.min(looked.nextAtMs, Math.max(performance.now(), looked.lookedAtMs + afterMs));
  }

  private begin(looked: Looked, rows: readonly NodeRow[], intervals: Intervals): void {
    looked.lookedAtMs = performance.now();
    looked.nextAtMs = nextLookAt(looked.lookedAtMs, intervals.quietMs, Math.random());
    this.looking += 1;
    looked.underWay = this.look(looked, rows, intervals).finally(() => {
      looked.underWay = undefined;
      this.looking -= 1;
    });
  }

  /** The rows come first: a node that joins meanwhile is in the list and not in the rows, never the other way round. */
  private async look(looked: Looked, rows: readonly NodeRow[], { intervalMs, quietMs }: Intervals): Promise<void> {
    const [first] = rows;
    if (first === undefined) return;
    try {
      const api = await this.world.access.of(first.uid, first.cluster);
      const listed = await api.nodes();
      const recorded = rows.map(({ node, providerId, ready }) => ({ name: node, providerId, ready }));
      const { strangerLimitMs: limitMs, nodesWatchIntervalMs: settingMs } = this.world.settings;
      const isSeldom = quietMs > settingMs;
      const comparison = compare(recorded, listed, { before: looked.memory, nowMs: performance.now(), limitMs });
      const raisesQuestion = isUnsettled(comparison, looked.memory, rows);
      const contradicts = raisesContradiction(comparison, looked.memory);
      looked.memory = comparison.memory;
      const addons = await looked.addons.look({ api, listed, isSeldom });
      const controlPlanes = rows.flatMap(({ node, role }) => (role === 'control-plane' ? [node] : []));
      const etcd = await looked.etcd.look({ api, listed, controlPlanes });
      if (raisesQuestion || looked.addons.isSuspected || looked.etcd.isSuspected)
        looked.nextAtMs = Math.min(looked.nextAtMs, performance.now() + soonerMs(intervalMs, settingMs));
      if (contradicts)
        looked.nextAtMs = Math.min(
          looked.nextAtMs,
          performance.now() + Math.min(CONTRADICTION_CONFIRMED_MS, settingMs),
        );
      const state = await this.record(looked, first, { ...comparison, addons, etcd });
      const expired = state === undefined ? [] : deletable(state, { uid: first.uid, ...comparison.confirmed });
      for (const name of expired) await deleteNode(api, name);
      this.count({ outcome: 'answered' });
    } catch (error) {
      // Two answers in a row must agree: one before an outage and one after it do not.
      looked.memory = NO_MEMORY;
      looked.addons.forget();
      looked.etcd.forget();
      looked.nextAtMs = Math.min(looked.nextAtMs, looked.lookedAtMs + intervalMs);
      this.count({ outcome: 'failed' });
      this.logger.debug(`the Nodes of ${first.namespace}/${first.cluster} were not listed: ${wordsOf(error)}`);
    }
  }

  private async record(
    looked: Looked,
    { namespace, cluster, uid, because }: NodeRow,
    { confirmed, seen, addons, etcd }: Comparison & BesideNodes,
  ): Promise<Presence | undefined> {
    const findings = JSON.stringify([confirmed, seen.present.map(({ message: _words, ...present }) => present)]);
    // A Node that is not Ready and has no machine is recorded at each look, so that one that could not be deleted is tried again; and so is a
    // contradiction, until it shows in the rows: the agent may have changed its report twice since.
    const isOpen = confirmed.strangers.some(({ ready }) => !ready) || confirmed.contradicted.length > 0;
    const isNothingNew = findings === looked.recorded && !isOpen && addons === undefined && etcd === undefined;
    if (isNothingNew) return undefined;
    // Nothing in the log led to what is seen; it stands with the newest thing that is known of a node.
    const cause = { actor: ACTOR, correlationId: because.correlationId, causationId: because.eventId };
    const command = { type: 'RecordPresence', data: { uid, ...confirmed, seen, addons, etcd } } as const;
    const outcome = await this.world.handle(presence, { namespace, cluster, context: 'rollout' }, command, cause);
    if (isRefusal(outcome)) throw new Error(outcome.message);
    looked.recorded = findings;
    const { state } = outcome;
    looked.addons.areInstalled(state.status === 'absent' ? [] : [...state.addons]);
    return state;
  }
}

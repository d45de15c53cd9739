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
import type { ServiceFindings } from './services.planner.js';
import { ServicesWatch } from './services.watch.js';

const ACTOR = 'system/upgrade-svc';
const LOOKS_AT_ONCE_MAX = 16;
/**
 * Per replica. A list costs a few milliseconds, mostly for TLS: with very many clusters, each one is listed less often.
 */
const LOOKS_PER_SECOND_MAX = 1;
/** For clusters without a problem or a silent agent: their agents report changes of their Node objects. */
const QUIET_LOOKS_PER_SECOND_MAX = 0.5;
/**
 * The factor by which the interval shrinks, at most, for a cluster with a problem: a tenant can make any cluster look
 * like one.
 */
const SOONER_MAX = 8;
/**
 * Interval between the two lists that confirm that a node is not Ready although its agent reports it as Ready: the
 * agent's report may still be on its way.
 */
const CONTRADICTION_CONFIRMED_MS = 5_000;
const TICK_MAX_MS = 1_000;
const TICKS_PER_INTERVAL = 10;
/** A new cluster is noticed after at most this number of ticks. */
const QUIET_TICKS_MAX = 5;

export interface PresenceWorld {
  readonly nodes: Pick<WatchedNodes, 'byCluster' | 'get'>;
  readonly heartbeats: Pick<HeartbeatListener, 'whenNodeChanges'>;
  readonly access: Pick<ClusterAccess, 'of'>;
  readonly handle: Handle;
  readonly metrics: Pick<ServiceMetrics, 'addCounter'>;
  readonly settings: Pick<Settings, 'nodesWatchIntervalMs' | 'strangerLimitMs'>;
}

/** The state of a cluster in this replica. */
interface Looked {
  nextAtMs: number;
  /** Start of the last list. */
  lookedAtMs: number;
  underWay: Promise<void> | undefined;
  memory: Memory;
  readonly addons: AddonWatch;
  readonly etcd: EtcdWatch;
  readonly services: ServicesWatch;
  /** The last recorded findings; undefined: none yet, so the first list is always compared with the log. */
  recorded: string | undefined;
}

/** Checked along with the Nodes; undefined: not checked this time. */
interface BesideNodes {
  readonly addons: AddonFindings | undefined;
  readonly etcd: readonly EtcdProblem[] | undefined;
  readonly services: ServiceFindings | undefined;
}

const fresh = (nextAtMs: number, nowMs: number): Looked => ({
  nextAtMs,
  lookedAtMs: nowMs,
  underWay: undefined,
  memory: NO_MEMORY,
  addons: new AddonWatch(),
  etcd: new EtcdWatch(),
  services: new ServicesWatch(),
  recorded: undefined,
});

interface Intervals {
  readonly intervalMs: number;
  readonly quietMs: number;
}

/** Interval between two lists of one cluster, for this number of clusters per replica. */
export const lookIntervalMs = (clusters: number, settingMs: number): number =>
  Math.max(settingMs, (clusters * 1_000) / LOOKS_PER_SECOND_MAX);

/** The same for clusters without a reason to list earlier. */
export const quietIntervalMs = (clusters: number, settingMs: number): number =>
  Math.max(settingMs, (clusters * 1_000) / QUIET_LOOKS_PER_SECOND_MAX);

/** The same for findings that need confirmation or may soon be over. */
export const soonerMs = (intervalMs: number, settingMs: number): number => Math.max(settingMs, intervalMs / SOONER_MAX);

/** A new difference needs confirmation, and a Node that is missing or not Ready may recover soon. */
const isUnsettled = ({ confirmed, memory }: Comparison, before: Memory, rows: readonly NodeRow[]): boolean =>
  confirmed.missing.length > 0 ||
  rows.some(({ contradicted }) => contradicted === true) ||
  [...memory.keys()].some((key) => !before.has(key));

/** It may have become Ready since the list: then it is kept. */
const deleteNode = async (api: Pick<UpgradeCluster, 'node' | 'deleteNode'>, name: string): Promise<void> => {
  if ((await api.node(name))?.ready === false) await api.deleteNode(name);
};

/**
 * Periodically lists the Nodes of each cluster in this replica's partitions: one call per cluster and interval. A
 * failed call proves nothing.
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

  /** Starts every list that is due, without waiting for it. */
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
      // A silent agent does not report on its Node object.
      if (rows.some(({ lost }) => lost)) looked.nextAtMs = Math.min(looked.nextAtMs, looked.lookedAtMs + intervalMs);
      if (looked.underWay === undefined && looked.nextAtMs <= nowMs && this.looking < LOOKS_AT_ONCE_MAX)
        this.begin(looked, rows, { intervalMs, quietMs });
    }
  }

  /**
   * The agent reports that its Node object became Ready or not Ready, appeared or disappeared: the next tick lists the
   * Nodes. Frequent reports cause no more lists than a cluster with a problem.
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

  /**
   * The rows are read first: a node that joins meanwhile is in the list but not in the rows, never the other way round.
   */
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
      const services = await looked.services.look(api);
      if (raisesQuestion || looked.addons.isSuspected || looked.etcd.isSuspected)
        looked.nextAtMs = Math.min(looked.nextAtMs, performance.now() + soonerMs(intervalMs, settingMs));
      if (contradicts)
        looked.nextAtMs = Math.min(
          looked.nextAtMs,
          performance.now() + Math.min(CONTRADICTION_CONFIRMED_MS, settingMs),
        );
      const state = await this.record(looked, first, { ...comparison, addons, etcd, services });
      const expired = state === undefined ? [] : deletable(state, { uid: first.uid, ...comparison.confirmed });
      for (const name of expired) await deleteNode(api, name);
      this.count({ outcome: 'answered' });
    } catch (error) {
      // Two lists in a row must agree, and lists before and after an outage are not in a row.
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
    { confirmed, seen, addons, etcd, services }: Comparison & BesideNodes,
  ): Promise<Presence | undefined> {
    const present = seen.present.map(({ message: _words, ...node }) => node);
    const findings = JSON.stringify([confirmed, present, services]);
    // A Node that is not Ready and has no machine is recorded with each list, so that a failed deletion is retried. A
    // contradiction is recorded until the rows show it: the agent may have changed its report twice since.
    const isOpen = confirmed.strangers.some(({ ready }) => !ready) || confirmed.contradicted.length > 0;
    const isNothingNew = findings === looked.recorded && !isOpen && addons === undefined && etcd === undefined;
    if (isNothingNew) return undefined;
    // No event caused this finding; it refers to the latest event of one of the nodes.
    const cause = { actor: ACTOR, correlationId: because.correlationId, causationId: because.eventId };
    const command = { type: 'RecordPresence', data: { uid, ...confirmed, seen, addons, etcd, services } } as const;
    const outcome = await this.world.handle(presence, { namespace, cluster, context: 'rollout' }, command, cause);
    if (isRefusal(outcome)) throw new Error(outcome.message);
    looked.recorded = findings;
    const { state } = outcome;
    looked.addons.areInstalled(state.status === 'absent' ? [] : [...state.addons]);
    looked.services.areTaken(state.status !== 'absent' && state.isNamed ? state.declared : undefined);
    return state;
  }
}

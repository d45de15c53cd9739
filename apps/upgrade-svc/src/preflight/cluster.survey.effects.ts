import {
  type KubernetesRelease,
  minorOf,
  minorsAhead,
  type NodeName,
  parseVersion,
  type StoredEvent,
  streamSubject,
  ExternalFailure,
} from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import pLimit from 'p-limit';
import { setTimeout as sleep } from 'node:timers/promises';
import { Etcd } from '../etcd/etcd.effects.js';
import type { NodeView, PodView, UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { ClusterState } from '../rollout/rollout.state.js';
import type { ClusterFacts, EtcdFacts, NodeFacts, Unread } from '../rules/cluster.facts.js';
import { b2ClusterHealthy, HEALTHY_PASSES_MIN } from '../rules/preflight.rules.js';
import {
  budgetFacts,
  certificatesIn,
  kubeletTalksToLocalApi,
  kubeProxyOn,
  lastSnapshotIn,
  neededBytes,
  podFacts,
  staticPodFacts,
} from './node.facts.js';
import { configurationOf, type Reader } from './configuration.effects.js';
import type { NodeHeartbeats } from '../health/heartbeats.ports.js';

const KUBE_SYSTEM = 'kube-system';
/** Number of nodes whose kubelets are queried at the same time. */
const NODES_AT_ONCE = 10;

export interface SurveyParts {
  readonly store: EventStore;
  readonly heartbeats: NodeHeartbeats;
  readonly now: () => Date;
  /** Interval between two health checks of the cluster (B2). */
  readonly passIntervalMs: number;
}

/** The cluster to survey, and the change to survey it for. */
export interface SurveyOf {
  readonly namespace: string;
  readonly name: string;
  readonly known: ClusterState;
  readonly cluster: UpgradeCluster;
  readonly release: KubernetesRelease | undefined;
  readonly excused: readonly NodeName[];
  readonly signal: AbortSignal;
}

interface Log {
  readonly certificates: ReturnType<typeof certificatesIn>;
  readonly snapshot: ClusterFacts['snapshot'];
}

/** Collects ClusterFacts for B1 to B10, read only. They are the only input of the rules. */
export class ClusterSurvey {
  constructor(private readonly parts: SurveyParts) {}

  async facts(of: SurveyOf): Promise<ClusterFacts> {
    const unread: Unread[] = [];
    const read: Reader = async (at, otherwise, work) => {
      try {
        return await work();
      } catch (error) {
        of.signal.throwIfAborted();
        if (!(error instanceof ExternalFailure)) throw error;
        unread.push({ ...at, message: error.message });
        return otherwise;
      }
    };
    const at = this.parts.now().toISOString();
    const views = await read({ what: 'nodes', rule: 'B2' }, [], () => of.cluster.nodes());
    const [pods, system] = await Promise.all([
      read({ what: 'pods', rule: 'B7' }, [], () => of.cluster.pods()),
      read({ what: 'system', rule: 'B2' }, [], () => of.cluster.workloads(KUBE_SYSTEM)),
    ]);
    // The second health check and the wait for heartbeats run at the same time: after a crash, both start again.
    const [{ nodes, etcd, snapshot }, others, configured, healthyPasses] = await Promise.all([
      this.inDepth(of, { views, pods, read }),
      this.others(of, pods, read),
      configurationOf(of.cluster, read),
      this.passes(of, { nodes: knownNodes(of.known).map((node) => bareNode(node, views, pods)), system }),
    ]);
    const podsOfNodes = podFacts(pods, namesOf(views));
    const seen = { at, unread, nodes, etcd, system, ...others, ...configured };
    return { ...seen, pods: podsOfNodes, snapshot, healthyPasses, dryRun: null };
  }

  private async inDepth(
    of: SurveyOf,
    {
      views,
      pods,
      read,
    }: { readonly views: readonly NodeView[]; readonly pods: readonly PodView[]; readonly read: Reader },
  ): Promise<Pick<ClusterFacts, 'nodes' | 'etcd' | 'snapshot'>> {
    const [etcd, log] = await Promise.all([this.etcd(of, views, read), this.log(of)]);
    return { nodes: await this.nodes(of, { views, pods, etcd, log, read }), etcd, snapshot: log.snapshot };
  }

  /** The part that B2 needs, cheap enough to run before each node. */
  async health(of: Pick<SurveyOf, 'cluster' | 'known'>): Promise<Pick<ClusterFacts, 'nodes' | 'system'>> {
    const [views, pods, system] = await Promise.all([
      of.cluster.nodes(),
      of.cluster.staticPods(),
      of.cluster.workloads(KUBE_SYSTEM),
    ]);
    return { system, nodes: knownNodes(of.known).map((known) => bareNode(known, views, pods)) };
  }

  /** The number of healthy checks in a row, this one included; the first failure ends the count. */
  private async passes(of: SurveyOf, first: Pick<ClusterFacts, 'nodes' | 'system'>): Promise<number> {
    const isHealthy = (look: typeof first): boolean =>
      b2ClusterHealthy({ ...look, healthyPasses: HEALTHY_PASSES_MIN }, of.excused).length === 0;
    if (!isHealthy(first)) return 0;
    for (let passes = 1; passes < HEALTHY_PASSES_MIN; passes += 1) {
      await sleep(this.parts.passIntervalMs, undefined, { signal: of.signal });
      if (!isHealthy(await this.health(of))) return passes;
    }
    return HEALTHY_PASSES_MIN;
  }

  /** The v2 store is queried only before an upgrade to an etcd that has none (B10). */
  private async etcd(of: SurveyOf, views: readonly NodeView[], read: Reader): Promise<EtcdFacts | null> {
    const etcd = new Etcd(of.cluster, of.signal);
    const facts = await read({ what: 'etcd', rule: 'B3' }, null, () => etcd.facts(views));
    if (facts === null || !leavesV2Behind(facts, of.release)) return facts;
    return read({ what: 'etcd.v2store', rule: 'B10' }, facts, () => etcd.withV2Stores(facts));
  }

  private async log({ namespace, name, known }: SurveyOf): Promise<Log> {
    const read = async (context: string, type: string): Promise<readonly StoredEvent[]> =>
      (await this.parts.store.read(`${streamSubject({ namespace, cluster: name, context })}.${type}`, 0)).map(
        ({ event }) => event,
      );
    const [reports, snapshots] = await Promise.all([
      read('*', 'CertificatesReported'),
      read('rollout', 'EtcdSnapshotTaken'),
    ]);
    return { certificates: certificatesIn(reports, known.uid), snapshot: lastSnapshotIn(snapshots, known.uid) };
  }

  private async nodes(
    of: SurveyOf,
    seen: {
      readonly views: readonly NodeView[];
      readonly pods: readonly PodView[];
      readonly etcd: EtcdFacts | null;
      readonly log: Log;
      readonly read: Reader;
    },
  ): Promise<readonly NodeFacts[]> {
    const { views, pods, etcd, log, read } = seen;
    const limit = pLimit(NODES_AT_ONCE);
    const { namespace, name: cluster } = of;
    return Promise.all(
      knownNodes(of.known).map((known) =>
        limit(async (): Promise<NodeFacts> => {
          const { name: node, role } = known;
          const bare = bareNode(known, views, pods);
          const view = views.find((one) => one.name === node);
          // Also for a node without a Node object: expired certificates may be why Fairlead cannot read it.
          const certificates = log.certificates.get(node) ?? null;
          if (view === undefined) return { ...bare, certificates };
          const freeBytes = await read({ what: `nodes.${node}.disk`, rule: 'B9' }, null, () =>
            of.cluster.freeDisk(node),
          );
          const heartbeat = await read({ what: `nodes.${node}.clockSkewMs`, rule: 'B8' }, null, () =>
            this.parts.heartbeats.last({ namespace, cluster, node }),
          );
          return {
            ...bare,
            kubeProxy: kubeProxyOn(pods, node),
            certificates,
            clockSkewMs: heartbeat?.skewMs ?? null,
            source: heartbeat?.source ?? null,
            kubeletSettings: heartbeat?.kubelet ?? null,
            cgroupV1: heartbeat?.cgroupV1 ?? null,
            disk:
              freeBytes === null
                ? null
                : { freeBytes, neededBytes: neededBytes(view, { release: of.release, role, etcd }) },
          };
        }),
      ),
    );
  }

  private async others(
    { cluster }: SurveyOf,
    pods: readonly PodView[],
    read: Reader,
  ): Promise<Pick<ClusterFacts, 'budgets' | 'webhooks' | 'deprecatedApis'>> {
    const [budgets, webhooks, deprecated] = await Promise.all([
      read({ what: 'budgets', rule: 'B7' }, [], async () => budgetFacts(await cluster.budgets(), pods)),
      read({ what: 'webhooks', rule: 'B6' }, [], () => cluster.webhooks()),
      read({ what: 'deprecatedApis', rule: 'B5' }, [], () => cluster.deprecatedApis()),
    ]);
    return {
      budgets,
      webhooks,
      // The gauge reports that there were requests since the API server started, but not how many or when.
      deprecatedApis: deprecated.map(({ group, version, resource, removedIn }) => ({
        api: [resource, version, group].filter((part) => part !== '').join('.'),
        removedIn,
        requests: 1,
        lastUsedAt: null,
      })),
    };
  }
}

/** etcd 3.5 is the last version that can hold v2 data. */
const LAST_WITH_V2 = '3.5';

const leavesV2Behind = ({ members }: EtcdFacts, release: KubernetesRelease | undefined): boolean =>
  release !== undefined &&
  minorsAhead(LAST_WITH_V2, release.etcd) > 0 &&
  members.some(({ version }) => parseVersion(version) !== undefined && minorOf(version) === LAST_WITH_V2);

const namesOf = (views: readonly NodeView[]): ReadonlySet<string> => new Set(views.map(({ name }) => name));

const knownNodes = ({ nodes }: ClusterState): readonly ClusterState['nodes'][string][] => Object.values(nodes);

const unknownTo = 'Kubernetes does not know it';

/** The facts that two lists of the API contain about a node; the others are still unknown. */
const bareNode = (
  { name, role, pool, software, lost }: ClusterState['nodes'][string],
  views: readonly NodeView[],
  pods: readonly PodView[],
): NodeFacts => {
  const view = views.find((one) => one.name === name);
  const kubelet = view?.kubeletVersion ?? software['kubelet'] ?? '';
  return {
    name,
    role,
    pool,
    ready: view?.ready ?? false,
    notReadyBecause: view === undefined ? unknownTo : view.ready ? null : view.message,
    unschedulable: view?.unschedulable ?? false,
    kubelet: kubelet.replace(/^v/, ''),
    kubeProxy: null,
    containerRuntime: (view?.containerRuntime ?? '').replace(/^.*:\/\//, ''),
    software,
    lost,
    staticPods: role === 'worker' ? [] : staticPodFacts(pods, name),
    certificates: null,
    clockSkewMs: null,
    disk: null,
    source: null,
    kubeletSettings: null,
    cgroupV1: null,
    kubeletTalksToLocalApi: kubeletTalksToLocalApi(role, kubelet),
    allocatable: view?.allocatable ?? { cpuMillis: 0, memoryBytes: 0 },
  };
};

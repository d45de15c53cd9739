import {
  ClusterList,
  ClusterPath,
  ClusterRequest,
  ClusterView,
  NamespacePath,
  ReadQuery,
  refuse,
  StatusView,
  type ClusterName,
  type RefusalCode,
  type StoredEvent,
} from '@fairlead/contracts';
import type { Decided } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Delete, Get, Inject, Param, Post, Query, Res } from '@nestjs/common';
import { RoleInNamespace } from '../auth/access.js';
import { accept } from '../http/answers.js';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { KEY_REFUSALS } from '../http/idempotency.js';
import { LogFollower } from '../http/log.follower.js';
import { OperatorCommand } from '../http/operator.command.js';
import { Refused } from '../http/refused.js';
import { NamespaceQueries } from '../namespaces/namespaces.queries.js';
import { operationsProjection } from '../operations/operations.projection.js';
import { isGrowing } from './additions.js';
import { ClusterCommands, type ClusterAddress } from './clusters.commands.js';
import type { ClusterState } from './clusters.decider.js';
import { clustersProjection } from './clusters.projection.js';
import { ClusterQueries } from './clusters.queries.js';
import { clusterView } from './clusters.view.js';

/** Events after which a build goes on no further by itself. */
const BUILD_ENDS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ClusterReady',
  'ClusterFailed',
  'ClusterRejected',
  'VmsFailed',
  'NodesFailed',
  'ClusterDeletionRequested',
]);

const isBuilt = (state: ClusterState): boolean =>
  state.status === 'present' &&
  (state.phase === 'Provisioned' || state.phase === 'Failed') &&
  !isGrowing(state.additions);

const locationOf = ({ namespace, cluster }: ClusterAddress): string => `/ns/${namespace}/clusters/${cluster}`;

const operationLocation = (address: ClusterAddress, decided: Decided<ClusterState>): string => {
  const wish = decided.events[0];
  return `${locationOf(address)}/operations${wish === undefined ? '' : `/${wish.meta.id}`}`;
};

const CREATE_REFUSALS: readonly RefusalCode[] = [
  'cluster.control-plane-missing',
  'cluster.control-plane-sets',
  'cluster.worker-missing',
  'cluster.too-many-sets',
  'cluster.single-node',
  'cluster.service-type',
  'cluster.cni-multi',
  'cluster.cni-single',
  'cluster.loadbalancer',
  'cluster.etcd',
  'cluster.etcd-external-count',
  'cluster.name-empty',
  'cluster.name-invalid',
  'cluster.pod-cidr',
  'cluster.service-cidr',
  'cluster.service-cidr-size',
  'cluster.cidr-special',
  'cluster.cidr-host-bits',
  'cluster.cidr-overlap',
  'cluster.dns-domain',
  'cluster.nfs-server',
  'cluster.nfs-path',
  'cluster.version-unknown',
  'cluster.mon-agent',
  'cluster.connection-empty',
  'connection.name-invalid',
  'cluster.spec-empty',
  'namespace.unknown',
  'cluster.control-plane-count',
  'cluster.control-plane-too-many',
  'cluster.control-plane-even',
  'cluster.worker-count',
  'cluster.too-many-nodes',
  'cluster.pod-cidr-small',
  'cluster.single-connection',
  'cluster.name-taken',
  'cluster.deleting',
  'connection.unknown',
  'conflict.concurrent',
  ...KEY_REFUSALS,
];

const PROVISIONING = 'Prefer: wait=N answers with the finished cluster, Provisioned or Failed.';

@Controller(bothBases('ns/:namespace/clusters'))
export class ClustersHttp {
  constructor(
    @Inject(ClusterCommands) private readonly commands: ClusterCommands,
    @Inject(ClusterQueries) private readonly queries: ClusterQueries,
    @Inject(NamespaceQueries) private readonly namespaces: NamespaceQueries,
    @Inject(LogFollower) private readonly follower: LogFollower,
  ) {}

  @Get()
  @RoleInNamespace('viewer')
  @Documented({
    id: 'listClusters',
    tag: 'clusters',
    summary: 'The clusters of a namespace',
    answers: [{ status: 200, description: 'The clusters, with their nodes', schema: ClusterList }],
    refusals: ['namespace.unknown', 'wait.seq-ahead', 'wait.too-long'],
  })
  async list(
    @Param({ schema: NamespacePath }) { namespace }: NamespacePath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<ClusterList> {
    await this.follower.shown(minSeq);
    if ((await this.namespaces.one(namespace)) === undefined)
      throw new Refused(refuse('namespace.unknown', { namespace }));
    return { kind: 'ClusterList', items: await this.queries.all(namespace) };
  }

  @Post()
  @OperatorCommand()
  @Documented({
    id: 'createCluster',
    tag: 'clusters',
    summary: 'Ask for a cluster',
    description: `It is checked and recorded at once, and built afterwards. ${PROVISIONING} The same request repeated by the same caller is answered as the first was.`,
    answers: [
      {
        status: 202,
        description: 'The wish is recorded; Location is where the cluster can be seen',
        schema: ClusterView,
      },
      { status: 201, description: 'With Prefer: wait=N: how it ended', schema: ClusterView },
    ],
    refusals: CREATE_REFUSALS,
  })
  async create(
    @Param({ schema: NamespacePath }) { namespace }: NamespacePath,
    @Body({ schema: ClusterRequest }) request: ClusterRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<ClusterView> {
    const decided = await this.commands.create(namespace, request, caller);
    // The rules have seen the name.
    const address = { namespace, cluster: request.name as ClusterName };
    const ended = await this.waitForBuild(address, decided, caller);
    accept(response, {
      seq: ended?.seq ?? decided.seq,
      location: locationOf(address),
      status: ended === undefined ? 202 : 201,
      waited: ended !== undefined,
    });
    return ended === undefined ? this.justRequested(address, decided) : this.viewAfter(address, ended.seq);
  }

  @Get(':cluster')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'getCluster',
    tag: 'clusters',
    summary: 'A cluster',
    answers: [{ status: 200, description: 'The cluster, with its nodes', schema: ClusterView }],
    refusals: ['namespace.unknown', 'cluster.unknown', 'wait.seq-ahead', 'wait.too-long'],
  })
  async get(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<ClusterView> {
    await this.follower.shown(minSeq);
    return this.viewOf(path);
  }

  @Delete(':cluster')
  @OperatorCommand()
  @Documented({
    id: 'deleteCluster',
    tag: 'clusters',
    summary: 'Ask for the end of a cluster',
    description:
      'Everything that it made goes; its history stays. Asking again while it goes is the same as asking once.',
    answers: [
      { status: 202, description: 'The wish is recorded; Location is the operation', schema: StatusView },
      { status: 200, description: 'With Prefer: wait=N: it is gone', schema: StatusView },
    ],
    refusals: ['namespace.unknown', 'cluster.unknown', 'conflict.concurrent', ...KEY_REFUSALS],
  })
  async delete(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    const decided = await this.commands.delete(path, caller);
    const ended = await this.wait(path, decided.seq, caller, (event) => event.type === 'ClusterDeleted');
    const code = ended === undefined ? 202 : 200;
    accept(response, {
      seq: ended?.seq ?? decided.seq,
      location: operationLocation(path, decided),
      status: code,
      waited: ended !== undefined,
    });
    const what = ended === undefined ? 'is being deleted' : 'is deleted';
    return { kind: 'Status', code, message: `Cluster '${path.cluster}' ${what}. (namespace=${path.namespace})` };
  }

  @Post(':cluster/retry')
  @OperatorCommand()
  @Documented({
    id: 'retryCluster',
    tag: 'clusters',
    summary: 'Try again what failed',
    description: `A failed cluster goes on from the step that failed. Of a cluster that is Provisioned: nodes of a request that failed and was kept, removals of nodes, deletions of machines. ${PROVISIONING}`,
    answers: [
      { status: 202, description: 'The wish is recorded; Location is the operation', schema: ClusterView },
      { status: 200, description: 'With Prefer: wait=N: how it ended', schema: ClusterView },
    ],
    refusals: ['namespace.unknown', 'cluster.unknown', 'cluster.not-failed', 'conflict.concurrent', ...KEY_REFUSALS],
  })
  async retry(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<ClusterView> {
    const decided = await this.commands.retry(path, caller);
    const ended = await this.waitForBuild(path, decided, caller);
    accept(response, {
      seq: ended?.seq ?? decided.seq,
      location: operationLocation(path, decided),
      status: ended === undefined ? 202 : 200,
      waited: ended !== undefined,
    });
    return this.viewAfter(path, ended?.seq ?? decided.seq);
  }

  private async viewOf({ namespace, cluster }: ClusterAddress): Promise<ClusterView> {
    const view = await this.queries.one(namespace, cluster);
    if (view === undefined) throw new Refused(refuse('cluster.unknown', { namespace, cluster }));
    return view;
  }

  private async viewAfter(address: ClusterAddress, seq: number): Promise<ClusterView> {
    const { namespace, cluster } = address;
    const view = await this.follower.afterRecord(
      seq,
      () => this.queries.one(namespace, cluster),
      (recorded) => recorded.cluster(namespace, cluster),
    );
    if (view === undefined) throw new Refused(refuse('cluster.unknown', { namespace, cluster }));
    return view;
  }

  /** A new wish is shown as our own rows will show it, without waiting for them. */
  private async justRequested(address: ClusterAddress, { events, seq }: Decided<ClusterState>): Promise<ClusterView> {
    const [event] = events;
    const cluster = event && clustersProjection.evolve(undefined, event, '');
    if (event !== undefined && cluster !== undefined)
      return clusterView({ cluster, seq, nodes: [], operations: operationsProjection.evolve(undefined, event, '') });
    return this.viewAfter(address, seq);
  }

  private async waitForBuild(
    address: ClusterAddress,
    decided: Decided<ClusterState>,
    caller: Caller,
  ): Promise<{ seq: number } | undefined> {
    if (caller.waitMs > 0 && isBuilt(decided.state)) return { seq: decided.seq };
    return this.wait(address, decided.seq, caller, (event) => BUILD_ENDS.has(event.type));
  }

  private async wait(
    address: ClusterAddress,
    afterSeq: number,
    caller: Caller,
    isOver: (event: StoredEvent) => boolean,
  ): Promise<{ seq: number } | undefined> {
    const event = await this.follower.wait({ ...address, afterSeq, isOver }, caller);
    return event && { seq: event.meta.seq };
  }
}

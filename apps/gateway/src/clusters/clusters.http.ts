import {
  ClusterPath,
  ClusterRequest,
  ClusterView,
  NamespacePath,
  StatusView,
  type ClusterName,
  type RefusalCode,
  type StoredEvent,
} from '@fairlead/contracts';
import type { Decided } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Delete, Inject, Param, Post } from '@nestjs/common';
import type { ClusterAddress } from '../common/cluster.address.js';
import { FromExchange, type Exchange } from '../http/caller.js';
import { clusterUnknown, CommandAnswers, operationLocation } from '../http/command.answers.js';
import { bothBases, Documented } from '../http/documented.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { OperatorCommand } from '../http/operator.command.js';
import { operationsProjection } from '../operations/operations.projection.js';
import { isGrowing } from '../lifecycle/node.requests.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { ClusterCommands } from './clusters.commands.js';
import type { ClusterState } from './clusters.decider.js';
import { NOTHING_AROUND } from './clusters.facts.js';
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
  'ClusterRecreationCancelled',
]);

const isBuilt = ({ state }: Decided<ClusterState>): boolean =>
  state.status === 'present' &&
  (state.phase === 'Provisioned' || state.phase === 'Failed') &&
  !isGrowing(state.additions);

const isBuildEnd = ({ type }: StoredEvent): boolean => BUILD_ENDS.has(type);
const isDeleted = ({ type }: StoredEvent): boolean => type === 'ClusterDeleted';

/** The deletion that runs, or has ended, is that of the cleanup, or the one that began the recreation. */
const hasNoDeletion = ({ events }: Decided<ClusterState>): boolean =>
  events[0]?.type === 'ClusterRecreationCancelled' || events[0]?.type === 'ClusterRecordDeleted';

const locationOf = ({ namespace, cluster }: ClusterAddress): string => `/ns/${namespace}/clusters/${cluster}`;

const deletionStatus = ({ namespace, cluster }: ClusterAddress, isGone: boolean): StatusView => ({
  kind: 'Status',
  code: isGone ? 200 : 202,
  message: `Cluster '${cluster}' ${isGone ? 'is deleted' : 'is being deleted'}. (namespace=${namespace})`,
});

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
  'cluster.name-too-long',
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
  'cluster.version-withdrawn',
  'cluster.mon-agent',
  'cluster.mon-agent-unsupported',
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
  'stock.api-address-missing',
  ...CHANGE_REFUSALS,
];

const PROVISIONING = 'Prefer: wait=N answers with the finished cluster, Provisioned or Failed.';

@Controller(bothBases('ns/:namespace/clusters'))
export class ClustersHttp {
  constructor(
    @Inject(ClusterCommands) private readonly commands: ClusterCommands,
    @Inject(ClusterQueries) private readonly queries: ClusterQueries,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
  ) {}

  @Post()
  @OperatorCommand()
  @Documented({
    id: 'createCluster',
    tag: 'clusters',
    records: 'work',
    summary: 'Create a cluster',
    description: `The request is checked and recorded, and the cluster is created afterwards. ${PROVISIONING} A repeated request of the same caller gets the first answer.`,
    answers: [
      {
        status: 202,
        description: 'The request is recorded; Location is where the cluster can be seen',
        schema: ClusterView,
      },
      { status: 201, description: 'With Prefer: wait=N: how it ended', schema: ClusterView },
    ],
    refusals: CREATE_REFUSALS,
  })
  create(
    @Param({ schema: NamespacePath }) { namespace }: NamespacePath,
    @Body({ schema: ClusterRequest }) request: ClusterRequest,
    @FromExchange() exchange: Exchange,
  ): Promise<ClusterView> {
    // The rules refuse a name that is none before anything is read of it.
    const address = { namespace, cluster: request.name as ClusterName };
    return this.answers.respond(exchange, this.commands.create(namespace, request, exchange), {
      address,
      location: locationOf(address),
      isOver: isBuildEnd,
      isOverAlready: isBuilt,
      done: 201,
      view: ({ ended, seq, decided }) => (ended ? this.viewAfter(address, seq) : this.justRequested(address, decided)),
    });
  }

  @Delete(':cluster')
  @OperatorCommand()
  @Documented({
    id: 'deleteCluster',
    tag: 'clusters',
    records: 'end',
    summary: 'Delete a cluster',
    description:
      'Everything that was created for it is deleted, with the load balancers of its services and the volumes that go with their claims; its history stays. Of a cluster that was cleaned up after its creation failed, the record is deleted. A repeated request has no further effect.',
    answers: [
      { status: 202, description: 'The request is recorded; Location is the operation', schema: StatusView },
      { status: 200, description: 'With Prefer: wait=N: it is gone', schema: StatusView },
    ],
    refusals: [...OF_CLUSTER, 'cluster.paused', ...CHANGE_REFUSALS],
  })
  delete(@Param({ schema: ClusterPath }) path: ClusterPath, @FromExchange() exchange: Exchange): Promise<StatusView> {
    return this.answers.respond(exchange, this.commands.delete(path, exchange.caller), {
      address: path,
      location: (decided) => operationLocation(path)(hasNoDeletion(decided) ? { ...decided, events: [] } : decided),
      isOver: isDeleted,
      isOverAlready: ({ state }) => state.status === 'absent',
      view: ({ ended }) => deletionStatus(path, ended),
    });
  }

  @Post(':cluster/retry')
  @OperatorCommand()
  @Documented({
    id: 'retryCluster',
    tag: 'clusters',
    records: 'work',
    summary: 'Retry what failed',
    description: `A failed cluster continues from the step that failed. Of a cluster that is Provisioned: nodes of a request that failed and was kept, removals of nodes, deletions of machines. ${PROVISIONING}`,
    answers: [
      { status: 202, description: 'The request is recorded; Location is the operation', schema: ClusterView },
      { status: 200, description: 'With Prefer: wait=N: how it ended', schema: ClusterView },
    ],
    refusals: [...OF_CLUSTER, 'cluster.not-failed', 'cluster.cleaned-up', 'cluster.paused', ...CHANGE_REFUSALS],
  })
  retry(@Param({ schema: ClusterPath }) path: ClusterPath, @FromExchange() exchange: Exchange): Promise<ClusterView> {
    return this.answers.respond(exchange, this.commands.retry(path, exchange.caller), {
      address: path,
      location: operationLocation(path),
      isOver: isBuildEnd,
      isOverAlready: isBuilt,
      view: ({ seq }) => this.viewAfter(path, seq),
    });
  }

  private viewAfter(address: ClusterAddress, seq: number): Promise<ClusterView> {
    const { namespace, cluster } = address;
    return this.answers.viewAt(seq, {
      rows: () => this.queries.one(namespace, cluster),
      log: () => this.queries.recorded(namespace, cluster),
      otherwise: clusterUnknown(address),
    });
  }

  /** A new request is shown as our own rows will show it, without waiting for them. */
  private async justRequested(address: ClusterAddress, { events, seq }: Decided<ClusterState>): Promise<ClusterView> {
    const [event] = events;
    const cluster = event && clustersProjection.evolve(undefined, event, '');
    if (event !== undefined && cluster !== undefined)
      return clusterView({
        ...{ cluster, seq, nodes: [], operations: operationsProjection.evolve(undefined, event, '') },
        around: NOTHING_AROUND,
        ...this.queries.moment,
      });
    return this.viewAfter(address, seq);
  }
}

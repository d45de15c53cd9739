import {
  ClusterPath,
  MachineList,
  NodeList,
  NodePath,
  NodesRequest,
  NodeView,
  ReadQuery,
  refuse,
  StatusView,
  type StoredEvent,
} from '@fairlead/contracts';
import type { Decided } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Delete, Get, Inject, Param, Post, Query, Res } from '@nestjs/common';
import { RoleInNamespace } from '../auth/access.js';
import { ClusterCommands, type ClusterAddress } from '../clusters/clusters.commands.js';
import type { ClusterState } from '../clusters/clusters.decider.js';
import { ClusterQueries } from '../clusters/clusters.queries.js';
import { accept } from '../http/answers.js';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { KEY_REFUSALS } from '../http/idempotency.js';
import { LogFollower } from '../http/log.follower.js';
import { OperatorCommand } from '../http/operator.command.js';
import { Refused } from '../http/refused.js';
import { machineView } from './nodes.projection.js';
import { NodeQueries } from './nodes.queries.js';

const ADDITION_ENDS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ClusterReady',
  'ClusterFailed',
  'NodesRejected',
  'VmsFailed',
  'NodesFailed',
  'NodesAbandoned',
  'ClusterDeletionRequested',
]);

const operationLocation = ({ namespace, cluster }: ClusterAddress, { events }: Decided<ClusterState>): string => {
  const wish = events[0];
  return `/ns/${namespace}/clusters/${cluster}/operations${wish === undefined ? '' : `/${wish.meta.id}`}`;
};

@Controller(bothBases('ns/:namespace/clusters/:cluster'))
export class NodesHttp {
  constructor(
    @Inject(ClusterCommands) private readonly commands: ClusterCommands,
    @Inject(ClusterQueries) private readonly clusters: ClusterQueries,
    @Inject(NodeQueries) private readonly nodes: NodeQueries,
    @Inject(LogFollower) private readonly follower: LogFollower,
  ) {}

  @Get('nodes')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'listNodes',
    tag: 'nodes',
    summary: 'The nodes of a cluster',
    answers: [{ status: 200, description: 'The nodes', schema: NodeList }],
    refusals: ['namespace.unknown', 'cluster.unknown', 'wait.seq-ahead', 'wait.too-long'],
  })
  async list(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<NodeList> {
    await this.follower.shown(minSeq);
    await this.requireCluster(path);
    return this.listOf(path);
  }

  @Post('nodes')
  @OperatorCommand()
  @Documented({
    id: 'addNodes',
    tag: 'nodes',
    summary: 'Ask for more workers',
    answers: [
      { status: 202, description: 'The wish is recorded; the nodes as they are now', schema: NodeList },
      { status: 200, description: 'With Prefer: wait=N: it is over; the nodes as they are now', schema: NodeList },
    ],
    refusals: [
      'namespace.unknown',
      'cluster.unknown',
      'node.control-plane-unsupported',
      'cluster.worker-missing',
      'cluster.too-many-sets',
      'cluster.connection-empty',
      'connection.name-invalid',
      'cluster.spec-empty',
      'cluster.worker-count',
      'cluster.not-ready',
      'cluster.busy',
      'upgrade.open',
      'cluster.single-connection',
      'cluster.too-many-nodes',
      'cluster.pod-cidr-small',
      'connection.unknown',
      'conflict.concurrent',
      ...KEY_REFUSALS,
    ],
  })
  async add(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Body({ schema: NodesRequest }) request: NodesRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<NodeList> {
    const decided = await this.commands.addNodes(path, request, caller);
    const ended = await this.follower.wait(
      { ...path, afterSeq: decided.seq, isOver: (event) => ADDITION_ENDS.has(event.type) },
      caller,
    );
    this.answer(response, path, decided, ended);
    return this.listOf(path);
  }

  @Post('nodes/abandon')
  @OperatorCommand()
  @Documented({
    id: 'abandonNodes',
    tag: 'nodes',
    summary: 'Give up requests for nodes that are not done',
    description:
      'Requests that are under way, and requests that failed and were kept. Their nodes and machines go; nodes that are part of the cluster stay.',
    answers: [{ status: 202, description: 'The wish is recorded; the nodes as they are now', schema: NodeList }],
    refusals: [
      'namespace.unknown',
      'cluster.unknown',
      'cluster.deleting',
      'nodes.nothing-to-abandon',
      'conflict.concurrent',
      'idempotency.key-reused',
    ],
  })
  async abandon(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<NodeList> {
    const decided = await this.commands.abandonNodes(path, caller);
    const location = `/ns/${path.namespace}/clusters/${path.cluster}/operations`;
    accept(response, { seq: decided.seq, location, status: 202, waited: false });
    await this.follower.shown(decided.seq);
    return this.listOf(path);
  }

  @Get('nodes/:node')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'getNode',
    tag: 'nodes',
    summary: 'A node',
    answers: [{ status: 200, description: 'The node', schema: NodeView }],
    refusals: ['namespace.unknown', 'cluster.unknown', 'node.unknown', 'wait.seq-ahead', 'wait.too-long'],
  })
  async get(
    @Param({ schema: NodePath }) { namespace, cluster, node }: NodePath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<NodeView> {
    await this.follower.shown(minSeq);
    await this.requireCluster({ namespace, cluster });
    const view = await this.nodes.view(namespace, cluster, node);
    if (view === undefined) throw new Refused(refuse('node.unknown', { namespace, cluster, node }));
    return view;
  }

  @Delete('nodes/:node')
  @OperatorCommand()
  @Documented({
    id: 'removeNode',
    tag: 'nodes',
    summary: 'Ask for a node to be drained and removed',
    answers: [
      { status: 202, description: 'The wish is recorded; Location is the operation', schema: StatusView },
      { status: 200, description: 'With Prefer: wait=N: it is gone', schema: StatusView },
    ],
    refusals: [
      'namespace.unknown',
      'cluster.unknown',
      'node.unknown',
      'node.leader',
      'node.etcd-external',
      'node.quorum',
      'cluster.not-ready',
      'cluster.busy',
      'upgrade.open',
      'conflict.concurrent',
      ...KEY_REFUSALS,
    ],
  })
  async remove(
    @Param({ schema: NodePath }) { namespace, cluster, node }: NodePath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    const path = { namespace, cluster };
    const decided = await this.commands.removeNode(path, node, caller);
    const isOver = (event: StoredEvent): boolean => event.type === 'VmDeleted' && event.data.name === node;
    const ended = await this.follower.wait({ ...path, afterSeq: decided.seq, isOver }, caller);
    const code = this.answer(response, path, decided, ended);
    return { kind: 'Status', code, message: `Node '${node}' ${code === 202 ? 'is being removed' : 'is removed'}.` };
  }

  @Get('machines')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'listMachines',
    tag: 'nodes',
    summary: 'The machines of a cluster, as their providers know them',
    answers: [{ status: 200, description: 'The machines', schema: MachineList }],
    refusals: ['namespace.unknown', 'cluster.unknown', 'wait.seq-ahead', 'wait.too-long'],
  })
  async machines(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<MachineList> {
    await this.follower.shown(minSeq);
    await this.requireCluster(path);
    const docs = await this.nodes.all(path.namespace, path.cluster);
    return { kind: 'MachineList', items: docs.map(machineView) };
  }

  private async requireCluster({ namespace, cluster }: ClusterAddress): Promise<void> {
    if (!(await this.clusters.exists(namespace, cluster)))
      throw new Refused(refuse('cluster.unknown', { namespace, cluster }));
  }

  private async listOf({ namespace, cluster }: ClusterAddress): Promise<NodeList> {
    return { kind: 'NodeList', items: await this.nodes.views(namespace, cluster) };
  }

  private answer(
    response: HttpResponse,
    path: ClusterAddress,
    decided: Decided<ClusterState>,
    ended: StoredEvent | undefined,
  ): 200 | 202 {
    const status = ended === undefined ? 202 : 200;
    accept(response, {
      seq: ended?.meta.seq ?? decided.seq,
      location: operationLocation(path, decided),
      status,
      waited: ended !== undefined,
    });
    return status;
  }
}

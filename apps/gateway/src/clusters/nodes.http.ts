import {
  ClusterPath,
  MachineList,
  NodeList,
  NodePath,
  NodeReplacement,
  NodesRequest,
  NodeView,
  ListQuery,
  NodesQuery,
  ReadQuery,
  refuse,
  StatusView,
  type StoredEvent,
} from '@fairlead/contracts';
import { memberOf, replacementIn } from '@fairlead/domain';
import type { Decided } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Delete, Inject, Param, Post, Query } from '@nestjs/common';
import { ClusterCommands } from './clusters.commands.js';
import { remainingControlPlanes, type ClusterState } from './clusters.decider.js';
import { ClusterIndex } from '../lifecycle/cluster.index.queries.js';
import type { ClusterAddress } from '../common/cluster.address.js';
import { FromExchange, type Exchange } from '../http/caller.js';
import { clusterUnknown, CommandAnswers, operationLocation } from '../http/command.answers.js';
import { bothBases, Documented } from '../http/documented.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { OperatorCommand } from '../http/operator.command.js';
import { IsWhole, pageOf, pageRequest } from '../http/page.js';
import { ListRoute, OF_CLUSTER, ReadRoute } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import { machineView } from '../nodes/nodes.view.js';
import { NodeQueries } from '../nodes/nodes.queries.js';

const REPLACEMENT_FAILS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'NodesRejected',
  'VmsFailed',
  'NodesFailed',
  'NodesAbandoned',
]);

const ADDITION_ENDS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ClusterReady',
  'ClusterFailed',
  'NodesRejected',
  'VmsFailed',
  'NodesFailed',
  'NodesAbandoned',
  'ClusterDeletionRequested',
]);

/** The old node is gone, and the new one is part of the cluster; or it came to nothing. */
const replacementEnd = (requested: readonly StoredEvent[]): ((event: StoredEvent) => boolean) => {
  const [replacement] = requested.flatMap((event) => replacementIn(event) ?? []);
  let isReady = false;
  let isGone = false;
  return (event) => {
    if (REPLACEMENT_FAILS.has(event.type))
      return 'requestId' in event.data && event.data.requestId === replacement?.requestId;
    if (event.type === 'NodeReplacementReady' && event.data.requestId === replacement?.requestId) isReady = true;
    if (event.type === 'VmDeleted' && event.data.name === replacement?.node) isGone = true;
    return event.type === 'ClusterDeletionRequested' || (isReady && isGone);
  };
};

const isAdditionEnd = ({ type }: StoredEvent): boolean => ADDITION_ENDS.has(type);
const isGone =
  (node: string) =>
  (event: StoredEvent): boolean =>
    event.type === 'VmDeleted' && event.data.name === node;

const labelsIn = (selector = ''): Readonly<Record<string, string>> =>
  Object.fromEntries(
    selector
      .split(',')
      .filter((pair) => pair !== '')
      .map((pair) => pair.split('=', 2)),
  ) as Readonly<Record<string, string>>;

const removalStatus = (node: string, gone: boolean, note: string): StatusView => ({
  kind: 'Status',
  code: gone ? 200 : 202,
  message: `Node '${node}' ${gone ? 'is removed' : 'is being removed'}.${note}`,
});

/** An even number is pointed out: it was allowed because the node is not Ready. */
const controlPlanesLeft = (node: string, state: ClusterState): string => {
  if (state.status === 'absent' || memberOf(state.members, node)?.role !== 'control-plane') return '';
  const left = remainingControlPlanes(state).length;
  if (left % 2 === 1) return '';
  return ` The cluster then has ${left} control planes, an even number, and tolerates no more failures than with ${left - 1}: add one (fairlead pool scale).`;
};

@Controller(bothBases('ns/:namespace/clusters/:cluster'))
export class NodesHttp {
  constructor(
    @Inject(ClusterCommands) private readonly commands: ClusterCommands,
    @Inject(ClusterIndex) private readonly clusters: ClusterIndex,
    @Inject(NodeQueries) private readonly nodes: NodeQueries,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
  ) {}

  @ListRoute('nodes', {
    id: 'listNodes',
    tag: 'nodes',
    summary: 'The nodes of a cluster, or some of them',
    answer: 'The nodes',
    schema: NodeList,
    refusals: OF_CLUSTER,
  })
  async list(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: NodesQuery }) { minSeq = 0, pool, labelSelector, ...query }: NodesQuery,
    @IsWhole() isWhole: boolean,
  ): Promise<NodeList> {
    await this.shown(path, minSeq);
    const request = pageRequest(`nodes/${path.namespace}/${path.cluster}`, query, isWhole);
    const selection = { pools: pool?.split(',') ?? [], labels: labelsIn(labelSelector) };
    const items = await this.nodes.views(path.namespace, path.cluster, selection);
    return { kind: 'NodeList', ...pageOf(request, items, { keyOf: ({ name }) => name }) };
  }

  @Post('nodes')
  @OperatorCommand()
  @Documented({
    id: 'addNodes',
    tag: 'nodes',
    records: 'work',
    summary: 'Add workers',
    answers: [
      { status: 202, description: 'The request is recorded; the nodes as they are now', schema: NodeList },
      { status: 200, description: 'With Prefer: wait=N: it is over; the nodes as they are now', schema: NodeList },
    ],
    refusals: [
      ...OF_CLUSTER,
      'node.control-plane-unsupported',
      'cluster.worker-missing',
      'cluster.too-many-sets',
      'cluster.connection-empty',
      'connection.name-invalid',
      'cluster.spec-empty',
      'cluster.worker-count',
      'cluster.not-ready',
      'cluster.paused',
      'cluster.busy',
      'upgrade.open',
      'cluster.single-connection',
      'cluster.too-many-nodes',
      'cluster.pod-cidr-small',
      'connection.unknown',
      ...CHANGE_REFUSALS,
    ],
  })
  add(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Body({ schema: NodesRequest }) request: NodesRequest,
    @FromExchange() exchange: Exchange,
  ): Promise<NodeList> {
    return this.nodesAfter(exchange, path, this.commands.addNodes(path, request, exchange.caller), isAdditionEnd);
  }

  @Post('nodes/abandon')
  @OperatorCommand()
  @Documented({
    id: 'abandonNodes',
    tag: 'nodes',
    records: 'work',
    summary: 'Abandon requests for nodes that are not complete',
    description:
      'Requests that are in progress, and requests that failed and were kept. Their nodes and machines are deleted; nodes that are part of the cluster stay.',
    answers: [{ status: 202, description: 'The request is recorded; the nodes as they are now', schema: NodeList }],
    refusals: [
      ...OF_CLUSTER,
      'cluster.deleting',
      'nodes.nothing-to-abandon',
      'cluster.paused',
      'conflict.concurrent',
      'idempotency.key-reused',
    ],
  })
  abandon(@Param({ schema: ClusterPath }) path: ClusterPath, @FromExchange() exchange: Exchange): Promise<NodeList> {
    return this.answers.respond(exchange, this.commands.abandonNodes(path, exchange.caller), {
      address: path,
      location: `/ns/${path.namespace}/clusters/${path.cluster}/operations`,
      view: async ({ seq }) => {
        await this.answers.waitForProjection(seq);
        return this.listOf(path);
      },
    });
  }

  @ReadRoute('nodes/:node', {
    id: 'getNode',
    tag: 'nodes',
    summary: 'A node',
    answer: 'The node',
    schema: NodeView,
    refusals: [...OF_CLUSTER, 'node.unknown'],
  })
  async get(
    @Param({ schema: NodePath }) { namespace, cluster, node }: NodePath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<NodeView> {
    await this.shown({ namespace, cluster }, minSeq);
    const view = await this.nodes.view(namespace, cluster, node);
    if (view === undefined) throw new RefusalError(refuse('node.unknown', { namespace, cluster, node }));
    return view;
  }

  @Delete('nodes/:node')
  @OperatorCommand()
  @Documented({
    id: 'removeNode',
    tag: 'nodes',
    records: 'end',
    summary: 'Drain and remove a node',
    answers: [
      { status: 202, description: 'The request is recorded; Location is the operation', schema: StatusView },
      { status: 200, description: 'With Prefer: wait=N: it is gone', schema: StatusView },
    ],
    refusals: [
      ...OF_CLUSTER,
      'node.unknown',
      'node.initial-control-plane',
      'node.quorum',
      'node.control-plane-even',
      'cluster.not-ready',
      'cluster.paused',
      'cluster.busy',
      'upgrade.open',
      ...CHANGE_REFUSALS,
    ],
  })
  remove(
    @Param({ schema: NodePath }) { namespace, cluster, node }: NodePath,
    @FromExchange() exchange: Exchange,
  ): Promise<StatusView> {
    const path = { namespace, cluster };
    const { keepsInitialControlPlane, allowsEven } = exchange.rules;
    const removal = { node, keepsInitialControlPlane, allowsEven };
    return this.answers.respond(exchange, this.commands.removeNode(path, removal, exchange.caller), {
      address: path,
      location: operationLocation(path),
      isOver: isGone(node),
      view: ({ ended, decided }) =>
        removalStatus(node, ended, allowsEven ? '' : controlPlanesLeft(node, decided.state)),
    });
  }

  @Post('nodes/:node/replace')
  @OperatorCommand()
  @Documented({
    id: 'replaceNode',
    tag: 'nodes',
    records: 'work',
    summary: 'Replace a node',
    description:
      'A new node joins the same pool, and this one is drained and removed with its machine. The pool keeps its size.',
    answers: [
      { status: 202, description: 'The request is recorded; Location is the operation', schema: NodeList },
      { status: 200, description: 'With Prefer: wait=N: it is over; the nodes as they are now', schema: NodeList },
    ],
    refusals: [
      ...OF_CLUSTER,
      'node.unknown',
      'node.leaving',
      'node.being-replaced',
      'node.action-open',
      'node.quorum',
      'cluster.not-ready',
      'cluster.busy',
      'upgrade.open',
      ...CHANGE_REFUSALS,
    ],
  })
  async replace(
    @Param({ schema: NodePath }) { namespace, cluster, node }: NodePath,
    @Body({ schema: NodeReplacement }) replacement: NodeReplacement,
    @FromExchange() exchange: Exchange,
  ): Promise<NodeList> {
    const path = { namespace, cluster };
    const decided = await this.commands.replaceNode(path, node, replacement, exchange.caller);
    return this.nodesAfter(exchange, path, decided, replacementEnd(decided.events));
  }

  @ListRoute('machines', {
    id: 'listMachines',
    tag: 'nodes',
    summary: 'The machines of a cluster, as their providers know them',
    answer: 'The machines',
    schema: MachineList,
    refusals: OF_CLUSTER,
  })
  async machines(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: ListQuery }) { minSeq = 0, ...query }: ListQuery,
    @IsWhole() isWhole: boolean,
  ): Promise<MachineList> {
    await this.shown(path, minSeq);
    const docs = await this.nodes.all(path.namespace, path.cluster);
    const request = pageRequest(`machines/${path.namespace}/${path.cluster}`, query, isWhole);
    return { kind: 'MachineList', ...pageOf(request, docs.map(machineView), { keyOf: ({ name }) => name }) };
  }

  /** The rows show what the log held at the sequence, and the cluster is among them. */
  private async shown(address: ClusterAddress, minSeq: number): Promise<void> {
    await this.answers.waitForProjection(minSeq);
    const { namespace, cluster } = address;
    if (!(await this.clusters.exists(namespace, cluster))) throw new RefusalError(clusterUnknown(address));
  }

  /** Answers a command with the nodes as they are at once, or when it is over. */
  private nodesAfter<State>(
    exchange: Exchange,
    address: ClusterAddress,
    command: Decided<State> | Promise<Decided<State>>,
    isOver: (event: StoredEvent) => boolean,
  ): Promise<NodeList> {
    const location = operationLocation(address);
    return this.answers.respond(exchange, command, { address, location, isOver, view: () => this.listOf(address) });
  }

  private async listOf({ namespace, cluster }: ClusterAddress): Promise<NodeList> {
    return { kind: 'NodeList', items: await this.nodes.views(namespace, cluster) };
  }
}

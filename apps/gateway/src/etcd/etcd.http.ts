import {
  ClusterPath,
  EtcdRequestPath,
  EtcdRequestView,
  EtcdRestoreRequest,
  EtcdSnapshotList,
  EtcdSnapshotPath,
  ReadQuery,
  refuse,
  type RefusalCode,
  type StoredEvent,
} from '@fairlead/contracts';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Inject, Param, Post, Query } from '@nestjs/common';
import { createHash, randomUUID } from 'node:crypto';
import { ClusterIndex } from '../lifecycle/cluster.index.queries.js';
import { causeOf, FromCaller, FromExchange, type Caller, type Exchange } from '../http/caller.js';
import { clusterUnknown, CommandAnswers } from '../http/command.answers.js';
import { bothBases, Documented } from '../http/documented.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { OperatorCommand } from '../http/operator.command.js';
import { OF_CLUSTER, ReadRoute } from '../http/read.routes.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import { etcd, type EtcdCommand, type EtcdState } from './etcd.decider.js';
import { EtcdQueries } from './etcd.queries.js';

const ID_LENGTH = 16;

const requestIdOf = ({ commandId = randomUUID() }: Caller): string =>
  createHash('sha256').update(commandId).digest('hex').slice(0, ID_LENGTH);

const ENDS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'EtcdSnapshotTaken',
  'EtcdSnapshotFailed',
  'EtcdRestored',
  'EtcdRestoreFailed',
]);

/** A verification ends with its snapshot's, whoever asked for that. */
const isEndOf =
  ({ data }: EtcdCommand) =>
  (event: StoredEvent): boolean =>
    (ENDS.has(event.type) && 'requestId' in event.data && event.data.requestId === data.requestId) ||
    (VERIFICATION_ENDS.has(event.type) &&
      'snapshot' in data &&
      'snapshot' in event.data &&
      event.data.snapshot === data.snapshot) ||
    event.type === 'ClusterDeletionRequested';

const VERIFICATION_ENDS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'EtcdSnapshotVerified',
  'EtcdSnapshotVerificationFailed',
  'EtcdSnapshotDeleted',
]);

const REFUSALS: readonly RefusalCode[] = [
  ...OF_CLUSTER,
  'cluster.deleting',
  'cluster.not-ready',
  'cluster.paused',
  ...CHANGE_REFUSALS,
];

const ANSWERS = [
  { status: 202, description: 'The request is recorded; Location points to its progress', schema: EtcdRequestView },
  { status: 200, description: 'With Prefer: wait=N: how it ended', schema: EtcdRequestView },
] as const;

@Controller(bothBases('ns/:namespace/clusters/:cluster/etcd'))
export class EtcdHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(ClusterIndex) private readonly clusters: ClusterIndex,
    @Inject(EtcdQueries) private readonly queries: EtcdQueries,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
  ) {}

  @ReadRoute('snapshots', {
    id: 'listEtcdSnapshots',
    tag: 'etcd',
    summary: "The snapshots of a cluster's etcd, latest first",
    answer: 'The snapshots',
    schema: EtcdSnapshotList,
    refusals: OF_CLUSTER,
  })
  async snapshots(
    @Param({ schema: ClusterPath }) { namespace, cluster }: ClusterPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<EtcdSnapshotList> {
    await this.answers.waitForProjection(minSeq);
    const uid = await this.clusters.uidOf(namespace, cluster);
    if (uid === undefined) throw new RefusalError(clusterUnknown({ namespace, cluster }));
    return { kind: 'EtcdSnapshotList', items: await this.queries.snapshots(namespace, cluster, uid) };
  }

  @Post('snapshots')
  @OperatorCommand()
  @Documented({
    id: 'takeEtcdSnapshot',
    tag: 'etcd',
    records: 'work',
    summary: 'Take a snapshot of etcd',
    answers: ANSWERS,
    refusals: REFUSALS,
  })
  take(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @FromExchange() exchange: Exchange,
  ): Promise<EtcdRequestView> {
    return this.carryOut(
      path,
      { type: 'RequestSnapshot', data: { ...path, requestId: requestIdOf(exchange.caller) } },
      exchange,
    );
  }

  @Post('snapshots/:snapshot/verify')
  @OperatorCommand()
  @Documented({
    id: 'verifyEtcdSnapshot',
    tag: 'etcd',
    records: 'work',
    summary: 'Verify a snapshot of etcd',
    description:
      'The snapshot is restored into a scratch etcd on a control plane, which is read and deleted. The etcd of the cluster is not touched.',
    answers: ANSWERS,
    refusals: [...REFUSALS, 'etcd.snapshot-unknown', 'cluster.busy'],
  })
  verify(
    @Param({ schema: EtcdSnapshotPath }) path: EtcdSnapshotPath,
    @FromExchange() exchange: Exchange,
  ): Promise<EtcdRequestView> {
    const data = { ...path, requestId: requestIdOf(exchange.caller) };
    return this.carryOut(path, { type: 'RequestVerification', data }, exchange);
  }

  @Post('restore')
  @OperatorCommand()
  @Documented({
    id: 'restoreEtcd',
    tag: 'etcd',
    records: 'work',
    summary: 'Restore etcd from a snapshot',
    description:
      'Everything that happened in the cluster since the snapshot is lost: workloads, secrets, nodes. It has to be confirmed by the name of the cluster.',
    answers: ANSWERS,
    refusals: [
      ...REFUSALS,
      'etcd.snapshot-unknown',
      'etcd.restore-unconfirmed',
      'etcd.restore-other-version',
      'upgrade.open',
      'cluster.busy',
    ],
  })
  restore(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Body({ schema: EtcdRestoreRequest }) request: EtcdRestoreRequest,
    @FromExchange() exchange: Exchange,
  ): Promise<EtcdRequestView> {
    const data = { ...path, ...request, requestId: requestIdOf(exchange.caller) };
    return this.carryOut(path, { type: 'RequestRestore', data }, exchange);
  }

  @ReadRoute('requests/:request', {
    id: 'getEtcdRequest',
    tag: 'etcd',
    summary: 'The outcome of a request about etcd',
    answer: 'How far it is',
    schema: EtcdRequestView,
    refusals: [...OF_CLUSTER, 'etcd.request-unknown'],
  })
  async request(
    @Param({ schema: EtcdRequestPath }) { namespace, cluster, request }: EtcdRequestPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
    @FromCaller() { identity }: Caller,
  ): Promise<EtcdRequestView> {
    await this.answers.waitForProjection(minSeq);
    const found = await this.queries.visibleRequest({ namespace, cluster, request }, identity);
    if (found === undefined) throw new RefusalError(refuse('etcd.request-unknown', { namespace, cluster, request }));
    return found;
  }

  private carryOut(path: ClusterPath, command: EtcdCommand, exchange: Exchange): Promise<EtcdRequestView> {
    const { requestId: request } = command.data;
    const { namespace, cluster } = path;
    const of = { namespace, cluster, request };
    return this.answers.respond(exchange, this.decide(command, exchange.caller), {
      address: { namespace, cluster },
      location: `/ns/${namespace}/clusters/${cluster}/etcd/requests/${request}`,
      isOver: isEndOf(command),
      view: ({ seq }) =>
        this.answers.viewAt(seq, {
          rows: () => this.queries.request(of),
          log: () => this.queries.recorded(of),
          otherwise: refuse('etcd.request-unknown', of),
        }),
    });
  }

  private async decide(command: EtcdCommand, caller: Caller): Promise<Decided<EtcdState>> {
    const { namespace, cluster } = command.data;
    return unwrap(await this.handle(etcd, { namespace, cluster, context: 'request' }, command, causeOf(caller)));
  }
}

import {
  ClusterPath,
  EtcdRequestPath,
  EtcdRequestView,
  EtcdRestoreRequest,
  EtcdSnapshotList,
  ReadQuery,
  refuse,
  type RefusalCode,
  type StoredEvent,
} from '@fairlead/contracts';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Get, Inject, Param, Post, Query, Res } from '@nestjs/common';
import { createHash, randomUUID } from 'node:crypto';
import { RoleInNamespace } from '../auth/access.js';
import { ClusterQueries } from '../clusters/clusters.queries.js';
import { accept } from '../http/answers.js';
import { causeOf, FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { KEY_REFUSALS } from '../http/idempotency.js';
import { LogFollower } from '../http/log.follower.js';
import { OperatorCommand } from '../http/operator.command.js';
import { orRefuse, Refused } from '../http/refused.js';
import { etcd, type EtcdCommand } from './etcd.decider.js';
import { EtcdQueries } from './etcd.queries.js';

const ID_LENGTH = 16;

/** With a key, a repetition is known even when the first answer was never stored. */
const requestIdOf = ({ identity, idempotencyKey }: Caller): string =>
  createHash('sha256')
    .update(`${identity.actor}\n${idempotencyKey ?? randomUUID()}`)
    .digest('hex')
    .slice(0, ID_LENGTH);

const ENDS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'EtcdSnapshotTaken',
  'EtcdSnapshotFailed',
  'EtcdRestored',
  'EtcdRestoreFailed',
]);

const isEndOf =
  (requestId: string) =>
  (event: StoredEvent): boolean =>
    (ENDS.has(event.type) && 'requestId' in event.data && event.data.requestId === requestId) ||
    event.type === 'ClusterDeletionRequested';

const REFUSALS: readonly RefusalCode[] = [
  'namespace.unknown',
  'cluster.unknown',
  'cluster.deleting',
  'cluster.not-ready',
  'etcd.external',
  'conflict.concurrent',
  ...KEY_REFUSALS,
];

const ANSWERS = [
  { status: 202, description: 'The wish is recorded; Location tells how far it is', schema: EtcdRequestView },
  { status: 200, description: 'With Prefer: wait=N: how it ended', schema: EtcdRequestView },
] as const;

@Controller(bothBases('ns/:namespace/clusters/:cluster/etcd'))
export class EtcdHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(ClusterQueries) private readonly clusters: ClusterQueries,
    @Inject(EtcdQueries) private readonly queries: EtcdQueries,
    @Inject(LogFollower) private readonly follower: LogFollower,
  ) {}

  @Get('snapshots')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'listEtcdSnapshots',
    tag: 'etcd',
    summary: "The snapshots of a cluster's etcd, latest first",
    answers: [{ status: 200, description: 'The snapshots', schema: EtcdSnapshotList }],
    refusals: ['namespace.unknown', 'cluster.unknown', 'wait.seq-ahead', 'wait.too-long'],
  })
  async snapshots(
    @Param({ schema: ClusterPath }) { namespace, cluster }: ClusterPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<EtcdSnapshotList> {
    await this.follower.shown(minSeq);
    const uid = await this.clusters.uidOf(namespace, cluster);
    if (uid === undefined) throw new Refused(refuse('cluster.unknown', { namespace, cluster }));
    return { kind: 'EtcdSnapshotList', items: await this.queries.snapshots(namespace, cluster, uid) };
  }

  @Post('snapshots')
  @OperatorCommand()
  @Documented({
    id: 'takeEtcdSnapshot',
    tag: 'etcd',
    summary: 'Ask for a snapshot of etcd',
    answers: ANSWERS,
    refusals: REFUSALS,
  })
  take(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<EtcdRequestView> {
    const command = { type: 'RequestSnapshot', data: { ...path, requestId: requestIdOf(caller) } } as const;
    return this.carryOut(path, command, caller, response);
  }

  @Post('restore')
  @OperatorCommand()
  @Documented({
    id: 'restoreEtcd',
    tag: 'etcd',
    summary: 'Ask for etcd to be set back to a snapshot',
    description:
      'Everything that happened in the cluster since the snapshot is lost: workloads, secrets, nodes. It has to be confirmed by the name of the cluster.',
    answers: ANSWERS,
    refusals: [...REFUSALS, 'etcd.snapshot-unknown', 'etcd.restore-unconfirmed', 'upgrade.open', 'cluster.busy'],
  })
  restore(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Body({ schema: EtcdRestoreRequest }) request: EtcdRestoreRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<EtcdRequestView> {
    const data = { ...path, ...request, requestId: requestIdOf(caller) };
    return this.carryOut(path, { type: 'RequestRestore', data }, caller, response);
  }

  @Get('requests/:request')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'getEtcdRequest',
    tag: 'etcd',
    summary: 'What became of a wish about etcd',
    answers: [{ status: 200, description: 'How far it is', schema: EtcdRequestView }],
    refusals: ['namespace.unknown', 'cluster.unknown', 'etcd.request-unknown', 'wait.seq-ahead', 'wait.too-long'],
  })
  async request(
    @Param({ schema: EtcdRequestPath }) { namespace, cluster, request }: EtcdRequestPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
    @FromCaller() { identity }: Caller,
  ): Promise<EtcdRequestView> {
    await this.follower.shown(minSeq);
    const found = await this.queries.visibleRequest({ namespace, cluster, request }, identity);
    if (found === undefined) throw new Refused(refuse('etcd.request-unknown', { namespace, cluster, request }));
    return found;
  }

  private async carryOut(
    path: ClusterPath,
    command: EtcdCommand,
    caller: Caller,
    response: HttpResponse,
  ): Promise<EtcdRequestView> {
    const { namespace, cluster } = path;
    const { requestId } = command.data;
    const stream = { namespace, cluster, context: 'wish' };
    const decided = orRefuse(await this.handle(etcd, stream, command, causeOf(caller)));
    // What ended long ago states nothing more: a repetition is told how it stands.
    const ended = decided.events.length === 0 ? undefined : await this.end(path, decided.seq, requestId, caller);
    const seq = ended?.meta.seq ?? decided.seq;
    const waited = ended !== undefined;
    const location = `/ns/${namespace}/clusters/${cluster}/etcd/requests/${requestId}`;
    accept(response, { seq, location, status: waited ? 200 : 202, waited });
    const found = await this.follower.afterRecord(
      seq,
      () => this.queries.request({ namespace, cluster, request: requestId }),
      (recorded) => recorded.etcdRequest(namespace, cluster, requestId),
    );
    if (found === undefined)
      throw new Refused(refuse('etcd.request-unknown', { namespace, cluster, request: requestId }));
    return found;
  }

  private end(
    path: ClusterPath,
    afterSeq: number,
    requestId: string,
    caller: Caller,
  ): Promise<StoredEvent | undefined> {
    return this.follower.wait({ ...path, afterSeq, isOver: isEndOf(requestId) }, caller);
  }
}

import {
  AuditQuery,
  AuditView,
  clusterFilter,
  ClusterPath,
  EventList,
  EventsQuery,
  EventStreamQuery,
  EVERY_EVENT,
  LogPage,
  refuse,
  type EventView,
  type StoredEvent,
} from '@fairlead/contracts';
import { Controller, Get, Inject, Param, Query, Res } from '@nestjs/common';
import { RoleEverywhere, RoleInNamespace } from '../access/access.js';
import { mayEverywhere, type Identity } from '../access/identity.js';
import { FromCaller, FromExchange, type Caller, type Exchange } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import { Incarnations } from '../namespaces/incarnations.js';
import { AuditReader } from './audit.reader.js';
import { tenantEventView } from './event.redaction.js';
import { EventReader, typesOf } from './event.reader.js';
import { EventStreams } from './event.stream.js';
import { eventView } from './events.view.js';

interface History {
  readonly filter: string;
  readonly since: number;
}

const always = (): Promise<boolean> => Promise.resolve(true);

const viewFor = (identity: Identity): ((event: StoredEvent) => EventView) =>
  mayEverywhere(identity, 'admin') ? eventView : tenantEventView;

const SEQUENCE = /^\d{1,15}$/;

/** Where a stream goes on: after the last event that its reader has seen. */
const resumeAfter = (lastEventId: string | undefined, after: number): number => {
  if (lastEventId === undefined || lastEventId === '') return after;
  if (SEQUENCE.test(lastEventId)) return Number(lastEventId);
  throw new RefusalError(refuse('request.malformed', { detail: 'Last-Event-ID must be a sequence of the log' }));
};

@Controller(bothBases('ns/:namespace/clusters/:cluster'))
export class ClusterEventsHttp {
  constructor(
    @Inject(AuditReader) private readonly audits: AuditReader,
    @Inject(EventReader) private readonly reader: EventReader,
    @Inject(EventStreams) private readonly streams: EventStreams,
    @Inject(Incarnations) private readonly incarnations: Incarnations,
  ) {}

  @Get('events')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'listEvents',
    tag: 'events',
    records: 'nothing',
    summary: 'What has happened to a cluster name, also to clusters that are gone',
    answers: [{ status: 200, description: 'Events in order', schema: EventList }],
    refusals: [...OF_CLUSTER],
  })
  async list(
    @Param({ schema: ClusterPath }) { namespace, cluster }: ClusterPath,
    @Query({ schema: EventsQuery }) { after, limit, type }: EventsQuery,
    @FromCaller() { identity }: Caller,
  ): Promise<EventList> {
    const { filter, since } = await this.historyOf({ namespace, cluster }, identity);
    const from = Math.max(after, since);
    const { events, next } = await this.reader.page({ filter, after: from, limit, types: typesOf(type) });
    return { kind: 'EventList', items: events.map(viewFor(identity)), next };
  }

  @Get('events/stream')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'streamEvents',
    tag: 'events',
    records: 'nothing',
    summary: 'The events of a cluster name as server-sent events, and each new one as it happens',
    description: 'id is the sequence, data an Event. Resumes after Last-Event-ID. Comments keep the connection alive.',
    answers: [
      {
        status: 200,
        description: 'A stream that ends with the replica, or when the token ends or is revoked',
        contentType: 'text/event-stream',
      },
    ],
    refusals: [...OF_CLUSTER, 'token.too-many-streams', 'system.too-many-streams'],
  })
  async stream(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: EventStreamQuery }) { after, type }: EventStreamQuery,
    @FromCaller() { lastEventId, signal, identity }: Caller,
    @Res() response: HttpResponse,
  ): Promise<void> {
    const { filter, since } = await this.historyOf(path, identity);
    const afterSeq = Math.max(resumeAfter(lastEventId, after), since);
    const goesOn = (event: StoredEvent): Promise<boolean> => this.incarnations.isSame(event, since, identity);
    const view = viewFor(identity);
    const { tokenId } = identity;
    await this.streams.serve({ tokenId, filter, afterSeq, types: typesOf(type), view, goesOn, signal }, response);
  }

  @Get('audit')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'getAudit',
    tag: 'events',
    records: 'nothing',
    summary: 'Who did what and why, replayed from the log, with its hash chains checked again',
    description: 'In pages: give next of an answer as after of the following request. Chains go on from page to page.',
    answers: [{ status: 200, description: 'A page of the history of the name', schema: AuditView }],
    refusals: [...OF_CLUSTER, 'token.too-many-audits'],
  })
  async audit(
    @Param({ schema: ClusterPath }) { namespace, cluster }: ClusterPath,
    @Query({ schema: AuditQuery }) { after, limit }: AuditQuery,
    @FromExchange() { caller: { identity, signal }, response }: Exchange,
  ): Promise<AuditView> {
    const { filter, since } = await this.historyOf({ namespace, cluster }, identity);
    const page = await this.audits.page(
      { filter, since, after, limit, signal },
      { tokenId: identity.tokenId, response },
    );
    return { kind: 'Audit', namespace, cluster, ...page };
  }

  @Get('log')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'getLog',
    tag: 'events',
    records: 'nothing',
    summary: 'The history of a cluster name as it is stored, for those who check its hash chains themselves',
    description:
      'prevhash in a message is the SHA-256 of the message before it in its context. Whoever is not an administrator of all namespaces gets messages with settings of connections as hashes only.',
    answers: [{ status: 200, description: 'A page of messages', schema: LogPage }],
    refusals: [...OF_CLUSTER],
  })
  async log(
    @Param({ schema: ClusterPath }) { namespace, cluster }: ClusterPath,
    @Query({ schema: AuditQuery }) { after, limit }: AuditQuery,
    @FromCaller() { identity }: Caller,
  ): Promise<LogPage> {
    const { filter, since } = await this.historyOf({ namespace, cluster }, identity);
    const isAdministrator = mayEverywhere(identity, 'admin');
    const page = await this.reader.messages({ filter, after: Math.max(after, since), limit, isAdministrator });
    return { kind: 'LogPage', namespace, cluster, ...page };
  }

  /** What matches the events of the name, and from where on they are the caller's to read; refused when there are none. */
  private async historyOf({ namespace, cluster }: ClusterPath, identity: Identity): Promise<History> {
    const since = await this.incarnations.visibleAfter(namespace, identity);
    const filter = clusterFilter(namespace, cluster);
    if (!(await this.reader.hasAny(filter, since)))
      throw new RefusalError(refuse('cluster.unknown', { namespace, cluster }));
    return { filter, since };
  }
}

@Controller(bothBases('events'))
export class EventsHttp {
  constructor(
    @Inject(EventReader) private readonly reader: EventReader,
    @Inject(EventStreams) private readonly streams: EventStreams,
  ) {}

  @Get()
  @RoleEverywhere('admin')
  @Documented({
    id: 'listAllEvents',
    tag: 'events',
    records: 'nothing',
    summary: 'The whole log',
    answers: [{ status: 200, description: 'Events of all clusters, in order', schema: EventList }],
  })
  async list(@Query({ schema: EventsQuery }) { after, limit, type }: EventsQuery): Promise<EventList> {
    const { events, next } = await this.reader.page({ filter: EVERY_EVENT, after, limit, types: typesOf(type) });
    return { kind: 'EventList', items: events.map(eventView), next };
  }

  @Get('stream')
  @RoleEverywhere('admin')
  @Documented({
    id: 'streamAllEvents',
    tag: 'events',
    records: 'nothing',
    summary: 'The whole log as server-sent events',
    answers: [
      {
        status: 200,
        description: 'A stream that ends with the replica, or when the token ends or is revoked',
        contentType: 'text/event-stream',
      },
    ],
    refusals: ['token.too-many-streams', 'system.too-many-streams'],
  })
  async stream(
    @Query({ schema: EventStreamQuery }) { after, type }: EventStreamQuery,
    @FromCaller() { lastEventId, signal, identity: { tokenId } }: Caller,
    @Res() response: HttpResponse,
  ): Promise<void> {
    const afterSeq = resumeAfter(lastEventId, after);
    const reading = { filter: EVERY_EVENT, afterSeq, types: typesOf(type), view: eventView, goesOn: always, signal };
    await this.streams.serve({ tokenId, ...reading }, response);
  }
}

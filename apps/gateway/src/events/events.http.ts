import {
  AuditView,
  clusterFilter,
  ClusterPath,
  EventList,
  EventsQuery,
  EventStreamQuery,
  refuse,
} from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE } from '@fairlead/event-sourcing/jetstream';
import { Controller, Get, Inject, Param, Query, Res } from '@nestjs/common';
import { RoleEverywhere, RoleInNamespace } from '../auth/access.js';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { Refused } from '../http/refused.js';
import { auditEntries, verify } from './audit.js';
import { EventReader, typesOf } from './event.reader.js';
import { EventStreams } from './event.stream.js';
import { eventView } from './events.view.js';

const EVERYTHING = 'evt.>';

const SEQUENCE = /^\d{1,15}$/;

/** Where a stream goes on: after the last event that its reader has seen. */
const resumeAfter = (lastEventId: string | undefined, after: number): number => {
  if (lastEventId === undefined || lastEventId === '') return after;
  if (SEQUENCE.test(lastEventId)) return Number(lastEventId);
  throw new Refused(refuse('request.malformed', { detail: 'Last-Event-ID must be a sequence of the log' }));
};

@Controller(bothBases('ns/:namespace/clusters/:cluster'))
export class ClusterEventsHttp {
  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(EventReader) private readonly reader: EventReader,
    @Inject(EventStreams) private readonly streams: EventStreams,
  ) {}

  @Get('events')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'listEvents',
    tag: 'events',
    summary: 'What has happened to a cluster name, also to clusters that are gone',
    answers: [{ status: 200, description: 'Events in order', schema: EventList }],
    refusals: ['namespace.unknown', 'cluster.unknown'],
  })
  async list(
    @Param({ schema: ClusterPath }) { namespace, cluster }: ClusterPath,
    @Query({ schema: EventsQuery }) { after, limit, type }: EventsQuery,
  ): Promise<EventList> {
    const filter = await this.filterOf({ namespace, cluster });
    const { events, next } = await this.reader.page({ filter, after, limit, types: typesOf(type) });
    return { kind: 'EventList', items: events.map(eventView), next };
  }

  @Get('events/stream')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'streamEvents',
    tag: 'events',
    summary: 'The events of a cluster name as server-sent events, and each new one as it happens',
    description: 'id is the sequence, data an Event. Resumes after Last-Event-ID. Comments keep the connection alive.',
    answers: [
      {
        status: 200,
        description: 'A stream that ends with the replica, or when the token is revoked',
        contentType: 'text/event-stream',
      },
    ],
    refusals: ['namespace.unknown', 'cluster.unknown', 'system.too-many-streams'],
  })
  async stream(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: EventStreamQuery }) { after, type }: EventStreamQuery,
    @FromCaller() { lastEventId, signal }: Caller,
    @Res() response: HttpResponse,
  ): Promise<void> {
    const afterSeq = resumeAfter(lastEventId, after);
    const filter = await this.filterOf(path);
    await this.streams.serve({ filter, afterSeq, types: typesOf(type), signal }, response);
  }

  @Get('audit')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'getAudit',
    tag: 'events',
    summary: 'Who did what and why, replayed from the log, with its hash chains checked anew',
    answers: [{ status: 200, description: 'The history of the name', schema: AuditView }],
    refusals: ['namespace.unknown', 'cluster.unknown'],
  })
  async audit(@Param({ schema: ClusterPath }) { namespace, cluster }: ClusterPath): Promise<AuditView> {
    const history = await this.store.entries(clusterFilter(namespace, cluster), 0);
    if (history.length === 0) throw new Refused(refuse('cluster.unknown', { namespace, cluster }));
    return { kind: 'Audit', namespace, cluster, items: auditEntries(history), verification: verify(history) };
  }

  /** What matches the events of the name; refused when it never was a cluster's. */
  private async filterOf({ namespace, cluster }: ClusterPath): Promise<string> {
    const filter = clusterFilter(namespace, cluster);
    if (!(await this.reader.hasAny(filter))) throw new Refused(refuse('cluster.unknown', { namespace, cluster }));
    return filter;
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
    summary: 'The whole log',
    answers: [{ status: 200, description: 'Events of all clusters, in order', schema: EventList }],
  })
  async list(@Query({ schema: EventsQuery }) { after, limit, type }: EventsQuery): Promise<EventList> {
    const { events, next } = await this.reader.page({ filter: EVERYTHING, after, limit, types: typesOf(type) });
    return { kind: 'EventList', items: events.map(eventView), next };
  }

  @Get('stream')
  @RoleEverywhere('admin')
  @Documented({
    id: 'streamAllEvents',
    tag: 'events',
    summary: 'The whole log as server-sent events',
    answers: [
      {
        status: 200,
        description: 'A stream that ends with the replica, or when the token is revoked',
        contentType: 'text/event-stream',
      },
    ],
    refusals: ['system.too-many-streams'],
  })
  async stream(
    @Query({ schema: EventStreamQuery }) { after, type }: EventStreamQuery,
    @FromCaller() { lastEventId, signal }: Caller,
    @Res() response: HttpResponse,
  ): Promise<void> {
    const afterSeq = resumeAfter(lastEventId, after);
    await this.streams.serve({ filter: EVERYTHING, afterSeq, types: typesOf(type), signal }, response);
  }
}

import {
  refuse,
  sentenceOf,
  wordsOf,
  type LogEndReason,
  type LogPosition,
  type NodeLogsQuery,
  type NodePath,
  type StoredEvent,
} from '@fairlead/contracts';
import { HANDLE, NATS, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomUUID } from 'node:crypto';
import { causeOf, type Caller } from '../http/caller.js';
import type { HttpResponse } from '../http/http.types.js';
import { LogFollower, type Awaited } from '../http/log.follower.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import { beginStream, deliver, keepAlive } from '../http/server.sent.events.js';
import { TokenSlots } from '../limits/token.slots.js';
import { executions } from './executions.decider.js';
import { LogChannel } from './log.channel.js';

const STREAMS_MAX = 100;
/** Longer than one is followed. */
const ENDS_WITHIN_MS = 2 * 3_600_000;
/** More than a read and the time to connect take, and a restart of bootstrap-svc. */
const ANSWERED_WITHIN_MS = 60_000;

interface End {
  readonly reason: LogEndReason;
  readonly message: string;
}

const endOf = (event: StoredEvent): End => {
  if (event.type !== 'NodeLogsFollowEnded') return { reason: 'failed', message: 'the cluster is being deleted' };
  const { reason, cause } = event.data;
  switch (reason) {
    case 'time-limit':
      return { reason, message: 'a log is followed for an hour at most' };
    case 'reader-gone':
      return { reason: 'failed', message: 'the reader was away for too long' };
    case 'failed':
      return { reason, message: cause === undefined ? 'it could not be read' : sentenceOf(cause) };
  }
};

const STOPPED: End = { reason: 'stopped', message: 'the server is being stopped' };
const UNANSWERED: End = {
  reason: 'failed',
  message: `bootstrap-svc has not answered for ${ANSWERED_WITHIN_MS / 1_000} s`,
};

const frame = (type: 'lines' | 'end', data: unknown): string => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

/**
 * Logs of nodes for those who follow them. Lines are asked for only as fast as their reader takes them, and none is stored: the log of events
 * has the beginning and the end.
 */
@Injectable()
export class LogStreams implements BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly log = new Logger('log-streams');
  private open = 0;

  constructor(
    @Inject(NATS) private readonly nc: NatsConnection,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(LogFollower) private readonly follower: LogFollower,
    @Inject(TokenSlots) private readonly slots: TokenSlots,
  ) {}

  beforeApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** Resolves when the stream has ended. */
  async serve(path: NodePath, query: NodeLogsQuery, caller: Caller, response: HttpResponse): Promise<void> {
    this.slots.take('streams', caller.identity.tokenId, response);
    if (this.open >= STREAMS_MAX) throw new RefusalError(refuse('system.too-many-streams', { max: STREAMS_MAX }));
    const { namespace, cluster } = path;
    const requestId = randomUUID();
    const { seq } = unwrap(
      await this.handle(
        executions,
        { namespace, cluster, context: 'audit' },
        { type: 'RequestFollow', data: { ...path, ...query, requestId } },
        causeOf(caller),
      ),
    );
    this.open += 1;
    const channel = new LogChannel(this.nc, requestId);
    const alive = keepAlive(response);
    try {
      beginStream(response);
      const isOver = (event: StoredEvent): boolean =>
        (event.type === 'NodeLogsFollowEnded' && event.data.requestId === requestId) ||
        event.type === 'ClusterDeletionRequested';
      const awaited = { namespace, cluster, afterSeq: seq, isOver };
      const end = await this.follow(channel, awaited, caller.signal, response);
      if (end !== undefined) response.write(frame('end', end));
    } finally {
      this.open -= 1;
      alive.stop();
      channel.close();
      response.end();
    }
  }

  /** undefined: its reader has gone. */
  private async follow(channel: LogChannel, awaited: Awaited, gone: AbortSignal, response: HttpResponse) {
    const over = new AbortController();
    const signal = AbortSignal.any([gone, this.stopping.signal, over.signal]);
    const ended = this.follower
      .wait(awaited, { waitMs: ENDS_WITHIN_MS, signal })
      .catch((error: unknown) => this.log.warn(`the end of a log is not waited for: ${wordsOf(error)}`))
      .finally(() => over.abort());
    const isUnanswered = await this.pass(channel, response, signal);
    over.abort();
    const event = await ended;
    if (gone.aborted) return undefined;
    if (this.stopping.signal.aborted) return STOPPED;
    if (event) return endOf(event);
    return isUnanswered ? UNANSWERED : undefined;
  }

  /** Passes lines on until the signal aborts or the reader takes nothing; answers whether no lines came for too long. */
  private async pass(channel: LogChannel, response: HttpResponse, signal: AbortSignal): Promise<boolean> {
    for (let after: LogPosition | null = null; ;) {
      const lines = await channel.read(after, ANSWERED_WITHIN_MS, signal);
      if (lines === undefined) return !signal.aborted;
      after = lines.position;
      const { skipped } = lines;
      const text = Buffer.from(lines.text, 'base64').toString('utf8');
      const isNews = text !== '' || skipped > 0;
      if (isNews && !(await deliver(response, frame('lines', { text, skipped }), signal))) return false;
    }
  }
}

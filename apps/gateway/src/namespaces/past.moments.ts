import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { ClusterAddress } from '../common/cluster.address.js';
import { eventsUntil, History, rowsOfEvents, type LogMoment, type RowsOf } from '../common/history.js';
import type { Exchange } from '../http/caller.js';
import { TokenSlots } from '../limits/token.slots.js';
import { Incarnations } from './incarnations.js';

/** What the log of a name said at a moment. */
export interface PastMoment {
  readonly rowsOf: RowsOf;
  /** RFC 3339: the moment, or the last event until then. */
  readonly now: string;
}

type Reader = Pick<Exchange, 'caller' | 'response'>;

/**
 * Earlier moments, as far as they are the caller's to read. The history of the name is replayed, so each takes one of the
 * slots for audits.
 */
@Injectable()
export class PastMoments {
  constructor(
    @Inject(History) private readonly history: History,
    @Inject(Incarnations) private readonly incarnations: Incarnations,
    @Inject(TokenSlots) private readonly slots: TokenSlots,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async of(address: ClusterAddress, at: LogMoment, reader: Reader): Promise<PastMoment> {
    this.slots.take('audits', reader.caller.identity.tokenId, reader.response);
    return this.beside(address, at, reader);
  }

  /** Of another name, for an answer that has its slot already. */
  async beside({ namespace, cluster }: ClusterAddress, at: LogMoment, { caller }: Reader): Promise<PastMoment> {
    const since = await this.incarnations.visibleAfter(namespace, caller.identity);
    const events = eventsUntil(await this.history.events(namespace, cluster, since), at);
    const then = typeof at === 'number' ? events.at(-1)?.meta.time : new Date(at).toISOString();
    const now = this.clock.now().toISOString();
    return { rowsOf: rowsOfEvents(events), now: then === undefined || then > now ? now : then };
  }
}

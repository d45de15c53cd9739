import {
  refuse,
  type ChangedObject,
  type ChangesQuery,
  type ClusterChanges,
  type StoredEvent,
} from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import { AroundClusters } from '../clusters/around.queries.js';
import type { ClusterAddress } from '../common/cluster.address.js';
import { eventsUntil, History } from '../common/history.js';
import type { Exchange } from '../http/caller.js';
import { clusterUnknown } from '../http/command.answers.js';
import { RefusalError } from '../http/refusal.error.js';
import { TokenSlots } from '../limits/token.slots.js';
import { Incarnations } from '../namespaces/incarnations.js';
import { changesIn } from './changes.timeline.js';

/** A look at a cluster of 500 nodes takes 15 to 30 ms, so an answer takes some seconds at most. */
const LOOKS_MAX = 400;

/** What changed in a cluster between two moments, by the log alone. */
@Injectable()
export class ChangeQueries {
  constructor(
    @Inject(History) private readonly history: History,
    @Inject(AroundClusters) private readonly around: AroundClusters,
    @Inject(Incarnations) private readonly incarnations: Incarnations,
    @Inject(TokenSlots) private readonly slots: TokenSlots,
  ) {}

  /** As far as the history is the caller's to read. It is replayed, as for an audit. */
  async between(
    { namespace, cluster }: ClusterAddress,
    { from, to }: ChangesQuery,
    { caller: { identity, signal }, response }: Pick<Exchange, 'caller' | 'response'>,
  ): Promise<ClusterChanges> {
    const since = await this.incarnations.visibleAfter(namespace, identity);
    this.slots.take('audits', identity.tokenId, response);
    const events = await this.history.events(namespace, cluster, since);
    if (events.length === 0) throw new RefusalError(clusterUnknown({ namespace, cluster }));
    const begin = eventsUntil(events, from).length;
    const end = to === undefined ? events.length : eventsUntil(events, to).length;
    if (begin > end) throw new RefusalError(refuse('request.malformed', { detail: 'from must not be later than to' }));
    const search = changesIn({ events, from: begin, to: end }, this.around.moment, LOOKS_MAX);
    return {
      kind: 'ClusterChanges',
      namespace,
      cluster,
      from: pointOf(events[begin - 1]),
      to: pointOf(events[end - 1]),
      items: await resultOf(search, signal),
    };
  }
}

/** Other requests are answered between the looks. */
const resultOf = async (search: ReturnType<typeof changesIn>, signal: AbortSignal): Promise<ChangedObject[]> => {
  for (;;) {
    const step = search.next();
    if (step.done === true) return step.value;
    await setImmediate(undefined, { signal });
  }
};

const pointOf = (event: StoredEvent | undefined): ClusterChanges['from'] =>
  event === undefined ? { seq: 0, time: null } : { seq: event.meta.seq, time: event.meta.time };

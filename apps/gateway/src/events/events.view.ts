import type { EventView, StoredEvent } from '@fairlead/contracts';
import { sentenceOfEvent } from '@fairlead/domain';

export const eventView = (event: StoredEvent): EventView => {
  const { meta } = event;
  return {
    seq: meta.seq,
    id: meta.id,
    type: event.type,
    time: meta.time,
    namespace: meta.namespace,
    cluster: meta.cluster,
    context: meta.context,
    source: meta.source,
    actor: meta.actor,
    correlationId: meta.correlationId,
    causationId: meta.causationId,
    sentence: sentenceOfEvent(event),
    data: event.data,
  };
};

import { isRefusal, NONE, STALL_NAMES_MAX, type Fact, type ServiceName } from '@fairlead/contracts';
import type { Command, Decider } from '@fairlead/event-sourcing';
import type { Handle } from '@fairlead/event-sourcing/jetstream';
import { randomUUID } from 'node:crypto';
import type { BlockReport } from './event.loop.js';

type Blocked = Fact<'EventLoopBlocked'>;
type RecordBlock = Command<'RecordBlock', Blocked['data']>;

/** Each report is a separate fact. */
const eventLoop: Decider<undefined, RecordBlock, Blocked> = {
  initial: undefined,
  decide: (_state, { data }) => [{ type: 'EventLoopBlocked', data }],
  evolve: () => undefined,
};

/** Records what blocked the event loop of a process. */
export const recordBlock = async (
  handle: Handle,
  service: ServiceName,
  { blockedMs, times, work }: BlockReport,
): Promise<void> => {
  const names = work.slice(0, STALL_NAMES_MAX);
  const data = {
    service,
    blockedMs: Math.round(blockedMs),
    times,
    work: [...names],
    others: work.length - names.length,
  };
  const id = randomUUID();
  const cause = { actor: `system/${service}`, correlationId: id, causationId: id };
  const stream = { namespace: NONE, cluster: NONE, context: `process-${service}` };
  const outcome = await handle(eventLoop, stream, { type: 'RecordBlock', data }, cause);
  if (isRefusal(outcome)) throw new Error(outcome.message);
};

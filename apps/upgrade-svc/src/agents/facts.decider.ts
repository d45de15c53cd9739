import { AGENT_EVENT_TYPES, type Fact } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

export type RecordFact = Command<'RecordFact', { readonly id: string; readonly fact: Fact }>;

/** An agent sends one fact after the other and repeats only the first unacknowledged one. */
const IDS_REMEMBERED = 32;

const AGENT_EVENTS: ReadonlySet<string> = new Set(AGENT_EVENT_TYPES);

/** Records each fact of an agent once. Stream `node-<node>`; the state is the IDs of the newest events. */
export const agentFacts: Decider<readonly string[], RecordFact, Fact> = {
  initial: [],
  decide: (ids, { data }) => (ids.includes(data.id) ? nothing : [data.fact]),
  evolve: (ids, event) => (AGENT_EVENTS.has(event.type) ? [...ids.slice(1 - IDS_REMEMBERED), event.meta.id] : ids),
};

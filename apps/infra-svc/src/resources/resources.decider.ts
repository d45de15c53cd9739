import { NONE, type ConnectionName, type Fact, type StreamId } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

export type ResourceFact = Fact<
  | 'ConnectionVerified'
  | 'ConnectionUnverified'
  | 'ConnectionBusy'
  | 'ConnectionFree'
  | 'NetworkEnsured'
  | 'FirewallEnsured'
  | 'SshKeyEnsured'
  | 'ImageEnsured'
  | 'SpecEnsured'
>;

/** The last fact about each resource of a connection. */
export type Resources = Readonly<Record<string, ResourceFact>>;

/** Records an observation. Yields an event only if the log does not state it yet. */
export type RecordResource = Command<'RecordResource', ResourceFact>;

/** Answers a request for a verification: yields an event even if the log already states it. */
export type AnswerVerification = Command<'AnswerVerification', Fact<'ConnectionVerified' | 'ConnectionUnverified'>>;

/** Resources that the clusters of a connection share have a separate stream. */
export const resourcesStream = (connection: ConnectionName): StreamId => ({
  namespace: NONE,
  cluster: NONE,
  context: `resources-${connection}`,
});

const thingOf = (fact: ResourceFact): string => {
  switch (fact.type) {
    case 'ConnectionVerified':
    case 'ConnectionUnverified':
      return 'connection';
    case 'ConnectionBusy':
    case 'ConnectionFree':
      return 'places';
    case 'SpecEnsured':
      return `spec ${fact.data.spec}`;
    case 'NetworkEnsured':
    case 'FirewallEnsured':
    case 'SshKeyEnsured':
    case 'ImageEnsured':
      return fact.type;
  }
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Deep equality of JSON values; the order of keys is ignored. */
const same = (first: unknown, second: unknown): boolean => {
  if (!isObject(first) || !isObject(second)) return first === second;
  const keys = Object.keys(first);
  return keys.length === Object.keys(second).length && keys.every((key) => same(first[key], second[key]));
};

const TYPES: ReadonlySet<string> = new Set<ResourceFact['type']>([
  'ConnectionVerified',
  'ConnectionUnverified',
  'ConnectionBusy',
  'ConnectionFree',
  'NetworkEnsured',
  'FirewallEnsured',
  'SshKeyEnsured',
  'ImageEnsured',
  'SpecEnsured',
]);

/** Whether the event is about resources that the clusters of a connection share. */
export const isResourceFact = (event: { type: string }): event is ResourceFact => TYPES.has(event.type);

/** Shared resources of a connection, each stated once however many clusters ensure it. */
export const resources: Decider<Resources, RecordResource | AnswerVerification, ResourceFact> = {
  initial: {},
  decide: (state, { type, data: fact }) => {
    if (type === 'AnswerVerification') return [fact];
    const last = state[thingOf(fact)];
    // Nothing was stated about its slots.
    if (last === undefined && fact.type === 'ConnectionFree') return nothing;
    return last?.type === fact.type && same(last.data, fact.data) ? nothing : [fact];
  },
  evolve: (state, { type, data }) => {
    const fact = { type, data };
    return isResourceFact(fact) ? { ...state, [thingOf(fact)]: fact } : state;
  },
};

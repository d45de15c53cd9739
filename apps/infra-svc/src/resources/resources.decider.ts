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

/** What was last stated of each thing of a connection. */
export type Resources = Readonly<Record<string, ResourceFact>>;

/** The world looks like this now. It becomes an event only if the log does not say so already. */
export type RecordResource = Command<'RecordResource', ResourceFact>;

/** Someone asked whether the provider is reached: the answer becomes an event also if the log says so already. */
export type AnswerVerification = Command<'AnswerVerification', Fact<'ConnectionVerified' | 'ConnectionUnverified'>>;

/** What the clusters of a connection share has a stream of its own, beside all clusters. */
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

/** Equal as JSON, whatever the order of the keys. */
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

/** Whether it is about what the clusters of a connection share. */
export const isResourceFact = (event: { type: string }): event is ResourceFact => TYPES.has(event.type);

/** Shared things of a connection, each stated once however many clusters ensure it. */
export const resources: Decider<Resources, RecordResource | AnswerVerification, ResourceFact> = {
  initial: {},
  decide: (state, { type, data: fact }) => {
    if (type === 'AnswerVerification') return [fact];
    const last = state[thingOf(fact)];
    // Nothing was said of its places.
    if (last === undefined && fact.type === 'ConnectionFree') return nothing;
    return last?.type === fact.type && same(last.data, fact.data) ? nothing : [fact];
  },
  evolve: (state, { type, data }) => {
    const fact = { type, data };
    return isResourceFact(fact) ? { ...state, [thingOf(fact)]: fact } : state;
  },
};

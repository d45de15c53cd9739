import {
  ApplicationName,
  ClusterName,
  ConnectionName,
  EVENTS,
  isEventType,
  Namespace,
  NodeName,
  NONE,
  parseEventSubject,
  partitionOf,
  scopeOf,
  SERVICES,
  type Envelope,
  type EventDefinition,
  type EventType,
  type StreamId,
} from '@fairlead/contracts';

/** Why a message on a subject of the log is not an event. A short list, because these are labels of a metric. */
export const REJECTIONS = [
  'subject',
  'too-large',
  'not-json',
  'too-deep',
  'envelope',
  'type',
  'newer-version',
  'context',
  'source',
  'actor',
  'names',
  'data',
] as const;
export type RejectionReason = (typeof REJECTIONS)[number];

export interface Rejection {
  readonly reason: RejectionReason;
  readonly detail: string;
}

/** The properties of an event that its subject determines, and the writer that the catalogue allows. */
export interface EventAddress extends StreamId {
  readonly type: EventType;
  readonly definition: EventDefinition;
  /** The name in the context, and the field of the data that must equal it; undefined: the context has none. */
  readonly named: { readonly field: keyof typeof NAMED; readonly name: string } | undefined;
  readonly source: string;
  /** `<Type>.v<n>` as this release writes it. */
  readonly newest: string;
  readonly about: string;
  /** Permitted actors of the writer, or their prefixes. */
  readonly actors: readonly string[];
}

const isName = (schema: { safeParse(value: string): { success: boolean } }, value: string): boolean =>
  schema.safeParse(value).success;

const isInScope = ({ namespace, cluster }: StreamId, definition: EventDefinition): boolean => {
  const hasNamespace = isName(Namespace, namespace);
  const hasCluster = isName(ClusterName, cluster);
  switch (scopeOf(definition)) {
    case 'cluster':
      return hasNamespace && hasCluster;
    case 'namespace':
      return hasNamespace && cluster === NONE;
    case 'installation':
      return namespace === NONE && cluster === NONE;
    case 'any':
      return (hasNamespace && (hasCluster || cluster === NONE)) || (namespace === NONE && cluster === NONE);
  }
};

const isService = (name: string): boolean => (SERVICES as readonly string[]).includes(name);

/** Validates the names in a context. */
const NAMED = {
  node: (name: string) => isName(NodeName, name),
  connection: (name: string) => isName(ConnectionName, name),
  application: (name: string) => isName(ApplicationName, name),
  service: isService,
};

/** The name in a context by its pattern; undefined: the context does not match. */
const namedIn = (context: string, pattern: string): EventAddress['named'] | 'none' | undefined => {
  const open = pattern.indexOf('<');
  if (open < 0) return context === pattern ? 'none' : undefined;
  if (!context.startsWith(pattern.slice(0, open))) return undefined;
  const name = context.slice(open);
  const field = pattern.slice(open + 1, -1) as keyof typeof NAMED;
  return NAMED[field](name) ? { field, name } : undefined;
};

const writersOf = (
  { writer }: EventDefinition,
  named: EventAddress['named'],
): Pick<EventAddress, 'source' | 'actors'> => {
  switch (writer) {
    case 'node-agent':
      return { source: `/node-agent/${named?.name}`, actors: [`node/${named?.name}`] };
    case 'gateway':
      return { source: '/gateway', actors: ['user/', 'system/'] };
    default: {
      const service = writer === 'every-service' ? named?.name : writer;
      return { source: `/${service}`, actors: [`system/${service}`] };
    }
  }
};

const rejected = (reason: RejectionReason, detail: string): Rejection => ({ reason, detail });

export const isRejection = (value: object | undefined): value is Rejection => value !== undefined && 'reason' in value;

/** Parses a subject by the catalogue. undefined: a type that this release does not know, which every reader skips. */
export const addressOf = (subject: string): EventAddress | Rejection | undefined => {
  const parsed = parseEventSubject(subject);
  if (parsed === undefined) return rejected('subject', 'it is not a subject of an event');
  const { namespace, cluster, context, type } = parsed;
  if (parsed.partition !== partitionOf(namespace, cluster))
    return rejected('subject', `${namespace}/${cluster} belongs to partition ${partitionOf(namespace, cluster)}`);
  if (!isEventType(type)) return undefined;
  const definition: EventDefinition = EVENTS[type];
  if (!isInScope(parsed, definition))
    return rejected('subject', `${type} is about one ${scopeOf(definition)}, and this is none`);
  const named = namedIn(context, definition.context);
  if (named === undefined) return rejected('context', `${type} belongs to the context ${definition.context}`);
  const name = named === 'none' ? undefined : named;
  const newest = `${type}.v${definition.version}`;
  const about = `${namespace}/${cluster}`;
  return { namespace, cluster, context, type, definition, newest, about, named: name, ...writersOf(definition, name) };
};

const VERSIONED = /^(.*)\.v([1-9]\d{0,5})$/;

const typeFault = ({ type, definition, newest }: EventAddress, versioned: string): Rejection | undefined => {
  if (versioned === newest) return undefined;
  const [, name, version] = VERSIONED.exec(versioned) ?? [];
  if (name !== type) return rejected('type', `it calls itself ${versioned}`);
  if (Number(version) > definition.version)
    return rejected(
      'newer-version',
      `${versioned} is newer than this release, which knows version ${definition.version}`,
    );
  return undefined;
};

const isActor = (actors: readonly string[], actor: string): boolean =>
  actors.some((allowed) =>
    allowed.endsWith('/') ? actor.startsWith(allowed) && actor.length > allowed.length : actor === allowed,
  );

/** Checks the names in the data against the subject. */
const namesFault = ({ namespace, cluster, named }: EventAddress, data: Envelope['data']): Rejection | undefined => {
  if (named !== undefined && data[named.field] !== named.name)
    return rejected('names', `its ${named.field} is not ${named.name}`);
  if (cluster === NONE && namespace !== NONE && 'name' in data && data['name'] !== namespace)
    return rejected('names', `its name is not ${namespace}`);
  return undefined;
};

/** Whether an envelope agrees with its subject. The schema checks the data. */
export const envelopeFault = (address: EventAddress, envelope: Envelope): Rejection | undefined => {
  const wrongType = typeFault(address, envelope.type);
  if (wrongType !== undefined) return wrongType;
  if (envelope.source !== address.source) return rejected('source', `its source is not ${address.source}`);
  if (!isActor(address.actors, envelope.actor))
    return rejected(
      'actor',
      `its actor is not ${address.actors.map((actor) => actor.replace(/\/$/, '/...')).join(' or ')}`,
    );
  if (envelope.subject !== address.about) return rejected('names', `its subject is not ${address.about}`);
  return namesFault(address, envelope.data);
};

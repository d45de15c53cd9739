import {
  NODE_OBJECT_NAME_MAX,
  NODE_UID_MAX,
  NODES_WITHOUT_MACHINE_MAX,
  PROVIDER_ID_MAX,
  type EventData,
} from '@fairlead/contracts';

/** Which Node object it is, and since when by the clock of the API server. */
interface Registered {
  readonly uid: string;
  readonly atMs: number;
}

/** A Node object, as Kubernetes lists it. */
export interface ListedNode {
  readonly name: string;
  readonly registered: Registered;
  readonly ready: boolean;
  /** null: it has none. */
  readonly providerId: string | null;
}

/** A node, as it is recorded. */
export interface RecordedNode {
  readonly name: string;
  /** Absent: its machine was recorded by a release that did not keep it here. */
  readonly providerId?: string | undefined;
}

export type StrangerReason = NonNullable<EventData<'NodeWithoutMachineFound'>['reason']>;

/** A Node object that is no recorded node, and why. */
export interface Stranger extends ListedNode {
  readonly reason: StrangerReason;
}

/** How the Nodes of a cluster differ from its record. */
export interface Findings {
  /** Recorded nodes without a Node object. */
  readonly missing: readonly string[];
  /** Node objects of which no machine is recorded. */
  readonly strangers: readonly Stranger[];
  /** Those of them that have no machine at all, and that no list has called Ready for the whole limit. */
  readonly overdue: readonly string[];
}

export interface Present {
  readonly name: string;
  readonly registered: Registered;
}

/** What one list shows. */
export interface Match {
  /** Recorded nodes that have a Node object, and which. */
  readonly present: readonly Present[];
  readonly strangers: readonly Stranger[];
}

/** Since when each look has found it, in milliseconds, by what it is about. */
export type Memory = ReadonlyMap<string, number>;

export const NO_MEMORY: Memory = new Map();

export interface Comparison {
  /** What this look and the one before agree on. */
  readonly confirmed: Findings;
  /** What this look shows by itself. */
  readonly seen: Match;
  /** For the next look. */
  readonly memory: Memory;
}

const isNameable = ({ name, registered: { uid } }: ListedNode): boolean =>
  name !== '' && name.length <= NODE_OBJECT_NAME_MAX && uid !== '' && uid.length <= NODE_UID_MAX;

const byName = (one: ListedNode, other: ListedNode): number => (one.name < other.name ? -1 : 1);

/** The look before, and the clock. */
export interface Looking {
  readonly before: Memory;
  readonly nowMs: number;
  /** How long a Node without a machine may be not Ready. */
  readonly limitMs: number;
}

/** Not a provider ID that ours could be. */
const bounded = (node: ListedNode): ListedNode =>
  (node.providerId ?? '').length <= PROVIDER_ID_MAX
    ? node
    : { ...node, providerId: node.providerId?.slice(0, PROVIDER_ID_MAX) ?? null };

/** By its name alone only where one of the two has no provider ID. */
const isItself = (node: ListedNode, recorded: RecordedNode): boolean =>
  recorded.name === node.name &&
  (recorded.providerId === undefined || node.providerId === null || recorded.providerId === node.providerId);

/**
 * Nodes are matched by provider ID. Of several Nodes with the ID of one machine, the one that has the machine's name is its node, or the
 * first: the others are strangers.
 */
export const match = (recorded: readonly RecordedNode[], listed: readonly ListedNode[]): Match => {
  const byNames = new Map(recorded.map((one) => [one.name, one]));
  const byIds = new Map(recorded.flatMap((one) => (one.providerId === undefined ? [] : [[one.providerId, one]])));
  const nodes = listed.filter(isNameable).map(bounded).toSorted(byName);
  const isNode = (node: ListedNode): boolean => {
    const one = byNames.get(node.name);
    return one !== undefined && isItself(node, one);
  };
  const present = new Map(nodes.filter(isNode).map(({ name, registered }) => [name, registered] as const));
  const strangers: Stranger[] = [];
  for (const node of nodes) {
    if (isNode(node)) continue;
    const owner = node.providerId === null ? undefined : byIds.get(node.providerId);
    if (owner !== undefined && !present.has(owner.name)) present.set(owner.name, node.registered);
    else if (owner !== undefined) strangers.push({ ...node, reason: 'duplicate-provider-id' });
    else strangers.push({ ...node, reason: node.providerId === null ? 'no-provider-id' : 'unknown-provider-id' });
  }
  return { present: [...present].map(([name, registered]) => ({ name, registered })), strangers };
};

const missingKey = (name: string): string => `missing/${name}`;
const strangerKey = ({ name, reason }: Stranger): string => `stranger/${name}/${reason}`;
const unreadyKey = (name: string): string => `unready/${name}`;

/** A complete list of a cluster's Nodes, compared with the nodes that are recorded. A difference counts when two lists in a row show it. */
export const compare = (
  recorded: readonly RecordedNode[],
  listed: readonly ListedNode[],
  { before, nowMs, limitMs }: Looking,
): Comparison => {
  const seen = match(recorded, listed);
  const there = new Set(seen.present.map(({ name }) => name));
  const missing = recorded.flatMap(({ name }) => (there.has(name) ? [] : [name])).toSorted();
  const strangers = seen.strangers.slice(0, NODES_WITHOUT_MACHINE_MAX);
  const isUnready = ({ ready, reason }: Stranger): boolean => !ready && reason !== 'duplicate-provider-id';
  const unready = strangers.filter(isUnready).map(({ name }) => name);
  const found = [...missing.map(missingKey), ...strangers.map(strangerKey), ...unready.map(unreadyKey)];
  const isOverdue = (name: string): boolean => {
    const sinceMs = before.get(unreadyKey(name));
    return sinceMs !== undefined && nowMs - sinceMs >= limitMs;
  };
  return {
    confirmed: {
      missing: missing.filter((name) => before.has(missingKey(name))),
      strangers: strangers.filter((stranger) => before.has(strangerKey(stranger))),
      overdue: unready.filter(isOverdue),
    },
    seen,
    memory: new Map(found.map((key) => [key, before.get(key) ?? nowMs])),
  };
};

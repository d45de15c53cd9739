import {
  NODE_MESSAGE_MAX,
  NODE_OBJECT_NAME_MAX,
  NODE_UID_MAX,
  NODES_WITHOUT_MACHINE_MAX,
  PROVIDER_ID_MAX,
  recordedProviderId,
  type EventData,
  type NodeCondition,
  type NodePressure,
} from '@fairlead/contracts';

/** The uid of the Node object, and its creation time by the API server's clock. */
interface Registered {
  readonly uid: string;
  readonly atMs: number;
}

/** A Node object in the list of Kubernetes. */
export interface ListedNode {
  readonly name: string;
  readonly registered: Registered;
  readonly ready: boolean;
  /** The message of its Ready condition. */
  readonly message: string;
  /** Conditions other than Ready that keep pods off the node. */
  readonly pressures: readonly NodePressure[];
  /** The other conditions; absent: none. */
  readonly conditions?: readonly NodeCondition[] | undefined;
  /** null: none. */
  readonly providerId: string | null;
}

/** A recorded node. */
export interface RecordedNode {
  readonly name: string;
  /** Absent: its machine was recorded by a release that did not store the ID here. */
  readonly providerId?: string | undefined;
  /** Recorded as Ready. */
  readonly ready?: boolean | undefined;
}

export type StrangerReason = NonNullable<EventData<'NodeWithoutMachineFound'>['reason']>;

/** A Node object that matches no recorded node, with the reason. */
export interface Stranger extends ListedNode {
  readonly reason: StrangerReason;
}

/** Differences between a cluster's Nodes and its record. */
export interface Findings {
  /** Recorded nodes without a Node object. */
  readonly missing: readonly string[];
  /** Node objects without a recorded machine. */
  readonly strangers: readonly Stranger[];
  /** The strangers without any machine that no list has shown as Ready for the whole limit. */
  readonly overdue: readonly string[];
  /** Nodes recorded as Ready that Kubernetes reports as not Ready, with its message. */
  readonly contradicted: readonly { readonly name: string; readonly message: string }[];
  /** Conditions of recorded nodes other than Ready, by name; only nodes that have any. */
  readonly pressures: Readonly<Record<string, readonly NodePressure[]>>;
}

export interface Present {
  readonly name: string;
  readonly registered: Registered;
  readonly ready: boolean;
  readonly pressures: readonly NodePressure[];
  readonly conditions?: readonly NodeCondition[] | undefined;
}

/** The Node object of a recorded node, whatever its name in Kubernetes. */
interface Matched extends Present {
  readonly message: string;
}

/** The contents of one list. */
export interface Match {
  /** Recorded nodes with their Node objects. */
  readonly present: readonly Matched[];
  readonly strangers: readonly Stranger[];
}

/** Since when every list has shown a finding, in milliseconds, by its key. */
export type Memory = ReadonlyMap<string, number>;

export const NO_MEMORY: Memory = new Map();

export interface Comparison {
  /** Findings that this list and the previous one share. */
  readonly confirmed: Findings;
  /** The contents of this list alone. */
  readonly seen: Match;
  /** Input of the next comparison. */
  readonly memory: Memory;
}

const isNameable = ({ name, registered: { uid } }: ListedNode): boolean =>
  name !== '' && name.length <= NODE_OBJECT_NAME_MAX && uid !== '' && uid.length <= NODE_UID_MAX;

const byName = (one: ListedNode, other: ListedNode): number => (one.name < other.name ? -1 : 1);

/** The memory of the previous list, and the time. */
export interface Looking {
  readonly before: Memory;
  readonly nowMs: number;
  /** How long a Node without a machine may be not Ready. */
  readonly limitMs: number;
}

/** A provider ID that is too long to be one of Fairlead's is truncated. */
const bounded = (node: ListedNode): ListedNode =>
  node.providerId === null
    ? node
    : { ...node, providerId: recordedProviderId(node.providerId.slice(0, PROVIDER_ID_MAX)) };

/** Matches by name alone only if one of the two has no provider ID. */
const isItself = (node: ListedNode, recorded: RecordedNode): boolean =>
  recorded.name === node.name &&
  (recorded.providerId === undefined || node.providerId === null || recorded.providerId === node.providerId);

const matched = (name: string, { registered, ready, message, pressures, conditions = [] }: ListedNode): Matched => ({
  name,
  registered,
  ready,
  message: message.replace(/\s+/gu, ' ').slice(0, NODE_MESSAGE_MAX),
  pressures,
  ...(conditions.length === 0 ? {} : { conditions }),
});

/**
 * Matches Nodes by provider ID. If several Nodes have the ID of one machine, the Node with the machine's name is its
 * node, otherwise the first; the others are strangers.
 */
export const match = (recorded: readonly RecordedNode[], listed: readonly ListedNode[]): Match => {
  const byNames = new Map(recorded.map((one) => [one.name, one]));
  const byIds = new Map(recorded.flatMap((one) => (one.providerId === undefined ? [] : [[one.providerId, one]])));
  const nodes = listed.filter(isNameable).map(bounded).toSorted(byName);
  const isNode = (node: ListedNode): boolean => {
    const one = byNames.get(node.name);
    return one !== undefined && isItself(node, one);
  };
  const present = new Map(nodes.filter(isNode).map((node) => [node.name, node] as const));
  const strangers: Stranger[] = [];
  for (const node of nodes) {
    if (isNode(node)) continue;
    const owner = node.providerId === null ? undefined : byIds.get(node.providerId);
    if (owner !== undefined && !present.has(owner.name)) present.set(owner.name, node);
    else if (owner !== undefined) strangers.push({ ...node, reason: 'duplicate-provider-id' });
    else strangers.push({ ...node, reason: node.providerId === null ? 'no-provider-id' : 'unknown-provider-id' });
  }
  return { present: [...present].map(([name, node]) => matched(name, node)), strangers };
};

const missingKey = (name: string): string => `missing/${name}`;
const strangerKey = ({ name, reason }: Stranger): string => `stranger/${name}/${reason}`;
const unreadyKey = (name: string): string => `unready/${name}`;
const contradictedKey = (name: string): string => `contradicted/${name}`;
const pressureKey = ({ name, pressures }: Matched): string => `pressure/${name}/${pressures.join()}`;

/**
 * Compares a complete list of a cluster's Nodes with the recorded nodes. A difference counts once two lists in a row
 * show it.
 */
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
  const ready = new Set(recorded.flatMap(({ name, ready: isReady }) => (isReady === true ? [name] : [])));
  const contradicted = seen.present.filter(({ name, ready: isReady }) => !isReady && ready.has(name));
  const pressed = seen.present.filter(({ pressures }) => pressures.length > 0);
  const found = [
    ...missing.map(missingKey),
    ...strangers.map(strangerKey),
    ...unready.map(unreadyKey),
    ...contradicted.map(({ name }) => contradictedKey(name)),
    ...pressed.map(pressureKey),
  ];
  const isOverdue = (name: string): boolean => {
    const sinceMs = before.get(unreadyKey(name));
    return sinceMs !== undefined && nowMs - sinceMs >= limitMs;
  };
  return {
    confirmed: {
      missing: missing.filter((name) => before.has(missingKey(name))),
      strangers: strangers.filter((stranger) => before.has(strangerKey(stranger))),
      overdue: unready.filter(isOverdue),
      contradicted: contradicted
        .filter(({ name }) => before.has(contradictedKey(name)))
        .map(({ name, message }) => ({ name, message })),
      pressures: Object.fromEntries(
        pressed.filter((node) => before.has(pressureKey(node))).map(({ name, pressures }) => [name, pressures]),
      ),
    },
    seen,
    memory: new Map(found.map((key) => [key, before.get(key) ?? nowMs])),
  };
};

/** This list contradicts the record of a node and the previous one did not: another list soon has to confirm it. */
export const raisesContradiction = ({ memory }: Comparison, before: Memory): boolean =>
  [...memory.keys()].some((key) => key.startsWith(contradictedKey('')) && !before.has(key));

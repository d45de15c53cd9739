import { NODE_OBJECT_NAME_MAX, NODES_WITHOUT_MACHINE_MAX } from '@fairlead/contracts';

/** A Node object, as Kubernetes lists it. */
export interface ListedNode {
  readonly name: string;
  readonly ready: boolean;
}

/** How the Nodes of a cluster differ from its record. */
export interface Findings {
  /** Recorded nodes without a Node object. */
  readonly missing: readonly string[];
  /** Node objects of which no machine is recorded. */
  readonly strangers: readonly ListedNode[];
  /** Those of them that no list has called Ready for the whole limit. */
  readonly overdue: readonly string[];
}

/** Since when each look has found it, in milliseconds, by what it is about. */
export type Memory = ReadonlyMap<string, number>;

export const NO_MEMORY: Memory = new Map();

export interface Comparison {
  /** What this look and the one before agree on. */
  readonly confirmed: Findings;
  /** For the next look. */
  readonly memory: Memory;
}

const isNameable = ({ name }: ListedNode): boolean => name !== '' && name.length <= NODE_OBJECT_NAME_MAX;

const byName = (one: ListedNode, other: ListedNode): number => (one.name < other.name ? -1 : 1);

/** The look before, and the clock. */
export interface Looking {
  readonly before: Memory;
  readonly nowMs: number;
  /** How long a Node without a machine may be not Ready. */
  readonly limitMs: number;
}

/** A complete list of a cluster's Nodes, compared with the nodes that are recorded. A difference counts when two lists in a row show it. */
export const compare = (
  recorded: readonly string[],
  listed: readonly ListedNode[],
  { before, nowMs, limitMs }: Looking,
): Comparison => {
  const [known, seen] = [new Set(recorded), new Set(listed.map(({ name }) => name))];
  const missing = recorded.filter((name) => !seen.has(name)).toSorted();
  const strangers = listed
    .filter((node) => isNameable(node) && !known.has(node.name))
    .toSorted(byName)
    .slice(0, NODES_WITHOUT_MACHINE_MAX);
  const keyOf = {
    missing: (name: string) => `missing/${name}`,
    stranger: (name: string) => `stranger/${name}`,
    unready: (name: string) => `unready/${name}`,
  };
  const unready = strangers.filter(({ ready }) => !ready).map(({ name }) => name);
  const found = [
    ...missing.map(keyOf.missing),
    ...strangers.map(({ name }) => keyOf.stranger(name)),
    ...unready.map(keyOf.unready),
  ];
  const isOverdue = (name: string): boolean => {
    const sinceMs = before.get(keyOf.unready(name));
    return sinceMs !== undefined && nowMs - sinceMs >= limitMs;
  };
  return {
    confirmed: {
      missing: missing.filter((name) => before.has(keyOf.missing(name))),
      strangers: strangers.filter(({ name }) => before.has(keyOf.stranger(name))),
      overdue: unready.filter(isOverdue),
    },
    memory: new Map(found.map((key) => [key, before.get(key) ?? nowMs])),
  };
};

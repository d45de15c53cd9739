/**
 * A state with at least this many hosts is written host by host: an event of one then costs the same in a cluster of
 * any size.
 */
const ENTRIES_MIN = 32;
/** Maximum depth of such a container in a state: cluster, cluster.hosts, … */
const DEPTH_MAX = 4;

/** Replaces a container in the document if its entries are stored separately. */
const MARK = '$pieces';
type Shape = 'object' | 'array';

type Entries = Readonly<Record<string, unknown>>;

/** An entry of a container. Its path within the document, as JSON. */
export interface Piece {
  readonly path: string;
  readonly doc: unknown;
}

/** What must be written of a state, given the previous one. */
export interface StoredState {
  readonly doc: unknown;
  readonly changed: readonly Piece[];
  readonly gone: readonly string[];
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Texts and numbers in a list are small, and their indexes shift: they stay together. */
const isLarge = (value: object): boolean => {
  if (Array.isArray(value)) return value.length >= ENTRIES_MIN && isContainer(value[0]);
  let count = 0;
  for (const _key in value) {
    count += 1;
    if (count >= ENTRIES_MIN) return true;
  }
  return false;
};

const pathOf = (path: readonly string[], key: string): string => JSON.stringify([...path, key]);

interface Container {
  readonly path: readonly string[];
  readonly entries: Entries;
}

/**
 * The document with a marker in place of each large container, and these containers. Most documents have none, and are
 * returned unchanged.
 */
const split = (value: unknown, found: Map<string, Container>, path: readonly string[] = []): unknown => {
  if (!isContainer(value)) return value;
  if (isLarge(value)) {
    found.set(JSON.stringify(path), { path, entries: value as Entries });
    const shape: Shape = Array.isArray(value) ? 'array' : 'object';
    return { [MARK]: shape };
  }
  if (Array.isArray(value) || path.length === DEPTH_MAX) return value;
  let copy: Record<string, unknown> | undefined;
  for (const [key, entry] of Object.entries(value)) {
    if (!isContainer(entry)) continue;
    const marked = split(entry, found, [...path, key]);
    if (marked === entry) continue;
    copy ??= { ...value } as Record<string, unknown>;
    copy[key] = marked;
  }
  return copy ?? value;
};

/** Containers of documents that an earlier release stored whole. */
const storedWhole = new WeakSet<object>();

const NO_ENTRIES: Entries = {};

/**
 * States are never changed in place, so an entry that is the same object is already stored. `before` undefined: nothing
 * is stored.
 */
export const storedState = (before: unknown, after: unknown): StoredState => {
  const [old, now] = [new Map<string, Container>(), new Map<string, Container>()];
  split(before, old);
  const doc = split(after, now);
  const changed: Piece[] = [];
  const gone: string[] = [];
  for (const key of new Set([...old.keys(), ...now.keys()])) {
    const { path } = (now.get(key) ?? old.get(key))!;
    const entries = now.get(key)?.entries ?? NO_ENTRIES;
    const whole = old.get(key)?.entries ?? NO_ENTRIES;
    const stored = storedWhole.has(whole) ? NO_ENTRIES : whole;
    if (stored === entries) continue;
    for (const [name, entry] of Object.entries(entries))
      if (entry !== undefined && stored[name] !== entry) changed.push({ path: pathOf(path, name), doc: entry });
    // For a container that was stored whole, an earlier write may have stored the entries.
    for (const name of Object.keys(whole))
      if (whole[name] !== undefined && entries[name] === undefined) gone.push(pathOf(path, name));
  }
  return { doc, changed, gone };
};

const join = (value: unknown, entriesAt: ReadonlyMap<string, Entries>, path: readonly string[] = []): unknown => {
  if (!isContainer(value)) return value;
  const shape = (value as Entries)[MARK];
  const entries = entriesAt.get(JSON.stringify(path)) ?? NO_ENTRIES;
  if (shape === 'object') return entries;
  if (shape === 'array') return Object.assign([], entries);
  if (isLarge(value)) {
    storedWhole.add(value);
    return value;
  }
  if (Array.isArray(value) || path.length === DEPTH_MAX) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, join(entry, entriesAt, [...path, key])]));
};

/** The state as it was before it was stored. */
export const joinedState = (doc: unknown, pieces: Readonly<Record<string, unknown>> | null): unknown => {
  const entriesAt = new Map<string, Record<string, unknown>>();
  for (const [path, piece] of Object.entries(pieces ?? {})) {
    const keys = JSON.parse(path) as string[];
    const container = JSON.stringify(keys.slice(0, -1));
    const entries = entriesAt.get(container) ?? {};
    entriesAt.set(container, entries);
    entries[keys.at(-1)!] = piece;
  }
  return join(doc, entriesAt);
};

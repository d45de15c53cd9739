import { CORE_SCHEMA, FAILSAFE_SCHEMA, loadAll, YAMLException, type LoadOptions, type State } from 'js-yaml';
import { isDeeperThan } from './depth.js';
import { DEPTH_MAX, type ParseLimits } from './limits.js';
import { malformed, ParseFailure, tooDeep, tooLong, tooManyValues } from './parse.failure.js';
import { lineAt, LineTree } from './yaml.lines.js';

export interface YamlLimits extends ParseLimits {
  /** strings: every scalar is a string as written, and no node has a tag. */
  readonly scalars?: 'core' | 'strings';
  /** Whether aliases are allowed. Each repetition counts as values; cycles are rejected. */
  readonly aliases?: 'refused' | 'allowed';
}

/** A YAML value takes about 2 µs, and typically has 10 to 40 characters. */
const VALUES_MAX = 50_000;
const DEFAULTS = { depthMax: DEPTH_MAX, valuesMax: VALUES_MAX, scalars: 'core', aliases: 'refused' } as const;
/** Per text. */
const DOCUMENTS_MAX = 1_000;

/** The argument of js-yaml's listener, beyond its published types. */
type Node = State & {
  readonly tag: string | null;
  readonly anchor: string | null;
  readonly kind: unknown;
};

class Counter {
  hasAnchors = false;
  private values = 0;

  constructor(private readonly limits: Required<YamlLimits>) {}

  readonly see = (event: 'open' | 'close', { anchor, tag }: Node): void => {
    if (event === 'open') this.count();
    else if (anchor !== null) this.onAnchor();
    else if (this.limits.scalars === 'strings' && tag !== null && tag !== '?')
      throw new ParseFailure('tags', 'it has YAML tags');
  };

  private count(): void {
    this.values += 1;
    if (this.values > this.limits.valuesMax) throw tooManyValues(this.limits.valuesMax);
  }

  /** Without an anchor there is no alias. */
  private onAnchor(): void {
    if (this.limits.aliases === 'refused') throw new ParseFailure('aliases', 'it has YAML anchors or aliases');
    this.hasAnchors = true;
  }
}

/** Counts values with aliases expanded, and stops at the limits. */
const checkExpanded = (documents: readonly unknown[], { depthMax, valuesMax }: Required<YamlLimits>): void => {
  let values = 0;
  const visit = (value: unknown, depth: number): void => {
    values += 1;
    if (values > valuesMax) throw tooManyValues(valuesMax);
    if (typeof value !== 'object' || value === null) return;
    if (depth === depthMax) throw tooDeep(depthMax);
    for (const inner of Object.values(value)) visit(inner, depth + 1);
  };
  for (const document of documents) visit(document, 0);
};

const failureOf = (error: unknown, { depthMax }: Required<YamlLimits>): unknown => {
  if (!(error instanceof YAMLException)) return error;
  const { reason, mark } = error;
  if (reason.startsWith('nesting exceeded')) return tooDeep(depthMax);
  // Some errors have no mark.
  const at =
    (mark as typeof mark | undefined) === undefined ? '' : ` (line ${mark.line + 1}, column ${mark.column + 1})`;
  return malformed(`${reason}${at}`);
};

/**
 * Parses the documents of untrusted YAML 1.2, including JSON. Takes time in proportion to its length: keys are compared
 * by name, and nothing is built beyond the limits. No merge keys, dates or binary values; duplicate keys are rejected.
 * @throws ParseFailure
 */
export const parseYamlDocuments = (text: string, limits: YamlLimits): readonly unknown[] =>
  documentsOf(text, limits, undefined);

const documentsOf = (text: string, limits: YamlLimits, lines: LineTree | undefined): readonly unknown[] => {
  const all = { ...DEFAULTS, ...limits };
  if (text.length > all.lengthMax) throw tooLong(all.lengthMax);
  const counter = new Counter(all);
  const options = {
    schema: all.scalars === 'strings' ? FAILSAFE_SCHEMA : CORE_SCHEMA,
    // js-yaml counts a scalar, and a potential key, as levels.
    maxDepth: all.depthMax + 2,
    listener:
      lines === undefined
        ? counter.see
        : (event: 'open' | 'close', node: Node) => {
            counter.see(event, node);
            lines.see(event, node);
          },
  } as LoadOptions;
  try {
    const documents = loadAll(text, null, options);
    if (documents.length > DOCUMENTS_MAX)
      throw new ParseFailure('too-many-documents', `it has more than ${DOCUMENTS_MAX} documents`);
    if (counter.hasAnchors) checkExpanded(documents, all);
    else if (documents.some((one) => isDeeperThan(one, all.depthMax))) throw tooDeep(all.depthMax);
    return documents;
  } catch (error) {
    throw failureOf(error, all);
  }
};

/** A document, and the lines of its parts. */
export interface PlacedDocument {
  readonly value: unknown;
  /** The line of the value at a path, or of its nearest existing parent; counted from 1. */
  readonly lineOf: (path: readonly PropertyKey[]) => number;
}

/**
 * The same documents, with the lines of their parts.
 * @throws ParseFailure
 */
export const parsePlacedYaml = (text: string, limits: YamlLimits): readonly PlacedDocument[] => {
  const lines = new LineTree();
  return documentsOf(text, limits, lines).map((value, index) => {
    const root = lines.roots[index];
    return { value, lineOf: (path) => (root === undefined ? 1 : lineAt(root, path)) };
  });
};

/**
 * The value of a text with one document; null: it has none.
 * @throws ParseFailure
 */
export const parseYaml = (text: string, limits: YamlLimits): unknown => {
  const [first = null, ...others] = parseYamlDocuments(text, limits);
  if (others.length > 0) throw new ParseFailure('too-many-documents', 'it has more than one document');
  return first;
};

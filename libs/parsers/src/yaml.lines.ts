/** A node of a YAML text, with its first line, counted from 1. A value begins at its key. */
export interface LineNode {
  readonly line: number;
  readonly children: LineNode[];
  kind: unknown;
  result: unknown;
}

/** The argument of js-yaml's listener, beyond its published types. */
interface State {
  readonly line: number;
  readonly kind: unknown;
  readonly result: unknown;
}

/** Records where nodes begin while js-yaml parses a text. */
export class LineTree {
  /** One per document. */
  readonly roots: LineNode[] = [];
  private readonly path: LineNode[] = [];

  readonly see = (event: 'open' | 'close', { line, kind, result }: State): void => {
    if (event === 'open') {
      const node: LineNode = { line: line + 1, children: [], kind: null, result: null };
      (this.path.at(-1)?.children ?? this.roots).push(node);
      this.path.push(node);
      return;
    }
    const node = this.path.pop();
    if (node !== undefined) Object.assign(node, { kind, result });
  };
}

const childAt = ({ kind, children }: LineNode, part: PropertyKey): LineNode | undefined => {
  if (kind === 'sequence') return children[Number(part)];
  if (kind !== 'mapping') return undefined;
  const at = children.findIndex(({ result }, index) => index % 2 === 0 && String(result) === String(part));
  return at === -1 ? undefined : children[at + 1];
};

/** The line of the value at a path, or of its nearest existing parent. */
export const lineAt = (root: LineNode, path: readonly PropertyKey[]): number => {
  const [first, ...rest] = path;
  const child = first === undefined ? undefined : childAt(root, first);
  return child === undefined ? root.line : lineAt(child, rest);
};

import { parseYaml } from '@fairlead/parsers';
import { isCollection, isMap, isPair, isScalar, isSeq, parseDocument, type Document, type Node } from 'yaml';
import type { Schemas } from '@fairlead/api-client';

export type Manifest = Schemas['ClusterManifest'];
export type Path = readonly (string | number)[];

const YAML_LIMITS = { lengthMax: 256 * 1024 };

export interface Read {
  readonly manifest?: Manifest;
  readonly fault?: string;
}

/** A manifest as its text has it, or why it cannot be read. */
export const readManifest = (text: string): Read => {
  try {
    const value = parseYaml(text, YAML_LIMITS);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { fault: 'A manifest is a YAML mapping.' };
    return { manifest: value as Manifest };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
};

export const nameIn = ({ manifest }: Read): string => {
  const name: unknown = manifest?.metadata?.name;
  return typeof name === 'string' ? name : '';
};

/** The value at a place; undefined: there is none. */
export const valueAt = (value: unknown, [first, ...rest]: Path): unknown => {
  if (first === undefined) return value;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, first)) return undefined;
  return valueAt((value as Readonly<Record<string | number, unknown>>)[first], rest);
};

/** The text with another value at a place, everything else as it was written, comments too; undefined: without that place. */
export const withValue = (text: string, path: Path, value: unknown): string => {
  const document = parseDocument(text);
  if (value === undefined) deleteIn(document, path);
  else document.setIn(path, value);
  return document.toString({ lineWidth: 0 });
};

/** An object that is left empty goes, too; a list that is left empty stays, because some must be there. */
const deleteIn = (document: Document, path: Path): void => {
  if (document.getIn(path.slice(0, -1)) === undefined) return;
  document.deleteIn(path);
  const above = path.slice(0, -1);
  const rest = document.getIn(above);
  if (above.length > 1 && isMap(rest) && rest.items.length === 0) deleteIn(document, above);
};

/** `spec.pools[web].replicas` and `spec.pools[0].replicas` -> its parts. */
export const partsOf = (field: string): Path =>
  [...field.matchAll(/\[([^[\]]*)\]|[^.[\]]+/g)].map(([whole, inside]) =>
    inside === undefined ? whole : /^\d+$/.test(inside) ? Number(inside) : inside,
  );

export interface Span {
  readonly from: number;
  readonly to: number;
}

const childOf = (node: Node | null | undefined, part: string | number): { key?: Node; value?: Node } | undefined => {
  if (isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
    return pair === undefined ? undefined : { key: pair.key as Node, value: pair.value as Node };
  }
  if (!isSeq(node)) return undefined;
  const item =
    typeof part === 'number'
      ? node.items[part]
      : node.items.find((one) => isCollection(one) && isMap(one) && one.get('name') === part);
  return item === undefined || isPair(item) ? undefined : { value: item as Node };
};

const spanOf = (node: Node | undefined): Span | undefined =>
  node?.range === undefined || node.range === null ? undefined : { from: node.range[0], to: node.range[1] };

/** Where the text has a field, or the nearest thing above it. */
export const spanIn = (text: string, field: string): Span => {
  const document = parseDocument(text);
  let node: Node | null | undefined = document.contents;
  let span: Span = { from: 0, to: text.indexOf('\n') === -1 ? text.length : text.indexOf('\n') };
  for (const part of partsOf(field)) {
    const child = childOf(node, part);
    if (child === undefined) return span;
    span = spanOf(child.key) ?? spanOf(child.value) ?? span;
    node = child.value;
  }
  return span;
};

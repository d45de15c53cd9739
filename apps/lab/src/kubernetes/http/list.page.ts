import { badRequest, expired } from '../errors/api.error.js';
import { objectKey, type KubeObject } from '../objects/kube.object.js';
import { qualifiedName, type ResourceDefinition } from '../resources/resource.js';
import type { ObjectStore } from '../store/object.store.js';
import type { Selection } from './selection.js';

export interface Page {
  readonly version: number;
  readonly objects: readonly KubeObject[];
  readonly continueToken: string;
  readonly remaining: number | undefined;
}

interface Continuation {
  readonly version: number;
  readonly after: string;
}

const EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.';

/**
 * One page of a list in key order. Later pages show the state as of the first page's version; 410 if that is no longer
 * in the history.
 */
export const pageOf = (
  store: ObjectStore,
  resource: ResourceDefinition,
  { selection, query }: { readonly selection: Selection; readonly query: URLSearchParams },
): Page => {
  const limit = Number(query.get('limit') ?? 0);
  if (!Number.isInteger(limit) || limit < 0) throw badRequest(`invalid limit: ${query.get('limit')}`);
  const token = query.get('continue') ?? '';
  const from = token === '' ? undefined : parseToken(token);
  const version = from?.version ?? store.currentVersion();
  const all = (from === undefined ? store.list(resource) : listAt(store, resource, version))
    .filter(selection)
    .sort(byKey);
  const rest = from === undefined ? all : all.filter((object) => objectKey(object) > from.after);
  const objects = limit === 0 ? rest : rest.slice(0, limit);
  const last = objects.at(-1);
  const more = objects.length < rest.length && last !== undefined;
  return {
    version,
    objects,
    continueToken: more ? formatToken({ version, after: objectKey(last) }) : '',
    remaining: more ? rest.length - objects.length : undefined,
  };
};

/** The objects at an earlier version: the current ones with later changes reverted. */
const listAt = (store: ObjectStore, resource: ResourceDefinition, version: number): KubeObject[] => {
  const changes = store.changesAfter(version);
  if (changes === undefined) throw expired(EXPIRED);
  const objects = new Map(store.list(resource).map((object) => [objectKey(object), object]));
  for (const change of changes.toReversed()) {
    if (qualifiedName(change.resource) !== qualifiedName(resource)) continue;
    if (change.previous === undefined) objects.delete(objectKey(change.object));
    else objects.set(objectKey(change.previous), change.previous);
  }
  return [...objects.values()];
};

const byKey = (a: KubeObject, b: KubeObject): number => (objectKey(a) < objectKey(b) ? -1 : 1);

const formatToken = (continuation: Continuation): string =>
  Buffer.from(JSON.stringify(continuation)).toString('base64url');

const parseToken = (token: string): Continuation => {
  const match = /^\{"version":(\d+),"after":"([^"\\]*)"\}$/.exec(Buffer.from(token, 'base64url').toString('utf8'));
  if (match?.[1] === undefined) throw badRequest('continue key is not valid');
  return { version: Number(match[1]), after: match[2] ?? '' };
};

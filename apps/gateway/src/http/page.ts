import { LIST_LIMIT, refuse, type ListMeta, type ListQuery } from '@fairlead/contracts';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { isBelowLadybug } from './documented.js';
import type { HttpRequest } from './http.types.js';
import { RefusalError } from './refusal.error.js';

/*
 * Lists are answered in pages, as the Kubernetes API does it: at most `limit` items, and where more follow, a token in
 * `metadata.continue` that the next request carries. A token holds the sort key of the last item, so a page neither repeats nor
 * leaves out an item when others come and go between two requests, and a token never expires.
 */

/** Which items of a list were asked for. */
export interface PageRequest {
  /** Names the list: a token of one list is refused by another. */
  readonly list: string;
  /** Sort key of the last item that the caller has. */
  readonly after: string | undefined;
  /** Infinite below /ladybug, whose clients know no pages. */
  readonly limit: number;
}

export interface Page<Item> {
  readonly items: Item[];
  readonly metadata?: ListMeta;
}

/** The parameter says whether the caller gets the whole list. */
export const IsWhole = createParamDecorator((_data: unknown, context: ExecutionContext): boolean =>
  isBelowLadybug(context.switchToHttp().getRequest<HttpRequest>().path),
);

const tokenOf = (list: string, key: string): string => Buffer.from(JSON.stringify([list, key])).toString('base64url');

/** As ListQuery bounds it. */
const TOKEN_LENGTH_MAX = 1_024;

/** undefined: it is no token of this list. */
const keyIn = (token: string, list: string): string | undefined => {
  const text = Buffer.from(token, 'base64url').toString('utf8');
  const parsed = parseJsonOrUndefined(text, { lengthMax: TOKEN_LENGTH_MAX });
  if (!Array.isArray(parsed) || parsed.length !== 2 || parsed[0] !== list) return undefined;
  const key: unknown = parsed[1];
  return typeof key === 'string' ? key : undefined;
};

/** Refuses a token that this list did not give. */
export const pageRequest = (
  list: string,
  { limit = LIST_LIMIT.default, continue: token }: Pick<ListQuery, 'limit' | 'continue'>,
  isWhole: boolean,
): PageRequest => {
  if (isWhole) return { list, after: undefined, limit: Number.POSITIVE_INFINITY };
  if (token === undefined) return { list, after: undefined, limit };
  const after = keyIn(token, list);
  if (after === undefined) throw new RefusalError(refuse('list.continue-invalid', {}, 'continue'));
  return { list, after, limit };
};

/** Of items behind `after`, in the order of their keys, of which there may be more than the limit. */
export const cutPage = <Item>(
  { list, limit }: PageRequest,
  items: Item[],
  keyOf: (item: Item) => string,
): Page<Item> => {
  const last = items[limit - 1];
  if (last === undefined || items.length <= limit) return { items };
  return { items: items.slice(0, limit), metadata: { continue: tokenOf(list, keyOf(last)) } };
};

/** Of a list that is there as a whole. Keys are unique; `order` is that of the list. */
export const pageOf = <Item>(
  request: PageRequest,
  items: Item[],
  {
    keyOf,
    order = 'ascending',
  }: { readonly keyOf: (item: Item) => string; readonly order?: 'ascending' | 'descending' },
): Page<Item> => {
  if (request.limit === Number.POSITIVE_INFINITY) return { items };
  const { after } = request;
  const comesAfter = (key: string, other: string): boolean => (order === 'ascending' ? key > other : key < other);
  const keyed = items
    .map((item) => ({ item, key: keyOf(item) }))
    .filter(({ key }) => after === undefined || comesAfter(key, after))
    .toSorted((one, two) => (one.key === two.key ? 0 : comesAfter(one.key, two.key) ? 1 : -1));
  return cutPage(
    request,
    keyed.map(({ item }) => item),
    keyOf,
  );
};

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { pageOf, pageRequest } from './page.js';
import { RefusalError } from './refusal.error.js';

type Order = 'ascending' | 'descending';

/** What a caller gets that reads page after page; `between` changes the list after each. */
const readAll = (given: readonly string[], limit: number, order: Order, between = (list: string[]) => list) => {
  const seen: string[] = [];
  let list = [...given];
  let token: string | undefined;
  do {
    const request = pageRequest('names', { limit, ...(token === undefined ? {} : { continue: token }) }, false);
    const page = pageOf(request, list, { keyOf: (name) => name, order });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    seen.push(...page.items);
    token = page.metadata?.continue;
    list = between(list);
  } while (token !== undefined);
  return seen;
};

const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 30 });
const orders = fc.constantFrom<Order>('ascending', 'descending');

describe('the pages of a list', () => {
  it('are together the list, once each, in its order', () => {
    fc.assert(
      fc.property(names, fc.integer({ min: 1, max: 8 }), orders, (list, limit, order) => {
        const sorted = list.toSorted((one, two) => (one < two ? -1 : 1));
        expect(readAll(list, limit, order)).toEqual(order === 'ascending' ? sorted : sorted.toReversed());
      }),
    );
  });

  it('neither repeat nor leave out what stays, while other items come and go', () => {
    fc.assert(
      fc.property(names, names, fc.integer({ min: 1, max: 4 }), orders, (stay, others, limit, order) => {
        const passing = others.filter((name) => !stay.includes(name));
        let isThere = false;
        const seen = readAll(stay, limit, order, () => [...stay, ...((isThere = !isThere) ? passing : [])]);
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen).toEqual(expect.arrayContaining(stay));
      }),
    );
  });

  it('end without a token, also where the last one is full', () => {
    const page = pageOf(pageRequest('names', { limit: 2 }, false), ['b', 'a'], { keyOf: (name) => name });
    expect(page).toEqual({ items: ['a', 'b'] });
  });

  it.each([
    '',
    'x',
    'bnVsbA',
    Buffer.from('["other","a"]').toString('base64url'),
    Buffer.from('["names",1]').toString('base64url'),
  ])('are refused for the token %j, which is of no such list', (token) => {
    expect(() => pageRequest('names', { continue: token }, false)).toThrow(RefusalError);
  });
});

import { describe, expect, it } from '@jest/globals';
import type { NodeConnection } from './connections.ports.js';
import { OpenConnections } from './open.connections.js';

const LIMITS = { perUser: 2, accountMin: 8, accountMax: 100, rememberedMs: 1_000 };
const connection = (user: string, id: number): NodeConnection => ({
  server: 's',
  id,
  user,
  node: `default/demo/${user}`,
});
const idsOf = (connections: readonly NodeConnection[]): readonly number[] => connections.map(({ id }) => id);

const withOpen = (...opened: readonly (readonly [string, number])[]): OpenConnections => {
  const open = new OpenConnections(LIMITS);
  for (const [user, id] of opened) open.take({ kind: 'opened', connection: connection(user, id) }, 0);
  return open;
};
const openOne = (open: OpenConnections, user: string, id: number): readonly number[] =>
  idsOf(open.take({ kind: 'opened', connection: connection(user, id) }, 0));
const closeOne = (open: OpenConnections, id: number): readonly NodeConnection[] =>
  open.take({ kind: 'closed', connection: { server: 's', id } }, 0);

describe('the connections of nodes', () => {
  it('are closed beyond the limit of their user, the oldest first, and each once', () => {
    const open = withOpen(['w1', 1], ['w1', 2], ['w2', 3]);
    expect(openOne(open, 'w1', 4)).toEqual([1]);
    expect(openOne(open, 'w1', 5)).toEqual([2]);
    expect(openOne(open, 'w2', 6)).toEqual([]);
    expect([open.count, open.mostOfOneUser]).toEqual([4, 2]);
  });

  it('make room when they close, whether or not the server reported that they were opened', () => {
    const open = withOpen(['w1', 1], ['w1', 2]);
    expect(closeOne(open, 1)).toEqual([]);
    expect(closeOne(open, 99)).toEqual([]);
    expect(openOne(open, 'w1', 3)).toEqual([]);
    expect(open.count).toBe(2);
  });

  it('are those of a list after it, of which the surplus is closed, too', () => {
    const open = withOpen(['w1', 1], ['w1', 2]);
    const listed = [connection('w2', 6), connection('w2', 5), connection('w2', 4), connection('w1', 2)];
    expect(idsOf(open.replace(listed, 0))).toEqual([4]);
    expect(open.count).toBe(3);
    expect(openOne(open, 'w1', 7)).toEqual([]);
  });

  it('let the account have twice as many as its users may have, in steps, with a bound of its own', () => {
    const needed = (users: number): number =>
      withOpen(...Array.from({ length: users }, (_, at) => [`w${at}`, at] as const)).needed;
    expect([0, 2, 3, 8, 9, 1_000].map(needed)).toEqual([8, 8, 16, 32, 64, 100]);
  });

  it('count for the account until their user has been gone for long', () => {
    const open = withOpen(['w1', 1], ['w2', 2], ['w3', 3]);
    for (const id of [1, 2, 3]) closeOne(open, id);
    open.forget(1_000);
    expect(open.needed).toBe(16);
    open.forget(1_001);
    expect(open.needed).toBe(8);
  });
});

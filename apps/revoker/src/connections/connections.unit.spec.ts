import { describe, expect, it } from '@jest/globals';
import { ConnectionGuard } from './connections.effects.js';
import type { AccountConnections, ConnectionReport, NodeConnection } from './connections.ports.js';

const LIMITS = { perUser: 2, accountMin: 8, accountMax: 1_000, rememberedMs: 60_000 };
const connection = (user: string, id: number): NodeConnection => ({
  server: 's',
  id,
  user,
  node: `default/demo/${user}`,
});
const ofUsers = (count: number): readonly NodeConnection[] =>
  Array.from({ length: count }, (_, at) => connection(`w${at}`, at));

/** A guard whose server answers with this list, once it is asked to. */
const guardOf = (listed: readonly NodeConnection[]) => {
  const closed: number[] = [];
  const said: string[] = [];
  let nowMs = 0;
  let report: (report: ConnectionReport) => void = () => undefined;
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const connections: AccountConnections = {
    list: async () => (await answered, listed),
    follow: (onReport) => {
      report = onReport;
    },
    close: ({ id }) => void closed.push(id),
  };
  let needChanges = 0;
  const guard = new ConnectionGuard({
    connections,
    limits: LIMITS,
    now: () => new Date(nowMs),
    isUp: () => true,
    say: (_, sentence) => void said.push(sentence),
    onNeedChanged: () => (needChanges += 1),
  });
  guard.start();
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    guard,
    closed,
    said,
    needChanges: () => needChanges,
    open: (user: string, id: number) => report({ kind: 'opened', connection: connection(user, id) }),
    close: (id: number) => report({ kind: 'closed', connection: { server: 's', id } }),
    answer: async () => (answer(), settle()),
    later: (ms: number) => (nowMs += ms),
  };
};

describe('the guard of connections', () => {
  it('closes the surplus of a user, and reports its node once a minute', async () => {
    const { guard, closed, said, open, answer, later } = guardOf([]);
    await answer();
    for (let id = 1; id <= 5; id += 1) open('w1', id);
    expect(closed).toEqual([1, 2, 3]);
    expect(said).toEqual(['node default/demo/w1 has more than 2 connections to NATS; the oldest are closed']);
    later(60_001);
    open('w1', 6);
    expect(said).toHaveLength(2);
    expect(guard.counts).toEqual({ open: 2, mostOfOneUser: 2, closed: 4 });
    guard.stop();
  });

  it('misses nothing that opens or closes while it makes its list', async () => {
    const { guard, closed, open, close, answer } = guardOf([connection('w1', 1), connection('w1', 2)]);
    open('w1', 3);
    close(2);
    await answer();
    expect([closed, guard.counts.open]).toEqual([[], 2]);
    open('w1', 4);
    expect(closed).toEqual([1]);
    guard.stop();
  });

  it('leaves the limit of the account as it is until it knows the connections, also without one', async () => {
    const { guard, answer } = guardOf(ofUsers(100));
    expect([guard.accountLimit(64), guard.accountLimit(undefined)]).toEqual([64, 1_000]);
    await answer();
    expect([guard.accountLimit(64), guard.accountLimit(undefined)]).toEqual([512, 512]);
    guard.stop();
  });

  it('raises the limit with the nodes, and lowers it only after each of them must have connected', async () => {
    const { guard, needChanges, open, answer, later } = guardOf(ofUsers(1));
    await answer();
    expect([guard.accountLimit(8), needChanges()]).toEqual([8, 1]);
    for (let id = 1; id <= 20; id += 1) open(`n${id}`, id + 100);
    expect([guard.accountLimit(8), needChanges()]).toEqual([128, 5]);
    // NATS has started again, and no node has connected yet.
    expect(guard.accountLimit(512)).toBe(512);
    later(60_001);
    expect(guard.accountLimit(512)).toBe(128);
    guard.stop();
  });
});

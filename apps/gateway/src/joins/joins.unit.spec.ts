import { isRefusal, type ClusterUid, type ConnectionName, type EventData, type StoredEvent } from '@fairlead/contracts';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { admittedBy, joins, type Joins, type JoinsCommand } from './joins.decider.js';

const UID = '7b0f6a3e-4c1d-4e9a-9a55-0c8f7b2d6e10' as ClusterUid;
const EDGE = 'edge' as ConnectionName;
const FACTS = {
  ...{ hostname: 'shed-1', machineId: '5a1c0e9f4b7d4d5e8a0f3c2b1d6e7f80', address: '192.168.1.20' },
  ...{ architecture: 'amd64' as const, cpus: 4, memoryMiB: 8192 },
};
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 31) + seconds * 1_000).toISOString();
const userOf = (letter: string): string => `U${letter.repeat(55)}`;

let seq = 0;
const stored = (type: string, data: object, seconds: number): StoredEvent =>
  ({ type, data, meta: { seq: (seq += 1), time: at(seconds) } }) as unknown as StoredEvent;
const requested = (uid: ClusterUid = UID): StoredEvent => stored('ClusterRequested', { uid }, 0);
const from = (...events: readonly StoredEvent[]): Joins | undefined => events.reduce(joins.evolve, joins.initial);

/** Decides, and folds what was decided. */
const decide = (state: Joins | undefined, command: JoinsCommand, seconds: number) => {
  const decided = joins.decide(state, command);
  if (isRefusal(decided)) return { state, refused: decided.code, facts: [] };
  const after = decided.map(({ type, data }) => stored(type, data, seconds)).reduce(joins.evolve, state);
  return { state: after, refused: undefined, facts: decided };
};
const issue = (token: string, secret: string, seconds: number, ttl = 60): JoinsCommand => {
  const data = {
    uid: UID,
    pool: 'web',
    connection: EDGE,
    admission: token,
    sha256: sha256(secret),
    expiresAt: at(seconds + ttl),
  };
  return { type: 'IssueToken', data: { ...data, now: at(seconds) } };
};
const present = (token: string, secret: string, user: string, seconds: number): JoinsCommand => ({
  type: 'AdmitHost',
  data: { cluster: 'shop', token, sha256: sha256(secret), user, facts: FACTS, now: at(seconds) },
});

const TOKEN = '0a1b2c3d4e5f';

describe('a join token', () => {
  it('admits the first host that presents it, to its pool, and the same host again', () => {
    const issued = decide(from(requested()), issue(TOKEN, 'secret', 0), 0).state;
    const admitted = decide(issued, present(TOKEN, 'secret', userOf('A'), 10), 10);
    expect(admitted.facts).toMatchObject([{ type: 'HostAdmitted', data: { pool: 'web', hostId: `host-${TOKEN}` } }]);
    expect(admittedBy(admitted.state, TOKEN)).toMatchObject({ pool: 'web', connection: 'edge', user: userOf('A') });
    expect(decide(admitted.state, present(TOKEN, 'secret', userOf('A'), 999), 999)).toMatchObject({ facts: [] });
  });

  it.each([
    ['is used by another host', present(TOKEN, 'secret', userOf('B'), 20)],
    ['has another secret', present(TOKEN, 'guess', userOf('A'), 20)],
    ['is unknown', present('ffffffffffff', 'secret', userOf('A'), 20)],
  ])('admits no host when it %s', (_words, command) => {
    const issued = decide(from(requested()), issue(TOKEN, 'secret', 0), 0).state;
    const used = decide(issued, present(TOKEN, 'secret', userOf('A'), 10), 10).state;
    expect(decide(used, command, 20).refused).toBe('join.token-refused');
  });

  it('admits no host once it has expired, once its cluster is deleted, and in a later cluster of that name', () => {
    const issued = decide(from(requested()), issue(TOKEN, 'secret', 0), 0).state;
    const late = present(TOKEN, 'secret', userOf('A'), 60);
    const inTime = present(TOKEN, 'secret', userOf('A'), 10);
    const deleting = joins.evolve(issued, stored('ClusterDeletionRequested', { uid: UID }, 5));
    const other = '11111111-4c1d-4e9a-9a55-0c8f7b2d6e10' as ClusterUid;
    const again = joins.evolve(deleting, requested(other));
    expect(decide(issued, late, 60).refused).toBe('join.token-refused');
    expect(decide(deleting, inTime, 10).refused).toBe('join.token-refused');
    expect(decide(again, inTime, 10).refused).toBe('join.token-refused');
  });

  it('does not bring a host back whose node has left', () => {
    const issued = decide(from(requested()), issue(TOKEN, 'secret', 0), 0).state;
    const used = decide(issued, present(TOKEN, 'secret', userOf('A'), 10), 10).state;
    const machines = [{ name: 'shop-w-1', adopts: { id: `host-${TOKEN}`, group: 'g' } }];
    const planned = joins.evolve(used, stored('VmsPlanned', { uid: UID, machines }, 11));
    const left = joins.evolve(planned, stored('NodeRemoved', { uid: UID, node: 'shop-w-1' }, 12));
    expect(decide(planned, present(TOKEN, 'secret', userOf('A'), 13), 13).refused).toBeUndefined();
    expect(decide(left, present(TOKEN, 'secret', userOf('A'), 13), 13).refused).toBe('join.token-refused');
  });

  it('is not issued beyond a hundred that are open, and expired ones do not count', () => {
    let state = from(requested());
    const id = (index: number): string => index.toString(16).padStart(12, '0');
    for (let index = 0; index < 100; index += 1) state = decide(state, issue(id(index), `s${index}`, 0), 0).state;
    expect(decide(state, issue(id(100), 'more', 30), 30).refused).toBe('join.tokens-many');
    expect(decide(state, issue(id(100), 'more', 61), 61).refused).toBeUndefined();
  });
});

describe('any sequence of tokens, presentations, replays, expiries and deletions', () => {
  /** What was issued, kept beside the decider: whom it may admit at most. */
  interface Issued {
    readonly secret: string;
    readonly pool: string;
    readonly expiresAt: number;
    admitted: string | undefined;
  }

  const course = (seed: number): void => {
    const random = seededRandom(seed);
    const below = (count: number): number => Math.floor(random() * count);
    const issuedBy = new Map<string, Issued>();
    let state = from(requested());
    let now = 0;
    let isThere = true;
    for (let step = 0; step < 60; step += 1) {
      now += below(20);
      const id = below(6).toString(16).padStart(12, '0');
      const known = issuedBy.get(id);
      const roll = below(20);
      if (roll === 0) {
        state = joins.evolve(state, stored('ClusterDeletionRequested', { uid: UID }, now));
        isThere = false;
      } else if (roll < 6) {
        const secret = `secret-${seed}-${step}`;
        const outcome = decide(state, issue(id, secret, now, 30), now);
        ({ state } = outcome);
        if (outcome.facts.length > 0)
          issuedBy.set(id, { secret, pool: 'web', expiresAt: now + 30, admitted: undefined });
      } else {
        const secret = random() < 0.7 ? (known?.secret ?? 'none') : `guess-${step}`;
        const user = userOf('ABCD'[below(4)] ?? 'A');
        const outcome = decide(state, present(id, secret, user, now), now);
        const isUsedElsewhere = [...issuedBy].some(([other, { admitted }]) => other !== id && admitted === user);
        const isRight = isThere && known !== undefined && secret === known.secret;
        const may =
          isRight &&
          (known.admitted === undefined ? now < known.expiresAt && !isUsedElsewhere : known.admitted === user);
        expect({ step, now, refused: outcome.refused === undefined }).toEqual({ step, now, refused: may });
        ({ state } = outcome);
        const [fact] = outcome.facts;
        if (fact === undefined) continue;
        const { user: admitted, pool } = fact.data as EventData<'HostAdmitted'>;
        expect({ admitted, pool, before: known?.admitted }).toEqual({
          admitted: user,
          pool: known?.pool,
          before: undefined,
        });
        if (known !== undefined) known.admitted = user;
      }
    }
  };

  it('admits for each token one host at most, in its time, to its pool: three hundred courses', () => {
    for (let seed = 1; seed <= 300; seed += 1) course(seed);
  });
});

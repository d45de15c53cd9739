import {
  bootstrapKeysOwner,
  isRefusal,
  type ClusterUid,
  type ConnectionName,
  type EventData,
  type SecretRef,
  type StoredEvent,
} from '@fairlead/contracts';
import { poolToken, proofOf, type PoolTokenProof } from '@fairlead/service-kit';
import { MemorySecrets, seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { BootstrapDataEffects } from './bootstrap.effects.js';
import { bootstrapDataReconciler, type DestroyKeysTask } from './bootstrap.reconciler.js';
import { hostIdOfKey } from './bootstrap.tokens.js';
import { joins, type Joins, type JoinsCommand } from './joins.decider.js';

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
    expect(admitted.state?.hosts[`host-${TOKEN}`]).toMatchObject({
      pool: 'web',
      connection: 'edge',
      user: userOf('A'),
    });
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

const declared = (
  pools: readonly {
    name: string;
    connection?: string;
    machineType?: string;
    bootstrap?: object;
    hostSelector?: object;
  }[],
  seconds = 0,
): StoredEvent =>
  stored(
    'ClusterSpecChanged',
    { uid: UID, spec: { pools: pools.map((pool) => ({ connection: EDGE, machineType: 'join.any', ...pool })) } },
    seconds,
  );
const KEY_REF = `gateway.bootstrap.${TOKEN}` as SecretRef;
const generate = (pool = 'web', admission = TOKEN): JoinsCommand => ({
  type: 'GenerateBootstrapData',
  data: { uid: UID, pool, admission, keyRef: KEY_REF },
});
const presentOfPool = (user: string, proof: PoolTokenProof = 'valid', token = TOKEN): JoinsCommand => ({
  type: 'AdmitHostToPool',
  data: { cluster: 'shop', token, hostId: hostIdOfKey(token, user), proof, user, facts: FACTS },
});
const withData = (): Joins | undefined => decide(from(requested(), declared([{ name: 'web' }])), generate(), 1).state;

describe('the bootstrap data of a pool', () => {
  const desired = (...events: readonly StoredEvent[]): readonly string[] => {
    const { decider, tasks } = bootstrapDataReconciler;
    return tasks(events.reduce(decider.evolve, decider.initial), at(9)).map(({ key }) => key);
  };
  const generated = stored(
    'BootstrapDataGenerated',
    {
      ...{ uid: UID, pool: 'web', connection: EDGE, admission: TOKEN, keyRef: KEY_REF },
    },
    2,
  );

  it('are generated once, as soon as a pool is declared whose hosts join by themselves, and for no other pool', () => {
    const pools = declared([{ name: 'web' }, { name: 'base', machineType: 'lab.medium' }]);
    expect(desired(requested())).toEqual([]);
    expect(desired(requested(), pools)).toEqual(['GenerateBootstrapData/web']);
    expect(desired(requested(), pools, generated)).toEqual([]);
    expect(desired(requested(), pools, generated, declared([{ name: 'web' }]))).toEqual([]);
    expect(desired(requested(), pools, stored('ClusterDeletionRequested', { uid: UID }, 3))).toEqual([]);
  });

  it('are generated again for a pool that was removed and declared once more, and for another connection', () => {
    const web = declared([{ name: 'web' }]);
    expect(desired(requested(), web, generated, declared([]), web)).toEqual(['GenerateBootstrapData/web']);
    expect(desired(requested(), web, generated, declared([{ name: 'web', connection: 'far' }]))).toEqual([
      'GenerateBootstrapData/web',
    ]);
  });

  const keysAfter = async (...events: readonly StoredEvent[]) => {
    const { decider, followUps } = bootstrapDataReconciler;
    const secrets = new MemorySecrets();
    const history = { bootstrapData: async () => [TOKEN] };
    const effects = new BootstrapDataEffects((() => Promise.reject(new Error('not used'))) as never, secrets, history);
    await secrets.put(KEY_REF, 'key', bootstrapKeysOwner(UID));
    await secrets.put('gateway.bootstrap.of-another', 'key', bootstrapKeysOwner('another' as ClusterUid));
    let state = decider.initial;
    for (const event of events) {
      state = decider.evolve(state, event);
      for (const { data } of followUps?.(state, { event, now: at(9) }) ?? [])
        await effects.destroy({ namespace: 'default', cluster: 'shop', data: data as DestroyKeysTask } as never);
    }
    return [...secrets.values.keys()];
  };

  it('lose the key of their tokens with their pool and with their cluster, and with nothing else', async () => {
    const both = [KEY_REF, 'gateway.bootstrap.of-another'];
    const web = declared([{ name: 'web' }]);
    const deleting = stored('ClusterDeletionRequested', { uid: UID }, 3);
    expect(await keysAfter(requested(), web, generated, web)).toEqual(both);
    expect(await keysAfter(requested(), web, generated, declared([]))).toEqual(both.slice(1));
    expect(await keysAfter(requested(), web, generated, deleting)).toEqual(both);
    const deleted = stored('ClusterDeleted', { uid: UID }, 4);
    expect(await keysAfter(requested(), web, generated, deleting, deleted)).toEqual(both.slice(1));
  });

  it('are recorded once, however often they are generated, and not for a pool that is gone', () => {
    const state = from(requested(), declared([{ name: 'web' }]));
    const first = decide(state, generate(), 1);
    expect(first.facts).toMatchObject([{ type: 'BootstrapDataGenerated', data: { pool: 'web', connection: 'edge' } }]);
    expect(decide(first.state, generate('web', 'ffffffffffff'), 2).facts).toEqual([]);
    expect(decide(state, generate('gone'), 1).facts).toEqual([]);
  });
});

describe('a token of a pool', () => {
  it('admits any number of hosts while it is valid, each once', () => {
    const first = decide(withData(), presentOfPool(userOf('A')), 2);
    const second = decide(first.state, presentOfPool(userOf('B')), 3);
    const facts = [...first.facts, ...second.facts];
    expect(facts).toMatchObject([
      { type: 'HostAdmitted', data: { pool: 'web', admission: TOKEN, user: userOf('A') } },
      { type: 'HostAdmitted', data: { pool: 'web', admission: TOKEN, user: userOf('B') } },
    ]);
    expect(new Set(facts.map(({ data }) => (data as EventData<'HostAdmitted'>).hostId)).size).toBe(2);
    expect(decide(second.state, presentOfPool(userOf('A')), 4).facts).toEqual([]);
  });

  it('admits no new host once it has expired, and a host that it has admitted may ask on', () => {
    const { state } = decide(withData(), presentOfPool(userOf('A')), 2);
    expect(decide(state, presentOfPool(userOf('B'), 'expired'), 3).refused).toBe('join.token-refused');
    expect(decide(state, presentOfPool(userOf('A'), 'expired'), 3)).toMatchObject({ refused: undefined, facts: [] });
    expect(decide(state, presentOfPool(userOf('A'), 'forged'), 3).refused).toBe('join.token-refused');
  });

  it('admits no host once its pool is removed, and once its cluster is deleted', () => {
    const removed = joins.evolve(withData(), declared([], 3));
    const deleted = joins.evolve(withData(), stored('ClusterDeletionRequested', { uid: UID }, 3));
    expect(decide(removed, presentOfPool(userOf('A')), 4).refused).toBe('join.token-refused');
    expect(decide(deleted, presentOfPool(userOf('A')), 4).refused).toBe('join.token-refused');
  });

  it('admits at most a hundred hosts that are no nodes yet', () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    const users = letters.flatMap((one) => letters.slice(0, 4).map((other) => `U${one.repeat(54)}${other}`));
    let state = withData();
    for (const user of users.slice(0, 100)) ({ state } = decide(state, presentOfPool(user), 2));
    expect(decide(state, presentOfPool(users[100] ?? ''), 3).refused).toBe('join.tokens-many');
    const hostId = hostIdOfKey(TOKEN, users[0] ?? '');
    const machines = [{ name: 'shop-w-1', adopts: { id: hostId, group: 'g' } }];
    const planned = joins.evolve(state, stored('VmsPlanned', { uid: UID, machines }, 4));
    expect(decide(planned, presentOfPool(users[100] ?? ''), 5).refused).toBeUndefined();
  });

  const MINUTE_MS = 60_000;
  const proofAfter = (minutes: number, token = poolToken('key', TOKEN, 0)): PoolTokenProof =>
    proofOf('key', { admission: TOKEN, text: token, nowMs: minutes * MINUTE_MS });

  it('rotates while the pool exists: it is another one every 7.5 minutes, and each expires after 15 [Cluster API 20]', () => {
    const tokens = [0, 1, 2, 3].map((window) => poolToken('key', TOKEN, window));
    expect(new Set(tokens).size).toBe(4);
    expect([0, 7, 14.9, 15, 60, 24 * 60].map((minutes) => proofAfter(minutes))).toEqual([
      ...['valid', 'valid', 'valid'],
      ...['expired', 'expired', 'expired'],
    ]);
  });

  it('is forged when it is of another pool, another key or a later time, or is recognised no longer', () => {
    expect(proofAfter(1, poolToken('other', TOKEN, 0))).toBe('forged');
    expect(proofAfter(1, poolToken('key', 'ffffffffffff', 0))).toBe('forged');
    expect(proofAfter(1, poolToken('key', TOKEN, 1))).toBe('forged');
    expect(proofAfter(48 * 60)).toBe('forged');
  });
});

describe('a machine that was made with the bootstrap data of its pool', () => {
  const boots = { name: 'web', connection: 'lab', machineType: 'lab.medium', bootstrap: { by: 'userData' } };
  const machine = (id: string, name: string, more: object = {}): StoredEvent =>
    stored(
      'VmCreated',
      { uid: UID, machine: { name, pool: 'web', providerId: `lab://${id}`, reach: 'agent', ...more } },
      3,
    );
  const made = (...events: readonly StoredEvent[]): Joins | undefined =>
    events.reduce(joins.evolve, decide(from(requested(), declared([boots])), generate(), 1).state);
  const ask = (user: string, instanceId: string | undefined, proof: PoolTokenProof = 'valid'): JoinsCommand => ({
    type: 'AdmitHostToPool',
    data: {
      ...{ cluster: 'shop', token: TOKEN, hostId: hostIdOfKey(TOKEN, user), proof, user },
      facts: instanceId === undefined ? FACTS : { ...FACTS, instanceId },
    },
  });

  it('is admitted by its token and the word of its provider, as the node that it was made for', () => {
    const state = made(machine('i-1', 'shop-w-1'));
    const admitted = decide(state, ask(userOf('A'), 'i-1'), 4);
    expect(admitted.facts).toMatchObject([{ type: 'HostAdmitted', data: { machine: 'i-1', pool: 'web' } }]);
    expect(Object.values(admitted.state?.hosts ?? {})).toMatchObject([{ node: 'shop-w-1', machine: 'i-1' }]);
    expect(decide(admitted.state, ask(userOf('A'), 'i-1'), 5)).toMatchObject({ facts: [], refused: undefined });
  });

  it('waits while its provider has not reported it, and no other host is let in', () => {
    for (const instanceId of ['i-1', undefined])
      expect(decide(made(), ask(userOf('A'), instanceId), 4).refused).toBe('join.machine-unknown');
    const others = made(machine('i-1', 'shop-w-1', { pool: 'base' }), machine('i-2', 'shop-w-2', { reach: undefined }));
    expect(decide(others, ask(userOf('A'), 'i-1'), 4).refused).toBe('join.machine-unknown');
    expect(decide(others, ask(userOf('A'), 'i-2'), 4).refused).toBe('join.machine-unknown');
  });

  it('is admitted once: neither another key nor a second machine with its key gets in', () => {
    const { state } = decide(made(machine('i-1', 'shop-w-1'), machine('i-2', 'shop-w-2')), ask(userOf('A'), 'i-1'), 4);
    expect(decide(state, ask(userOf('B'), 'i-1'), 5).refused).toBe('join.token-refused');
    expect(decide(state, ask(userOf('B'), 'i-2'), 5).facts).toHaveLength(1);
  });

  it('is admitted with a token that has expired, which is recorded, and never with a forged one [Cluster API 20]', () => {
    const state = made(machine('i-1', 'shop-w-1'));
    expect(decide(state, ask(userOf('A'), 'i-1', 'expired'), 4).facts).toMatchObject([{ data: { late: true } }]);
    expect(decide(state, ask(userOf('A'), 'i-1', 'forged'), 4).refused).toBe('join.token-refused');
  });

  it('is not admitted once it is deleted', () => {
    const gone = made(machine('i-1', 'shop-w-1'), stored('VmDeleted', { uid: UID, name: 'shop-w-1' }, 4));
    expect(decide(gone, ask(userOf('A'), 'i-1'), 5).refused).toBe('join.machine-unknown');
  });
});

describe('a host that is registered before its pool', () => {
  const issueForHost = (token: string, labels = { site: 'shed' }, seconds = 0): JoinsCommand => ({
    type: 'IssueHostToken',
    data: {
      ...{ uid: UID, admission: token, labels, sha256: sha256('secret'), expiresAt: at(seconds + 60) },
      now: at(seconds),
    },
  });
  const ask = (user = userOf('A'), seconds = 10): JoinsCommand => present(TOKEN, 'secret', user, seconds);
  const HOST = `host-${TOKEN}`;
  const shed = { name: 'shed', hostSelector: { matchLabels: { site: 'shed' } } };
  const registered = () => decide(decide(from(requested()), issueForHost(TOKEN), 0).state, ask(), 10);

  it('waits without an owner, and becomes a host of the first pool that selects it, also after its token has expired', () => {
    const { state, facts } = registered();
    expect(facts).toMatchObject([{ type: 'HostRegistered', data: { hostId: HOST, labels: { site: 'shed' } } }]);
    expect(decide(state, ask(), 999)).toMatchObject({ refused: undefined, facts: [] });
    const others = joins.evolve(state, declared([{ name: 'web' }, { ...shed, name: 'far', hostSelector: far }]));
    expect(decide(others, ask(), 999)).toMatchObject({ refused: undefined, facts: [] });
    const claimed = decide(joins.evolve(others, declared([{ name: 'web' }, shed])), ask(), 999);
    expect(claimed.facts).toEqual([
      {
        type: 'HostAdmitted',
        data: {
          ...{ uid: UID, pool: 'shed', connection: 'edge', admission: TOKEN, hostId: HOST },
          ...{ user: userOf('A'), facts: FACTS },
        },
      },
    ]);
    expect(claimed.state).toMatchObject({ registered: {}, hosts: { [HOST]: { pool: 'shed', connection: 'edge' } } });
    expect(decide(claimed.state, ask(), 1_000)).toMatchObject({ refused: undefined, facts: [] });
  });
  const far = { matchLabels: { site: 'shed', rack: '2' } };

  it('is claimed at once where its pool is declared already', () => {
    const issued = decide(from(requested(), declared([shed])), issueForHost(TOKEN), 0).state;
    expect(decide(issued, ask(), 10).facts.map(({ type }) => type)).toEqual(['HostRegistered', 'HostAdmitted']);
  });

  it('keeps its key: no other host registers or is claimed by its token, and its key is good for no second token', () => {
    const { state } = registered();
    const pooled = joins.evolve(state, declared([shed]));
    expect(decide(state, ask(userOf('B')), 11).refused).toBe('join.token-refused');
    expect(decide(pooled, ask(userOf('B')), 11).refused).toBe('join.token-refused');
    const second = decide(state, issueForHost('ffffffffffff'), 11).state;
    expect(decide(second, present('ffffffffffff', 'secret', userOf('A'), 12), 12).refused).toBe('join.token-refused');
  });

  it('is not registered with a token that has expired, nor of a cluster that is being deleted', () => {
    const issued = decide(from(requested()), issueForHost(TOKEN), 0).state;
    expect(decide(issued, ask(userOf('A'), 60), 60).refused).toBe('join.token-refused');
    const deleting = joins.evolve(registered().state, stored('ClusterDeletionRequested', { uid: UID }, 11));
    expect(decide(deleting, ask(), 12).refused).toBe('join.token-refused');
  });

  it('is forgotten with its token when it is removed, and can be removed only while it waits', () => {
    const remove: JoinsCommand = { type: 'UnregisterHost', data: { uid: UID, cluster: 'shop', hostId: HOST } };
    const removed = decide(registered().state, remove, 11);
    expect(removed.facts).toEqual([{ type: 'HostUnregistered', data: { uid: UID, hostId: HOST } }]);
    expect(decide(joins.evolve(removed.state, declared([shed])), ask(), 12).refused).toBe('join.token-refused');
    expect(decide(removed.state, remove, 12).refused).toBe('join.host-unknown');
    const claimed = decide(joins.evolve(registered().state, declared([shed])), ask(), 12).state;
    expect(decide(claimed, remove, 13).refused).toBe('join.host-unknown');
  });

  it('takes the place of an unused token as long as it waits', () => {
    let { state } = registered();
    const id = (index: number): string => index.toString(16).padStart(12, '0');
    for (let index = 0; index < 99; index += 1) ({ state } = decide(state, issueForHost(id(index)), 20));
    expect(decide(state, issueForHost(id(99)), 20).refused).toBe('join.tokens-many');
    const claimed = decide(joins.evolve(state, declared([shed])), ask(), 21).state;
    expect(decide(claimed, issueForHost(id(99)), 22).refused).toBeUndefined();
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

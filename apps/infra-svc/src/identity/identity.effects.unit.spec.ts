import type { ClusterUid, Namespace, RealmName, StoredEvent } from '@fairlead/contracts';
import { NO_PUBLICATION } from '@fairlead/domain';
import type { Handle } from '@fairlead/event-sourcing/jetstream';
import { describe, expect, it } from '@jest/globals';
import { FakeRealm } from '../../test/fake.realm.js';
import { MemorySecrets } from '../../test/memory.service.js';
import { readSettings } from '../config.js';
import { RealmLooks } from '../realms/looks.effects.js';
import { RealmFailure, type IdentityProvider } from '../realms/realm.ports.js';
import type { KnownRealm, RegisteredRealms } from '../realms/realms.effects.js';
import { identity, type IdentityCommand, type IdentityFact } from './identity.decider.js';
import { AGAIN_MS, IdentityEffects, type IdentityTask } from './identity.effects.js';
import { CLIENT, realm } from './identity.fixtures.js';
import { ABSENT, type Identity, type PresentIdentity } from './identity.state.js';

const GOES_ON_WITHIN_MS = 15_000;

const company: KnownRealm = {
  ...realm('company').data,
  namespace: 'default' as Namespace,
  name: 'company' as RealmName,
  registration: 'r1',
  since: 1,
};
const realms = { of: async () => [company], one: async () => company } as unknown as RegisteredRealms;
const handle = (async () => ({ state: {}, seq: 1, events: [] })) as unknown as Handle;

const waiting = (uid: string): PresentIdentity => ({
  stage: 'accepted',
  uid: uid as ClusterUid,
  selection: { realm: null, groupsClaim: 'groups' },
  declared: { realm: null, groupsClaim: 'groups' },
  publication: NO_PUBLICATION,
  identity: { held: {} },
});

/**
 * A task of a waiting cluster, with the fields that its handler reads. `later`: the cluster when the task records
 * something.
 */
const taskOf = (uid: string, later: Identity = waiting(uid)): IdentityTask =>
  ({
    namespace: 'default',
    cluster: 'demo',
    key: 'EnsureIdentity',
    state: waiting(uid),
    signal: new AbortController().signal,
    cause: { actor: 'system/infra-svc', correlationId: 'c', causationId: 'c' },
    othersAtWork: async () => [],
    record: async (command: IdentityCommand) => {
      const facts = [identity.decide(later, command)].flat() as readonly IdentityFact[];
      return facts.reduce((state, fact) => identity.evolve(state, { ...fact, meta: {} } as StoredEvent), later);
    },
    requeueAfter: (delayMs: number, reason: string) => ({ kind: 'requeue', delayMs, reason }),
  }) as unknown as IdentityTask;

const looksAt = async (open: IdentityProvider['open'], realmTimeoutMs: number): Promise<RealmLooks> => {
  const secrets = new MemorySecrets();
  await secrets.put(company.secretRef, 'secret', 'realms');
  const provider: IdentityProvider = { name: 'keycloak', open };
  return new RealmLooks(new Map([['keycloak', provider]]), secrets, handle, { realmFreshForMs: 1, realmTimeoutMs });
};

describe('a cluster that waits for its realm', () => {
  it('is spread with others over time, and continues within 15 s after the realm is ready [azimuth 2]', async () => {
    const { realmFreshForMs, realmTimeoutMs } = readSettings({});
    expect(realmFreshForMs + AGAIN_MS.max + realmTimeoutMs).toBeLessThan(GOES_ON_WITHIN_MS);
    const looks = await looksAt(async () => {
      throw new RealmFailure('RealmUnreachable', 'away');
    }, realmTimeoutMs);
    const effects = new IdentityEffects(realms, looks);
    const delays = await Promise.all(
      Array.from({ length: 200 }, async (_, at) => (await effects.ensureIdentity(taskOf(`uid-${at}`)))?.delayMs ?? 0),
    );
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(AGAIN_MS.min);
    expect(Math.max(...delays)).toBeLessThan(AGAIN_MS.max);
    expect(new Set(delays).size).toBeGreaterThan(100);
  });

  it('waits no longer than allowed for a realm that does not respond', async () => {
    const never: IdentityProvider['open'] = (_access, late) =>
      new Promise((_resolve, reject) => late.addEventListener('abort', () => reject(late.reason as Error)));
    const looks = await looksAt(never, 20);
    const cause = { actor: 'system/infra-svc', correlationId: 'c', causationId: 'c' };
    await expect(looks.open(company, cause)).rejects.toMatchObject({
      reason: 'RealmUnreachable',
      message: 'realm company has not answered within 20 ms',
    });
  });

  it.each([
    ['goes on', waiting('uid-1'), [CLIENT], [`/${CLIENT}`]],
    ['is being deleted', { ...waiting('uid-1'), stage: 'leaving' as const }, [], []],
    ['is deleted', ABSENT, [], []],
    ['is another one of its name', waiting('uid-2'), [], []],
  ])(
    'has at the realm only what is recorded as requested if it %s while the realm is opened',
    async (_what, later, clients, groups) => {
      const world = new FakeRealm();
      const looks = await looksAt(world.provider().get('keycloak')!.open, 1_000);
      expect(await new IdentityEffects(realms, looks).ensureIdentity(taskOf('uid-1', later))).toBeUndefined();
      expect([[...world.clients.keys()], [...world.groups.keys()]]).toEqual([clients, groups]);
    },
  );

  it.each([
    ['answers', undefined],
    ['does not answer', 'RealmUnreachable' as const],
  ])('is retried, without a statement about its realm, if that is moved before it %s', async (_what, problem) => {
    const world = new FakeRealm();
    world.problem = problem;
    const moved = { ...company, registration: 'r2' };
    const known = { of: async () => [company], one: async () => moved } as unknown as RegisteredRealms;
    const looks = await looksAt(world.provider().get('keycloak')!.open, 1_000);
    const said: string[] = [];
    const task = taskOf('uid-1');
    const record: IdentityTask['record'] = (command) => {
      said.push(command.type);
      return task.record(command);
    };
    const again = await new IdentityEffects(known, looks).ensureIdentity({ ...task, record });
    expect(again?.delayMs).toBeLessThan(AGAIN_MS.min);
    expect([world.clients.size, world.groups.size]).toEqual([0, 0]);
    expect(said).toEqual(problem === undefined ? ['Request'] : []);
  });
});

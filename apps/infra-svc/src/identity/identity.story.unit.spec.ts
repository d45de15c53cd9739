import {
  realmSecretRef,
  REALM_SECRETS_OWNER,
  type DeclaredOidc,
  type Namespace,
  type RealmName,
} from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { requested, UID } from '../../test/fixtures.js';
import { bootstrapStream, ownNamespaceStream, requestStream } from '../../test/memory.service.js';
import { Story } from '../../test/story.js';
import { identity } from './identity.decider.js';
import { CLIENT, declared, named, realm } from './identity.fixtures.js';

describe('the client of a cluster at an identity realm', () => {
  let story: Story;

  beforeEach(async () => {
    story = new Story();
    await story.begin();
  });

  const register = async (name: string, changes: object = {}): Promise<void> => {
    await story.secrets.put(realmSecretRef('default', name), 'secret', REALM_SECRETS_OWNER);
    await story.log.say(ownNamespaceStream, realm(name, changes));
    await story.settle();
  };
  const create = (oidc: Partial<DeclaredOidc> | null): Promise<void> => story.request(requested(), declared(oidc));
  const count = (type: string): number => story.types().filter((one) => one === type).length;
  const dismantle = async (): Promise<void> => {
    await story.log.say(requestStream, { type: 'ClusterDeletionRequested', data: { uid: UID } });
    await story.log.say(bootstrapStream, { type: 'ClusterDismantled', data: { uid: UID } });
    await story.settle();
  };

  it('belongs to the realm in the manifest, which provides issuer and client', async () => {
    await register('other');
    await register('company', { ca: 'PEM' });
    await create(named('company'));
    expect(story.last('IdentityReady')).toEqual({
      uid: UID,
      realm: 'company',
      issuerUrl: 'https://id.example.org/realms/company',
      ca: 'PEM',
      clientId: CLIENT,
      group: `/${CLIENT}`,
      groupsClaim: 'groups',
    });
    expect([...story.realm.clients]).toEqual([[CLIENT, UID]]);
    expect([...story.realm.groups]).toEqual([[`/${CLIENT}`, UID]]);
  });

  it('belongs to the only realm of the namespace if none is named, and of several to the first registered one [azimuth 1]', async () => {
    await register('zebra');
    await register('alpha');
    // A realm that is registered again keeps its position.
    await register('alpha', { clientId: 'other' });
    await register('zebra', { clientId: 'other' });
    await create({});
    expect(story.last('IdentityReady').realm).toBe('zebra');
  });

  it('is not requested if the manifest has its own issuer, or none', async () => {
    await register('company');
    await create({ issuerUrl: 'https://elsewhere.example.org', clientId: 'kubernetes' });
    expect(story.types()).toContain('VmsPlanned');
    expect(story.types().filter((type) => type.startsWith('Identity'))).toEqual([]);
    expect(story.realm.clients.size).toBe(0);
  });

  it('waits for a realm, states that once, and no machine is requested before; the creation continues once one is registered [azimuth 1, azimuth 4]', async () => {
    await create({});
    for (let round = 0; round < 3; round += 1) await story.wait();
    expect(count('IdentityBlocked')).toBe(1);
    expect(story.last('IdentityBlocked')).toMatchObject({ realm: null, reason: 'RealmNotFound' });
    expect([story.types().includes('VmsPlanned'), story.cloud.machines.size]).toEqual([false, 0]);
    await register('company');
    await story.wait();
    expect(story.types().indexOf('VmsPlanned')).toBeGreaterThan(story.types().indexOf('IdentityReady'));
    expect(story.types()).toContain('VmsCreated');
  });

  it('waits for a realm of that name, regardless of other realms', async () => {
    await register('other');
    await create(named('company'));
    expect(story.last('IdentityBlocked')).toMatchObject({ realm: 'company', reason: 'RealmNotFound' });
    expect(story.last('IdentityBlocked').message).toContain('company');
    await register('company');
    await story.wait();
    expect(story.last('IdentityReady').realm).toBe('company');
  });

  it('waits and states that again after another manifest names a missing realm', async () => {
    await create({});
    await story.request(declared({ issuerUrl: 'https://elsewhere.example.org', clientId: 'kubernetes' }, 2));
    await story.request(declared({}, 3));
    expect(count('IdentityBlocked')).toBe(2);
  });

  it('waits for a realm that is not ready, with a reason that names it, stated once per reason [azimuth 2, azimuth 4]', async () => {
    story.realm.problem = 'RealmUnreachable';
    await register('company');
    await create(named('company'));
    await story.wait();
    expect(count('IdentityBlocked')).toBe(1);
    expect(story.last('IdentityBlocked')).toMatchObject({
      realm: 'company',
      reason: 'RealmUnreachable',
      message: expect.stringContaining('company'),
    });
    expect(story.types()).not.toContain('VmsPlanned');
  });

  it('is not requested again as a former manifest asked for it, by a task that began before the change', async () => {
    const wiki = { name: 'wiki', url: 'https://wiki.example.org' };
    await register('company');
    await create({ services: [wiki, { ...wiki, name: 'grafana' }] });
    const { uid, ...former } = story.last('IdentityReady');
    await story.request(declared({ services: [wiki] }, 2));
    const state = story.log.events.reduce(identity.evolve, identity.initial);
    expect(identity.decide(state, { type: 'Request', data: { uid, ...former } })).toEqual([]);
    expect(identity.decide(state, { type: 'Request', data: { uid, ...former, services: [wiki] } })).toEqual([]);
    expect(story.last('IdentityReady').services).toEqual([wiki]);
  });

  it('is refused with a stable reason if the realm has one of that name for another cluster, which is not changed [azimuth 3]', async () => {
    story.realm.clients.set(CLIENT, 'another');
    await register('company');
    await create({});
    expect(story.last('IdentityBlocked')).toMatchObject({ realm: 'company', reason: 'ClientTaken' });
    await dismantle();
    expect([...story.realm.clients]).toEqual([[CLIENT, 'another']]);
    expect(story.types()).toContain('ClusterDeleted');
  });

  it('is adopted if it belongs to the same cluster [azimuth 3]', async () => {
    story.realm.clients.set(CLIENT, UID);
    await register('company');
    await create({});
    expect(story.last('IdentityReady').clientId).toBe(CLIENT);
    expect(story.realm.made).toEqual([]);
  });

  it('is deleted with the cluster and its group, before the deletion is recorded', async () => {
    await register('company');
    await create({});
    await dismantle();
    expect([story.realm.clients.size, story.realm.groups.size]).toEqual([0, 0]);
    const at = (type: string): number => story.types().lastIndexOf(type);
    expect(at('IdentityReleased')).toBeGreaterThan(at('ClusterDismantled'));
    expect(at('ClusterDeleted')).toBeGreaterThan(at('IdentityReleased'));
  });

  it('blocks the end of the deletion while its realm does not respond', async () => {
    await register('company');
    await create({});
    story.realm.problem = 'RealmUnreachable';
    await dismantle();
    expect(story.types()).toContain('InfrastructureDeleted');
    expect(story.types()).not.toContain('ClusterDeleted');
    expect(story.last('IdentityBlocked')).toMatchObject({ realm: 'company', reason: 'RealmUnreachable' });
    story.realm.problem = undefined;
    await story.wait();
    expect(story.types().at(-1)).toBe('ClusterDeleted');
    expect(story.realm.clients.size).toBe(0);
  });

  it('is kept at a realm that is no longer registered, and the deletion completes', async () => {
    await register('company');
    await create({});
    const abandoned = { name: 'default' as Namespace, realm: 'company' as RealmName, abandoned: ['demo'] };
    await story.log.say(ownNamespaceStream, { type: 'RealmRemoved', data: abandoned });
    await dismantle();
    expect(story.last('IdentityReleased')).toEqual({ uid: UID, realm: 'company', left: true });
    expect(story.types()).toContain('ClusterDeleted');
    expect(story.realm.clients.size).toBe(1);
  });

  const grafana = { name: 'grafana', url: 'https://grafana.example.org' };
  const wiki = { name: 'wiki', url: 'https://wiki.example.org' };

  it('has a client and a group for each service, which change with the manifest and are deleted with the cluster [azimuth 7]', async () => {
    await register('company');
    await create({ services: [grafana] });
    expect(story.last('IdentityReady')).toMatchObject({ clientId: CLIENT, services: [grafana] });
    const names = () => [...story.realm.clients.keys(), ...story.realm.groups.keys()].toSorted();
    const of = (service: string) => [`/${CLIENT}/${service}`, `${CLIENT}.${service}`];
    const own = [`/${CLIENT}`, CLIENT];
    expect(names()).toEqual([...own, ...of('grafana')].toSorted());
    await story.request(declared({ services: [grafana, wiki] }, 2));
    expect(names()).toEqual([...own, ...of('grafana'), ...of('wiki')].toSorted());
    await story.request(declared({ services: [wiki] }, 3));
    expect(names()).toEqual([...own, ...of('wiki')].toSorted());
    expect([count('IdentityReady'), count('VmsPlanned')]).toEqual([3, 1]);
    await dismantle();
    expect(names()).toEqual([]);
  });

  it('says why a service of a running cluster has no client, and goes on when the cause has ended', async () => {
    await register('company');
    await create({});
    story.realm.clients.set(`${CLIENT}.grafana`, 'another');
    await story.request(declared({ services: [grafana] }, 2));
    expect(story.last('IdentityBlocked')).toMatchObject({ realm: 'company', reason: 'ClientTaken' });
    story.realm.clients.delete(`${CLIENT}.grafana`);
    await story.wait();
    expect(story.last('IdentityReady').services).toEqual([grafana]);
  });

  it('is put right when someone has changed it at the provider, in time and at a start of the service [azimuth 28]', async () => {
    await register('company');
    await create({ services: [grafana] });
    const before = story.types().length;
    story.realm.clients.delete(CLIENT);
    story.realm.groups.delete(`/${CLIENT}/grafana`);
    await story.wait();
    expect([story.realm.clients.get(CLIENT), story.realm.groups.get(`/${CLIENT}/grafana`)]).toEqual([UID, UID]);
    expect(story.types()).toHaveLength(before);
  });

  it('states when its realm becomes unusable, and when it can be used again, each once', async () => {
    await register('company');
    await create({});
    story.realm.problem = 'RealmUnreachable';
    for (let round = 0; round < 3; round += 1) await story.wait();
    expect([count('IdentityBlocked'), count('IdentityReady')]).toEqual([1, 1]);
    story.realm.problem = undefined;
    for (let round = 0; round < 3; round += 1) await story.wait();
    expect([count('IdentityBlocked'), count('IdentityReady')]).toEqual([1, 2]);
  });

  it("has the realm's group of users and its authorities also where these came later", async () => {
    await register('company');
    await create({});
    await register('company', { usersGroup: '/platform-users', ca: 'PEM' });
    await story.wait();
    expect(story.last('IdentityReady')).toMatchObject({ usersGroup: '/platform-users', ca: 'PEM' });
  });

  it('moves to another realm when the manifest names one, created there before it is deleted here', async () => {
    await register('first');
    await register('second');
    await create(named('first'));
    await story.request(declared(named('second'), 2));
    expect(story.last('IdentityReady').realm).toBe('second');
    expect(story.last('IdentityReleased').realm).toBe('first');
    expect(story.types().lastIndexOf('IdentityReleased')).toBeGreaterThan(story.types().lastIndexOf('IdentityReady'));
  });

  it('is deleted when the manifest no longer names a realm, and its groups are listed in the declared claim', async () => {
    await register('company');
    await create({});
    await story.request(declared({ groupsClaim: 'roles' }, 2));
    expect([count('IdentityReady'), story.realm.claims.get(CLIENT)]).toEqual([2, 'roles']);
    await story.request(declared(null, 3));
    expect(story.realm.clients.size).toBe(0);
  });

  it('needs one check of its realm for all clusters that wait at the same time', async () => {
    story.realm.problem = 'RealmUnreachable';
    await register('company');
    await create({});
    const before = story.realm.looks;
    const waiting = Array.from({ length: 20 }, () => story.look('company'));
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 20 }, () => 'RealmUnreachable'));
    expect(story.realm.looks - before).toBeLessThanOrEqual(1);
  });
});

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

  it('is that of the realm that its manifest names, which gives issuer and client', async () => {
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

  it('is at the only realm of the namespace where none is named, and of several at the one that was registered first [azimuth 1]', async () => {
    await register('zebra');
    await register('alpha');
    // Registered again, a realm keeps its place.
    await register('alpha', { clientId: 'other' });
    await register('zebra', { clientId: 'other' });
    await create({});
    expect(story.last('IdentityReady').realm).toBe('zebra');
  });

  it('is not asked for where the manifest has an issuer of its own, or none', async () => {
    await register('company');
    await create({ issuerUrl: 'https://elsewhere.example.org', clientId: 'kubernetes' });
    expect(story.types()).toContain('VmsPlanned');
    expect(story.types().filter((type) => type.startsWith('Identity'))).toEqual([]);
    expect(story.realm.clients.size).toBe(0);
  });

  it('waits for a realm, says so once, and no machine is requested before; once one is registered, the creation goes on by itself [azimuth 1, azimuth 4]', async () => {
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

  it('waits for a realm of that name, whatever other realms there are', async () => {
    await register('other');
    await create(named('company'));
    expect(story.last('IdentityBlocked')).toMatchObject({ realm: 'company', reason: 'RealmNotFound' });
    expect(story.last('IdentityBlocked').message).toContain('company');
    await register('company');
    await story.wait();
    expect(story.last('IdentityReady').realm).toBe('company');
  });

  it('waits again, and says so again, when another manifest asks for a realm that is not there', async () => {
    await create({});
    await story.request(declared({ issuerUrl: 'https://elsewhere.example.org', clientId: 'kubernetes' }, 2));
    await story.request(declared({}, 3));
    expect(count('IdentityBlocked')).toBe(2);
  });

  it('waits for a realm that is not ready, with a reason that names it, once for each reason [azimuth 2, azimuth 4]', async () => {
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

  it('is refused where the realm has one of that name for another cluster, by a stable reason, and nothing of it is changed [azimuth 3]', async () => {
    story.realm.clients.set(CLIENT, 'another');
    await register('company');
    await create({});
    expect(story.last('IdentityBlocked')).toMatchObject({ realm: 'company', reason: 'ClientTaken' });
    await dismantle();
    expect([...story.realm.clients]).toEqual([[CLIENT, 'another']]);
    expect(story.types()).toContain('ClusterDeleted');
  });

  it('is adopted where it is of the same cluster already [azimuth 3]', async () => {
    story.realm.clients.set(CLIENT, UID);
    await register('company');
    await create({});
    expect(story.last('IdentityReady').clientId).toBe(CLIENT);
    expect(story.realm.made).toEqual([]);
  });

  it('is deleted with the cluster, and its group, before the record', async () => {
    await register('company');
    await create({});
    await dismantle();
    expect([story.realm.clients.size, story.realm.groups.size]).toEqual([0, 0]);
    const at = (type: string): number => story.types().lastIndexOf(type);
    expect(at('IdentityReleased')).toBeGreaterThan(at('ClusterDismantled'));
    expect(at('ClusterDeleted')).toBeGreaterThan(at('IdentityReleased'));
  });

  it('holds the end of the deletion while its realm does not answer', async () => {
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

  it('moves to another realm when the manifest names one, first there and then not here', async () => {
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

  it('is not worth more than one look at its realm for all clusters that wait at the same time', async () => {
    story.realm.problem = 'RealmUnreachable';
    await register('company');
    await create({});
    const before = story.realm.looks;
    const waiting = Array.from({ length: 20 }, () => story.look('company'));
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 20 }, () => 'RealmUnreachable'));
    expect(story.realm.looks - before).toBeLessThanOrEqual(1);
  });
});

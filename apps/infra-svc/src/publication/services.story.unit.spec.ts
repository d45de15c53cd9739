import {
  NameReservation,
  realmSecretRef,
  REALM_SECRETS_OWNER,
  type DeclaredOidc,
  type EventData,
  type Fact,
} from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { requested, UID } from '../../test/fixtures.js';
import { bootstrapStream, ownNamespaceStream, requestStream } from '../../test/memory.service.js';
import { Story } from '../../test/story.js';
import { CLIENT, declared as declaredWith, realm } from '../identity/identity.fixtures.js';

type Found = EventData<'PublishedServicesFound'>['services'][number];

const rolloutStream = { namespace: 'default', cluster: 'demo', context: 'rollout' } as const;
const GRAFANA: Found = {
  namespace: 'monitoring',
  name: 'grafana',
  subdomain: 'grafana',
  label: 'Grafana',
  icon: 'https://example.org/grafana.svg',
  description: 'Dashboards',
  address: '10.96.0.20',
  port: 80,
};
const WIKI: Found = {
  namespace: 'team-a',
  name: 'wiki',
  subdomain: 'wiki',
  label: 'Wiki',
  address: '10.96.0.21',
  port: 8080,
  groups: ['/team-a'],
};
const HOST = 'grafana.demo.example.org';

const declared = (oidc: Partial<DeclaredOidc> | null, revision = 1): Fact =>
  declaredWith(oidc, revision, { endpoint: { publish: true } });

describe('the services of a cluster that ask to be published', () => {
  let story: Story;

  beforeEach(async () => {
    story = new Story();
    await story.begin();
    await story.secrets.put(realmSecretRef('default', 'company'), 'secret', REALM_SECRETS_OWNER);
    await story.log.say(ownNamespaceStream, realm('company', { usersGroup: '/platform-users' }));
    await story.settle();
  });

  const find = async (...services: readonly Found[]): Promise<void> => {
    await story.log.say(rolloutStream, {
      type: 'PublishedServicesFound',
      data: { uid: UID, services: [...services], refused: [] },
    });
    await story.settle();
    for (let round = 0; round < 3; round += 1) await story.wait();
  };
  const published = (): readonly string[] => story.last('ServicesPublished').services.map(({ fqdn }) => fqdn);
  const count = (type: string): number => story.types().filter((one) => one === type).length;

  it('have a client and a group at the realm and a name for the key of the cluster, and lose all three with the Service [azimuth 7]', async () => {
    await story.request(requested(), declared({}));
    await find(GRAFANA, WIKI);
    expect(story.last('IdentityReady').services).toEqual([
      { name: 'grafana', url: `https://${HOST}` },
      { name: 'wiki', url: 'https://wiki.demo.example.org' },
    ]);
    expect([...story.realm.clients.keys()].toSorted()).toEqual([CLIENT, `${CLIENT}.grafana`, `${CLIENT}.wiki`]);
    expect([...story.realm.groups.keys()]).toContain(`/${CLIENT}/grafana`);
    expect(published()).toEqual([HOST, 'wiki.demo.example.org']);
    const { publicKey } = story.last('EndpointReserved');
    const reservation = NameReservation.parse(story.names.reserved.get(HOST));
    expect(reservation).toMatchObject({ uid: UID, publicKey, signIn: { clientId: `${CLIENT}.grafana` } });

    story.restart();
    await find(WIKI);
    expect([...story.realm.clients.keys()].toSorted()).toEqual([CLIENT, `${CLIENT}.wiki`]);
    expect([...story.realm.groups.keys()]).not.toContain(`/${CLIENT}/grafana`);
    expect([published(), story.names.reserved.has(HOST)]).toEqual([['wiki.demo.example.org'], false]);
  });

  it('are for their own group, and for those that they name, or for the users of the cluster', async () => {
    await story.request(requested(), declared({}));
    await find(GRAFANA, WIKI);
    const groupsOf = (name: string) => story.names.reserved.get(name)?.signIn?.groups;
    expect(groupsOf(HOST)).toEqual([`/${CLIENT}/grafana`, `/${CLIENT}`, '/platform-users']);
    expect(groupsOf('wiki.demo.example.org')).toEqual([`/${CLIENT}/wiki`, '/team-a']);
  });

  it('are not published where users sign in at no realm, and are as soon as the manifest declares one', async () => {
    await story.request(requested(), declared(null));
    await find(GRAFANA);
    expect([story.types().includes('ServicesPublished'), story.names.reserved.has(HOST)]).toEqual([false, false]);
    await story.request(declared({}, 2));
    await find(GRAFANA);
    expect(published()).toEqual([HOST]);
  });

  it('are available while a control plane holds their names, said once each time', async () => {
    await story.request(requested(), declared({}));
    await find(GRAFANA);
    expect(count('PublishedServiceAvailable')).toBe(0);
    story.names.held.add(HOST);
    for (let round = 0; round < 2; round += 1) await story.wait();
    story.names.held.delete(HOST);
    for (let round = 0; round < 2; round += 1) await story.wait();
    expect([
      count('PublishedServiceAvailable'),
      count('PublishedServiceUnavailable'),
      count('ServicesPublished'),
    ]).toEqual([1, 1, 1]);
  });

  it('leave neither name nor client when the cluster is deleted', async () => {
    await story.request(requested(), declared({}));
    await find(GRAFANA);
    await story.log.say(requestStream, { type: 'ClusterDeletionRequested', data: { uid: UID } });
    await story.log.say(bootstrapStream, { type: 'ClusterDismantled', data: { uid: UID } });
    await story.settle();
    expect([story.names.reserved.size, story.realm.clients.size]).toEqual([0, 0]);
    expect(story.types().at(-1)).toBe('ClusterDeleted');
  });
});

import { declaredOf, NameReservation, type Fact } from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { clusterSpec, requested, UID } from '../../test/fixtures.js';
import { bootstrapStream, requestStream } from '../../test/memory.service.js';
import { Story } from '../../test/story.js';

const NAME = 'api.demo.example.org';
const OTHER = '0f8fad5b-d9cb-469f-a165-70867728950e';
const KEY_REF = `infra-svc.tunnel.${UID}`;

const declared: Fact = {
  type: 'ClusterSpecChanged',
  data: { uid: UID, revision: 1, spec: { ...declaredOf(clusterSpec()), endpoint: { publish: true } } },
};

describe('the name of an API that is published', () => {
  let story: Story;

  beforeEach(async () => {
    story = new Story();
    await story.begin();
  });

  const count = (type: string): number => story.types().filter((one) => one === type).length;
  const dismantle = async (): Promise<void> => {
    await story.log.say(requestStream, { type: 'ClusterDeletionRequested', data: { uid: UID } });
    await story.log.say(bootstrapStream, { type: 'ClusterDismantled', data: { uid: UID } });
    await story.settle();
  };

  it('is reserved for a key of the cluster, which is sealed, before a machine is requested [azimuth 15, azimuth 16]', async () => {
    await story.request(requested(), declared);
    const reserved = story.last('EndpointReserved');
    expect(reserved).toMatchObject({ uid: UID, name: NAME, port: 443, keyRef: KEY_REF });
    expect(story.names.reserved.get(NAME)).toEqual({ uid: UID, publicKey: reserved.publicKey });
    expect(NameReservation.parse(story.names.reserved.get(NAME))).toBeDefined();
    expect(story.types().indexOf('VmsPlanned')).toBeGreaterThan(story.types().indexOf('EndpointReserved'));
    const sealed = await story.secrets.get(KEY_REF);
    expect(sealed).toContain('PRIVATE KEY');
    for (const line of (sealed ?? '').split('\n').slice(1, -2))
      expect(JSON.stringify(story.log.events)).not.toContain(line);
  });

  it('is not asked for where the manifest does not declare it', async () => {
    await story.request(requested());
    expect(story.types().filter((type) => type.startsWith('Endpoint'))).toEqual([]);
    expect([story.types().includes('VmsPlanned'), story.names.reserved.size]).toEqual([true, 0]);
    await dismantle();
    expect(story.types().at(-1)).toBe('ClusterDeleted');
  });

  it('that another cluster has is waited for, and said once; once it is free, the creation goes on by itself', async () => {
    const publicKey = `ssh-ed25519 ${'B'.repeat(68)}`;
    story.names.reserved.set(NAME, { uid: OTHER as never, publicKey });
    await story.request(requested(), declared);
    for (let round = 0; round < 3; round += 1) await story.wait();
    expect([count('EndpointBlocked'), story.last('EndpointBlocked').reason]).toEqual([1, 'NameTaken']);
    expect(story.types()).not.toContain('VmsPlanned');
    expect(story.names.reserved.get(NAME)?.publicKey).toBe(publicKey);
    story.names.reserved.delete(NAME);
    await story.wait();
    expect(story.types()).toContain('VmsPlanned');
  });

  it('is waited for where the installation has no domain', async () => {
    story = new Story({ publish: null });
    await story.begin();
    await story.request(requested(), declared);
    expect(story.last('EndpointBlocked').reason).toBe('NoDomain');
    await dismantle();
    expect(story.types().at(-1)).toBe('ClusterDeleted');
  });

  it('is available while a control plane holds it, said once each time, and the key stays the same [azimuth 15, azimuth 17]', async () => {
    await story.request(requested(), declared);
    const sealed = await story.secrets.get(KEY_REF);
    expect(count('EndpointAvailable')).toBe(0);
    story.names.held.add(NAME);
    for (let round = 0; round < 2; round += 1) await story.wait();
    story.restart();
    await story.wait();
    expect([count('EndpointAvailable'), count('EndpointUnavailable')]).toEqual([1, 0]);
    story.names.held.delete(NAME);
    for (let round = 0; round < 2; round += 1) await story.wait();
    expect([count('EndpointAvailable'), count('EndpointUnavailable')]).toEqual([1, 1]);
    story.names.held.add(NAME);
    await story.wait();
    expect([count('EndpointAvailable'), count('EndpointReserved')]).toEqual([2, 1]);
    expect(await story.secrets.get(KEY_REF)).toBe(sealed);
  });

  it('is reserved again for the same key where NATS has lost it', async () => {
    await story.request(requested(), declared);
    const reservation = story.names.reserved.get(NAME);
    story.names.reserved.clear();
    await story.wait();
    expect(story.names.reserved.get(NAME)).toEqual(reservation);
  });

  it('is free, and its key destroyed, before the deletion ends [azimuth 26]', async () => {
    await story.request(requested(), declared);
    await dismantle();
    expect([story.names.reserved.size, await story.secrets.get(KEY_REF)]).toEqual([0, undefined]);
    expect(story.types().indexOf('EndpointReleased')).toBeLessThan(story.types().indexOf('ClusterDeleted'));
    expect(count('ClusterDeleted')).toBe(1);
  });
});

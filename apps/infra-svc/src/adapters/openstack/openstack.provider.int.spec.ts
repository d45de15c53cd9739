import { describe, expect, it } from '@jest/globals';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { describeProvider } from '../provider.features.js';
import { opensshKeys } from '../ssh-keys/openssh.keys.js';
import { answersOf, cloudGroup, openCloud, shareResources, type CloudAccess } from './openstack.fixtures.js';
import { CREDENTIAL, SimulatedCloud } from './simulated.cloud.fixtures.js';

const LIMITS = { callsMax: 16, timeoutMs: 2_000, pollMs: 5 };
const { publicKey } = opensshKeys.generate('spec');

const accessTo = (cloud: SimulatedCloud): CloudAccess => ({
  authUrl: `${cloud.url}/v3`,
  credential: CREDENTIAL.id,
  secret: CREDENTIAL.secret,
  region: 'RegionOne',
});

describeProvider('openstack, of which the services are simulated', async () => {
  const cloud = new SimulatedCloud();
  await cloud.start();
  return {
    open: () => openCloud(accessTo(cloud), LIMITS),
    connection: 'openstack',
    region: 'RegionOne',
    spec: 'm1.medium',
    publicKey,
    adopts: true,
    stop: () => cloud.stop(),
  };
});

describe('a cloud of OpenStack, of which the services are simulated', () => {
  let cloud: SimulatedCloud;
  const signal = (): AbortSignal => AbortSignal.timeout(20_000);
  const open = (settings = {}, limits = LIMITS) => openCloud(accessTo(cloud), limits, settings);

  beforeAll(async () => {
    cloud = new SimulatedCloud();
    await cloud.start();
    await shareResources(open(), publicKey, signal());
  });
  beforeEach(() => {
    cloud.faults = [];
  });
  afterAll(() => cloud.stop());

  it('has the same resources after the deletion of a cluster as before it', async () => {
    const before = [...cloud.resources()].sort();
    const group = cloudGroup(3, { role: 'control-plane' });
    const answers = await answersOf(open(), group, signal());
    const ids = answers.map(({ id }) => id);
    const name = `${group.namespace}.${group.cluster}`;
    const balancer = { name, group, kind: 'haproxy', targetPort: 6443, healthPath: '/readyz', targets: ids } as const;
    await open().ensureLoadBalancer(balancer, signal());
    expect(cloud.resources().length).toBeGreaterThan(before.length + 6);
    await open().deleteLoadBalancer(name, signal());
    await open().deleteGroup(group, signal());
    expect([...cloud.resources()].sort()).toEqual(before);
  });
});

import type { ExternalFailure } from '@fairlead/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
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
    otherImage: 'debian-13',
    publicKey,
    adopts: true,
    stop: () => cloud.stop(),
  };
});

describe('a simulated OpenStack cloud', () => {
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

  const NOVA_BUSY = {
    status: 429,
    headers: { 'retry-after': '0' },
    body: { overLimit: { code: 429, message: 'This request was rate-limited.' } },
  };

  it('is retried after the delay that the service requests', async () => {
    const group = cloudGroup(1);
    cloud.faults = [{ method: 'POST', path: /\/servers$/, times: 2, ...NOVA_BUSY, headers: { 'retry-after': '0.01' } }];
    expect(await answersOf(open(), group, signal())).toMatchObject([{ status: 'running' }]);
    expect(cloud.faults).toMatchObject([{ times: 0 }]);
    await open().deleteGroup(group, signal());
  });

  it('is reported with the message of the service if it keeps requesting delays', async () => {
    cloud.faults = [{ method: 'GET', path: /flavors/, times: 99, ...NOVA_BUSY, headers: { 'retry-after': '0.01' } }];
    await expect(open().listSpecs(signal())).rejects.toMatchObject({
      ...{ operation: 'list specs', target: 'openstack', retryable: true },
      message: 'This request was rate-limited. (Nova, HTTP 429)',
    });
  });

  it.each([
    [
      'an error of a service',
      500,
      { computeFault: { code: 500, message: 'Unexpected API Error.' } },
      'Unexpected API Error. (Nova, HTTP 500)',
    ],
    [
      'a page of a proxy',
      502,
      '<html><head><title>502 Bad Gateway</title></head></html>',
      '502 Bad Gateway (Nova, HTTP 502)',
    ],
    ['nothing', 504, '', 'it answers GET /flavors/detail without a reason (Nova, HTTP 504)'],
  ])('that responds with %s is retried', async (_what, status, body, message) => {
    cloud.faults = [{ method: 'GET', path: /flavors/, times: 1, status, body }];
    await expect(open().listSpecs(signal())).rejects.toMatchObject({ message, retryable: true });
  });

  it('that responds with something other than OpenStack is reported', async () => {
    cloud.faults = [{ method: 'GET', path: /flavors/, times: 1, status: 200, body: { flavors: [{ id: 1 }] } }];
    await expect(open().listSpecs(signal())).rejects.toMatchObject({
      message: expect.stringMatching(
        /^Nova answers GET \/flavors\/detail with something else than expected: flavors\.0\.id /,
      ),
    });
  });

  it('that hangs lets the call time out, and is named', async () => {
    cloud.faults = [{ method: 'GET', path: /flavors/, times: 1 }];
    await expect(open({}, { ...LIMITS, timeoutMs: 100 }).listSpecs(signal())).rejects.toMatchObject({
      message: `${cloud.url}: no answer within 100 ms`,
      retryable: true,
    });
  });

  it('that ended a token gets a new one', async () => {
    const provider = open();
    await provider.listSpecs(signal());
    cloud.endTokens();
    expect(await provider.listSpecs(signal())).not.toEqual([]);
  });

  it('has one server of a creation whose response was lost', async () => {
    const group = cloudGroup(1);
    const before = [...cloud.resources()].sort();
    cloud.faults = [{ method: 'POST', path: /\/servers$/, times: 1, isDone: true }];
    const impatient = open({}, { ...LIMITS, timeoutMs: 300 });
    await expect(answersOf(impatient, group, signal())).rejects.toMatchObject({ retryable: true });
    expect(await answersOf(open(), group, signal())).toHaveLength(1);
    expect(await open().describeMachines(group, signal())).toHaveLength(1);
    await open().deleteGroup(group, signal());
    expect([...cloud.resources()].sort()).toEqual(before);
  });

  it('deletes the younger of two servers that were created for one machine', async () => {
    const group = cloudGroup(1);
    const [machine] = await answersOf(open(), group, signal());
    const original = cloud.all('servers').find(({ id }) => id === machine?.id);
    cloud.all('servers').push({ ...original, id: randomUUID(), created: new Date(Date.now() + 5_000).toISOString() });
    expect(await answersOf(open(), group, signal())).toMatchObject([{ id: machine?.id }]);
    expect(cloud.all('servers').map(({ id }) => id)).toEqual([machine?.id]);
    await open().deleteGroup(group, signal());
  });

  it('reports a server in ERROR as failed with its message, and keeps nothing of it', async () => {
    const before = [...cloud.resources()].sort();
    const group = cloudGroup(2);
    cloud.errors.set(group.machines[1]!.name, 'No valid host was found. There are not enough hosts available.');
    const answers = await answersOf(open(), group, signal());
    expect(answers.find(({ status }) => status === 'failed')).toMatchObject({
      name: group.machines[1]!.name,
      message: 'No valid host was found. There are not enough hosts available.',
    });
    await open().deleteGroup(group, signal());
    expect([...cloud.resources()].sort()).toEqual(before);
  });

  it('without a free floating IP fails permanently with its message, and keeps nothing after the deletion', async () => {
    const before = [...cloud.resources()].sort();
    const group = cloudGroup(2);
    const had = cloud.quotas.floatingip;
    cloud.quotas.floatingip = cloud.all('floatingips').length + 1;
    await expect(answersOf(open(), group, signal())).rejects.toMatchObject({
      message: "Quota exceeded for resources: ['floatingip']. (Neutron, HTTP 409, req-1)",
      retryable: false,
    });
    cloud.quotas.floatingip = had;
    await open().deleteGroup(group, signal());
    expect([...cloud.resources()].sort()).toEqual(before);
  });

  it('refuses requests beyond a quota, and names every quota', async () => {
    const group = cloudGroup(1);
    const ask = (count: number) =>
      open().checkCapacity?.(
        { group, specs: Array.from({ length: count }, () => 'm1.small'), controlPlanes: 1 },
        signal(),
      );
    expect(await ask(101)).toMatchObject({
      code: 'quota.exceeded',
      message:
        'Quota exceeded: the OpenStack project of connection openstack may have 100 servers and has 0, and the request adds 101',
    });
    expect(await ask(51)).toMatchObject({ message: expect.stringContaining('may have 50 floating IPs and has 0') });
    expect(await ask(50)).toBeUndefined();
  });

  it('reports that its image is gone', async () => {
    const images = cloud.all('images').splice(0);
    await expect(open().resolveImage(signal())).rejects.toMatchObject({
      message: 'the project sees no image debian-12',
      retryable: false,
    });
    cloud.all('images').push(...images);
  });

  it('lists leftovers of a cluster of every kind, and deletes them', async () => {
    const before = [...cloud.resources()].sort();
    const group = cloudGroup(1, { role: 'control-plane' });
    const [machine] = await answersOf(open(), group, signal());
    const balancer = {
      name: 'spec.left',
      group,
      kind: 'haproxy',
      targetPort: 6443,
      healthPath: '/',
      targets: [machine!.id],
    } as const;
    await open().ensureLoadBalancer(balancer, signal());
    expect((await open().listMachines(signal())).map(({ id }) => id)).toEqual([machine!.id]);
    cloud.all('servers').splice(0);
    const left = await open().listMachines(signal());
    expect(left.map(({ id, group: of }) => [id.split('/')[0], of]).sort()).toEqual([
      ['floating-ip', group.name],
      ['port', group.name],
      ['server-group', group.name],
    ]);
    for (const { id } of left) await open().deleteMachine(id, signal());
    expect(await open().listMachines(signal())).toEqual([]);
    cloud.all('ports').splice(0, Infinity, ...cloud.all('ports').filter((port) => port['device_id'] !== machine!.id));
    expect([...cloud.resources()].sort()).toEqual(before);
  });

  it('refuses a wrong secret, without repeating it', async () => {
    const other = openCloud({ ...accessTo(cloud), secret: 'something-else' }, LIMITS);
    const failure = await other.verify(signal()).catch((error: unknown) => error as ExternalFailure);
    expect(failure).toMatchObject({ operation: 'verify connection', retryable: false });
    expect(String((failure as ExternalFailure).message)).toMatch(
      /^Keystone does not accept the application credential /,
    );
    expect(JSON.stringify(failure)).not.toContain('something-else');
  });

  it('reports its regions if the requested one does not exist', async () => {
    const elsewhere = openCloud({ ...accessTo(cloud), region: 'Mars' }, LIMITS);
    await expect(elsewhere.verify(signal())).rejects.toMatchObject({
      message: 'the catalogue has no public endpoint of Nova in region Mars; it has the regions RegionOne',
      retryable: false,
    });
  });
});

import {
  CONNECTIONS_STREAM,
  ladybugReasonOf,
  type ConnectionName,
  type Fact,
  type SecretRef,
} from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  clusterSpec,
  LAB,
  LATER_UID,
  nodeSet,
  registered,
  requested,
  UID,
  type SpecChanges,
} from '../../test/fixtures.js';
import { ownNamespaceStream, requestStream } from '../../test/memory.service.js';
import { Story } from '../../test/story.js';
import { groupOf } from '../providers/group.names.js';
import { surroundingsOf } from '../resources/surroundings.planner.js';
import { checkApiAddresses, checkCloudController, checkNetwork } from './validation.planner.js';

const OTHER = 'other' as ConnectionName;

describe('the validation against providers', () => {
  let story: Story;

  beforeEach(async () => {
    story = new Story();
    await story.begin();
  });

  const verdict = async (changes: SpecChanges): Promise<Fact<'ClusterRejected'>['data']> => {
    await story.request(requested(clusterSpec(changes)));
    expect(story.cloud.machines.size).toBe(0);
    expect(story.cloud.networks.size).toBe(0);
    return story.last('ClusterRejected');
  };

  it('accepts a cluster that can be created', async () => {
    await story.request(requested());
    expect(story.types()).toContain('ClusterAccepted');
  });

  it('finds a namespace and a connection that no row contains yet', async () => {
    const behind = new Story({ rowsAreBehind: true });
    await behind.begin();
    await behind.request(requested());
    expect(behind.types()).toContain('ClusterAccepted');
  });

  it('refuses a namespace that does not exist', async () => {
    await story.log.say(ownNamespaceStream, { type: 'NamespaceDeleted', data: { name: 'default' as never } });
    expect(await verdict({})).toEqual({
      uid: UID,
      code: 'namespace.unknown',
      message: "The namespace 'default' does not exist",
      field: 'namespace',
    });
  });

  it('refuses a connection that does not exist, and one that was removed', async () => {
    expect(await verdict({ workers: [nodeSet(1), nodeSet(1, { connection: OTHER })] })).toMatchObject({
      code: 'connection.unknown',
      message: "The connection 'other' does not exist",
      field: 'worker[1].connection',
    });
    await story.log.say(CONNECTIONS_STREAM, { type: 'ConnectionRemoved', data: { name: LAB } });
    await story.request({ type: 'ClusterRetryRequested', data: { uid: UID } });
    expect(story.last('ClusterRejected')).toMatchObject({
      code: 'connection.unknown',
      field: 'controlPlane[0].connection',
    });
  });

  it('refuses a connection that is not granted to the namespace, even if the gateway accepted it', async () => {
    await story.log.say(CONNECTIONS_STREAM, registered({ namespaces: ['team-a'] }));
    expect(await verdict({})).toMatchObject({ code: 'connection.not-granted', field: 'controlPlane[0].connection' });
    await story.log.say(CONNECTIONS_STREAM, registered({ namespaces: ['team-a', 'default'] }));
    await story.request({ type: 'ClusterRetryRequested', data: { uid: UID } });
    expect(story.types()).toContain('ClusterAccepted');
  });

  it.each([
    ['clusters', { clusters: 0 }],
    ['nodes', { nodes: 4 }],
    ['cores', { cores: 9 }],
  ])('refuses more than the quota of %s, by the sizes that the provider really offers', async (what, quota) => {
    await story.log.say(ownNamespaceStream, { type: 'NamespaceQuotaSet', data: { name: 'default' as never, quota } });
    const { code, message } = await verdict({});
    expect(code).toBe('quota.exceeded');
    expect(message).toContain(`${what} and has 0, and the request adds `);
  });

  it('accepts only one of two clusters that were requested at once and fit only alone', async () => {
    const quota = { cores: 15 };
    await story.log.say(ownNamespaceStream, { type: 'NamespaceQuotaSet', data: { name: 'default' as never, quota } });
    const twin = { ...requestStream, cluster: 'twin' };
    await story.log.say(twin, requested(clusterSpec({ name: 'twin' as never }), LATER_UID));
    await story.request(requested());
    const decided = story.log.events.filter(({ type }) => type === 'ClusterAccepted' || type === 'ClusterRejected');
    expect(decided.map(({ type, meta }) => [type, meta.cluster]).sort()).toEqual([
      ['ClusterAccepted', 'twin'],
      ['ClusterRejected', 'demo'],
    ]);
  });

  it('refuses workers beyond the quota, and the cluster is unchanged', async () => {
    await story.request(requested());
    const quota = { nodes: 6 };
    await story.log.say(ownNamespaceStream, { type: 'NamespaceQuotaSet', data: { name: 'default' as never, quota } });
    const more = (requestId: string): Fact => ({
      type: 'NodesRequested',
      data: { uid: UID, requestId, workers: [nodeSet(1)] },
    });
    await story.request(more('r1'));
    await story.request(more('r2'));
    expect(story.last('NodesRejected')).toMatchObject({ requestId: 'r2', code: 'quota.exceeded' });
    expect(story.cloud.machines.size).toBe(6);
  });

  it('refuses a name under which the provider still has machines of another cluster [CB-Ladybug 3, CB-Ladybug 6]', async () => {
    const group = groupOf({ namespace: 'default' as never, uid: LATER_UID, spec: clusterSpec() }, LAB);
    const left = { id: 'm', name: 'demo-w-1-zzzzz' as never, group: group.name, uid: LATER_UID };
    const rest = {
      spec: 'lab.medium',
      sshKey: 'k',
      zone: undefined,
      rootDisk: { type: 'default', size: 'default' },
      labels: {},
    };
    story.cloud.machines.set(left.name, { ...left, ...rest });
    await story.request(requested());
    expect(story.last('ClusterRejected')).toMatchObject({
      code: 'cluster.machines-exist',
      message: "The provider already has machines of a cluster 'demo' in the namespace 'default'",
    });
  });

  it('refuses a provider that does not exist [CB-Ladybug 3]', async () => {
    await story.log.say(CONNECTIONS_STREAM, registered({ provider: 'mars' }));
    expect(await verdict({})).toMatchObject({
      code: 'connection.provider-unknown',
      message: "The provider 'mars' is not supported",
    });
  });

  it('refuses a connection whose secret does not exist', async () => {
    await story.log.say(CONNECTIONS_STREAM, registered({ secretRef: 'gateway.connection.lab' as SecretRef }));
    expect(await verdict({})).toMatchObject({ code: 'connection.settings-invalid' });
  });

  it('refuses a machine size that does not exist [CB-Ladybug 3]', async () => {
    expect(await verdict({ workers: [nodeSet(1, { spec: 'lab.none' })] })).toMatchObject({
      code: 'cluster.spec-unknown',
      message: "The machine type 'lab.none' is not offered by the connection lab (lab)",
      field: 'worker[0].spec',
    });
  });

  it('refuses a control plane with less than 2 CPUs, and allows one for a worker [CB-Ladybug 3, CB-Ladybug 7]', async () => {
    expect(await verdict({ controlPlane: nodeSet(1, { spec: 'lab.thin' }) })).toMatchObject({
      code: 'cluster.spec-cpu',
      message: 'A control plane needs at least 2 CPUs, and the machine type lab.thin (lab) has 1',
      field: 'controlPlane[0].spec',
    });
    const other = new Story();
    await other.begin();
    await other.request(requested(clusterSpec({ workers: [nodeSet(1, { spec: 'lab.thin' })] })));
    expect(other.types()).toContain('ClusterAccepted');
  });

  it('refuses less than 2 GiB anywhere [CB-Ladybug 3, CB-Ladybug 7]', async () =>
    expect(await verdict({ workers: [nodeSet(1, { spec: 'lab.tiny' })] })).toMatchObject({
      code: 'cluster.spec-memory',
      message: 'A node needs at least 2 GiB of memory, and the machine type lab.tiny (lab) has 1',
    }));

  it.each([
    [
      'the control plane',
      { controlPlane: nodeSet(3, { zones: ['lab-1a', 'lab-9z'] }) },
      'control-plane',
      'controlPlane[0].zones',
    ],
    ['a pool', { workers: [nodeSet(1, { pool: 'web', zones: ['lab-9z'] })] }, 'web', 'worker[0].zones'],
  ])('refuses %s in a zone that the connection does not have', async (_what, spec, pool, field) =>
    expect(await verdict(spec as never)).toMatchObject({
      code: 'pool.zone-unknown',
      message: `Connection lab has no zone lab-9z for pool ${pool}, only lab-1a, lab-1b, lab-1c`,
      field,
    }),
  );

  it('refuses a region, and a zone of it, that the provider does not have [CB-Ladybug 3]', async () => {
    await story.log.say(CONNECTIONS_STREAM, registered({ region: 'lab-9' }));
    expect(await verdict({})).toMatchObject({
      code: 'cluster.region-unknown',
      message: 'The region lab-9 does not exist',
    });
    await story.log.say(CONNECTIONS_STREAM, registered({ zone: 'lab-1z' }));
    await story.request({ type: 'ClusterRetryRequested', data: { uid: UID } });
    expect(story.last('ClusterRejected')).toMatchObject({ message: 'The region lab-1/lab-1z does not exist' });
  });

  it('checks the provider of a connection, then the machine sizes, then the region [CB-Ladybug 7]', async () => {
    const small = requested(clusterSpec({ workers: [nodeSet(1, { spec: 'lab.tiny' })] }));
    await story.log.say(CONNECTIONS_STREAM, registered({ provider: 'mars', region: 'lab-9' }));
    await story.request(small);
    await story.log.say(CONNECTIONS_STREAM, registered({ region: 'lab-9' }));
    await story.request({ type: 'ClusterRetryRequested', data: { uid: UID } });
    const fits = requested(clusterSpec({ name: 'second' as never }), LATER_UID);
    await story.log.say({ namespace: 'default', cluster: 'second', context: 'request' }, fits);
    await story.settle();
    const codes = story.log.events.flatMap((event) => (event.type === 'ClusterRejected' ? [event.data.code] : []));
    expect(codes).toEqual(['connection.provider-unknown', 'cluster.spec-memory', 'cluster.region-unknown']);
    expect(story.cloud.networks.size).toBe(0);
  });

  it('refuses a network load balancer if the provider has none [CB-Ladybug 3]', async () => {
    story.cloud.nlb = false;
    await story.log.say(CONNECTIONS_STREAM, registered());
    await story.settle();
    expect(await verdict({ kubernetes: { loadbalancer: 'nlb' } })).toMatchObject({
      code: 'cluster.nlb-unsupported',
      message: 'The provider lab has no network load balancer',
      field: 'config.kubernetes.loadbalancer',
    });
  });

  it('refuses a cloud controller where the provider has none, or the connection does not let clusters have its credential [CB-Ladybug 24, CB-Ladybug 25]', async () => {
    expect(await verdict({ cloudController: 'lab' })).toMatchObject({
      code: 'cluster.cloud-controller-closed',
      message: 'Clusters of connection lab may not hold its credential, which a cloud controller needs',
    });
    expect(ladybugReasonOf(story.last('ClusterRejected').code)).toBe('SetupCCMFailedReason');
    const open = { name: 'cloud', provider: 'ssh', settings: { cloudController: true } };
    expect(checkCloudController(clusterSpec({ cloudController: 'lab' }), open as never)?.code).toBe(
      'cluster.cloud-controller-provider',
    );
    expect(checkCloudController(clusterSpec({}), open as never)).toBeUndefined();
  });

  it('refuses the cloud controller of AWS if some machines have a role, unless each tier has one [CB-Ladybug 3, CB-Ladybug 24, CB-Ladybug 25]', () => {
    const aws = { name: 'cloud', provider: 'aws', settings: { cloudController: true } };
    const fault = (controlPlane: string | undefined, ...workers: readonly (string | undefined)[]) => {
      const spec = clusterSpec({ cloudController: 'aws', workers: workers.map((role) => nodeSet(1, { role })) });
      return checkCloudController(
        { ...spec, controlPlane: { ...spec.controlPlane, role: controlPlane } },
        aws as never,
      );
    };
    expect(fault('cp', 'w', 'w')).toBeUndefined();
    expect(fault(undefined, undefined, '')).toBeUndefined();
    expect(fault(undefined, 'w')).toMatchObject({ code: 'cluster.role-missing', field: 'controlPlane[0].role' });
    expect(fault('cp', '')).toMatchObject({ code: 'cluster.role-missing', field: 'worker[0].role' });
    expect(fault('cp', 'w', 'other')).toMatchObject({ code: 'cluster.role-missing', field: 'worker[1].role' });
    expect(ladybugReasonOf('cluster.role-missing')).toBe('SetupCCMFailedReason');
  });

  it("refuses pods or services in the network of the connection's machines [CB-Ladybug 5]", async () => {
    await story.log.say(CONNECTIONS_STREAM, registered({ settings: { networkCidr: '10.244.7.0/24' } }));
    expect(await verdict({})).toMatchObject({
      code: 'cluster.network-overlap',
      message: '10.244.0.0/16 overlaps the network 10.244.7.0/24 of connection lab',
      field: 'config.kubernetes.podCidr',
    });
  });

  describe('with own hosts', () => {
    const inventory = (settings: Record<string, unknown> = {}) => ({
      hosts: [{ name: 'rack-1', address: '198.51.100.33', privateAddress: '10.77.0.2' }],
      ...settings,
    });
    const site = (settings: Record<string, unknown>) =>
      surroundingsOf({ name: LAB, provider: 'ssh', settings }, '192.168.7.0/24', ['nats://192.0.2.254:4222']);
    const networks = (podCidr: string, serviceCidr: string) =>
      clusterSpec({ kubernetes: { podCidr, serviceCidr } } as never);

    it.each([
      ['the address that SSH goes to', networks('198.51.0.0/16', '10.96.0.0/12'), '198.51.100.33', 'podCidr'],
      ['its privateAddress', networks('10.244.0.0/16', '10.77.0.0/24'), '10.77.0.2', 'serviceCidr'],
      ['the address of NATS', networks('192.0.0.0/16', '10.96.0.0/12'), '192.0.2.254', 'podCidr'],
    ])('refuses pods or services over %s', (_what, spec, address, field) =>
      expect(checkNetwork(spec, site(inventory()))).toMatchObject({
        code: 'cluster.network-address',
        field: `config.kubernetes.${field}`,
        message: expect.stringContaining(`contains ${address}`),
      }),
    );

    it('assumes no network if the inventory has none', () => {
      expect(checkNetwork(networks('192.168.0.0/16', '10.96.0.0/12'), site(inventory()))).toBeUndefined();
      const named = site(inventory({ networkCidr: '10.77.0.0/24' }));
      expect(checkNetwork(networks('10.77.0.0/16', '10.96.0.0/12'), named)?.code).toBe('cluster.network-overlap');
    });

    it('refuses an API address that a host of another connection of the cluster has, or NATS', () => {
      const connection = { name: LAB, provider: 'ssh', settings: inventory({ apiAddress: '10.77.0.9' }) };
      const at = (address: string) => checkApiAddresses(connection, [{ address, owner: 'host a of connection other' }]);
      expect(at('10.77.0.9')?.code).toBe('connection.api-address-in-use');
      expect(at('10.77.0.8')).toBeUndefined();
    });
  });

  it('checks in a fixed order: with everything wrong, the namespace is named first and the connection next [CB-Ladybug 6]', async () => {
    await story.log.say(ownNamespaceStream, { type: 'NamespaceDeleted', data: { name: 'default' as never } });
    const wrong = clusterSpec({ controlPlane: nodeSet(1, { connection: OTHER, spec: 'lab.tiny' }), workers: [] });
    await story.request(requested(wrong));
    expect(story.last('ClusterRejected').code).toBe('namespace.unknown');
    await story.log.say(ownNamespaceStream, {
      type: 'NamespaceCreated',
      data: { name: 'default' as never, description: '' },
    });
    await story.request({ type: 'ClusterRetryRequested', data: { uid: UID } });
    expect(story.last('ClusterRejected').code).toBe('connection.unknown');
  });

  it('retries an unreachable provider before it fails, which is not a rejection', async () => {
    story.outage = 'connect ECONNREFUSED';
    await story.log.say(CONNECTIONS_STREAM, registered());
    await story.request(requested());
    expect(story.types().filter((type) => type === 'InfrastructureStepFailed')).toHaveLength(3);
    expect(story.last('InfrastructureFailed')).toMatchObject({ cause: { message: 'connect ECONNREFUSED' } });
    expect(story.types()).not.toContain('ClusterRejected');
    story.outage = undefined;
    await story.request({ type: 'ClusterRetryRequested', data: { uid: UID } });
    expect(story.types()).toContain('VmsCreated');
  });
});

import { ClusterRequest, REFUSALS, refuse } from '@fairlead/contracts';
import { faultsOfCluster, faultsOfNodes, toClusterSpec, overlap, parseNetwork } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { goodRequest, WRONG_REQUESTS } from './clusters.fixtures.js';

describe('the rules of a request for a cluster', () => {
  it.each(WRONG_REQUESTS)('refuse $rule [Cluster API 24, CB-Ladybug 5]', ({ body, code, status, message, field }) => {
    // The body passes the schema: the rule alone refuses it, with its own text.
    const request = ClusterRequest.parse(body);
    const faults = faultsOfCluster(request, []);
    expect(faults.map((fault) => [fault.code, fault.message, fault.field])).toEqual([[code, message, field]]);
    expect(REFUSALS[code].status).toBe(status);
    expect(faults[0]?.help).not.toMatch(/\{\w+\}/);
  });

  it('find nothing wrong with a request that leaves everything out that may be left out', () => {
    expect(faultsOfCluster(goodRequest, [])).toEqual([]);
  });

  it('find nothing wrong with a name of 63 characters [CB-Ladybug 5]', () =>
    expect(faultsOfCluster({ ...goodRequest, name: 'a'.repeat(63) }, [])).toEqual([]));

  it('report everything that is wrong at once, the namespace between shape and counts as CB-Ladybug does [CB-Ladybug 6]', () => {
    const request = {
      ...goodRequest,
      name: '',
      serviceType: 'both',
      worker: [{ connection: 'lab', count: 0, spec: 's' }],
    };
    const namespace = refuse('namespace.unknown', { namespace: 'nowhere' });
    expect(faultsOfCluster(request, [namespace]).map(({ code }) => code)).toEqual([
      'cluster.service-type',
      'cluster.name-empty',
      'namespace.unknown',
      'cluster.worker-count',
    ]);
  });

  it.each(['calico', 'flannel', 'cilium'])('let a cluster inside one cloud have the network %s', (networkCni) => {
    const request = { ...goodRequest, config: { kubernetes: { networkCni } } };
    expect(faultsOfCluster({ ...request, serviceType: 'single' }, [])).toEqual([]);
    expect(faultsOfCluster(request, []).map(({ code }) => code)).toEqual(['cluster.cni-multi']);
  });

  it.each([
    [3, []],
    [5, []],
    [7, []],
    [1, ['cluster.etcd-external-count']],
    [4, ['cluster.etcd-external-count', 'cluster.control-plane-even']],
  ])('judge an external etcd of %d members: %j [CB-Ladybug 22]', (count, codes) => {
    const request = {
      ...goodRequest,
      controlPlane: [{ connection: 'lab', count, spec: 'lab.medium' }],
      config: { kubernetes: { etcd: 'external' } },
    };
    expect(faultsOfCluster(request, []).map(({ code }) => code)).toEqual(codes);
  });

  it('let a single-node cluster be without workers', () => {
    const request = {
      name: 'one',
      singleNode: true,
      controlPlane: [{ connection: 'lab', count: 1, spec: 'lab.medium' }],
    };
    expect(faultsOfCluster(request, [])).toEqual([]);
    expect(toClusterSpec(request)).toMatchObject({ singleNode: true, workers: [] });
  });
});

describe('the defaults', () => {
  const { serviceType: _multi, ...plain } = goodRequest;

  it('are those of CB-Ladybug, with its two bugs put right, but for a network that has run on real hosts [CB-Ladybug 4]', () => {
    expect(toClusterSpec(plain)).toEqual({
      name: 'demo',
      controlPlane: {
        connection: 'lab',
        count: 3,
        spec: 'lab.medium',
        rootDisk: { type: 'default', size: 'default' },
      },
      workers: [{ connection: 'lab', count: 2, spec: 'lab.small', rootDisk: { type: 'default', size: 'default' } }],
      serviceType: 'single',
      singleNode: false,
      kubernetes: {
        version: 'v1.34.4',
        networkCni: 'flannel',
        podCidr: '10.244.0.0/16',
        serviceCidr: '10.96.0.0/12',
        serviceDnsDomain: 'cluster.local',
        loadbalancer: 'haproxy',
        etcd: 'local',
      },
      installMonAgent: 'no',
      label: '',
      description: '',
    });
  });

  it.each([
    ['kilo', 'multi'],
    ['canal', 'multi'],
    ['cilium', 'single'],
  ])('give a cluster with the network %s the service type %s', (networkCni, serviceType) => {
    expect(toClusterSpec({ ...plain, config: { kubernetes: { networkCni } } }).serviceType).toBe(serviceType);
  });

  it('take flannel for a single cluster, and a version without v', () => {
    const spec = toClusterSpec({
      ...goodRequest,
      serviceType: 'single',
      config: { kubernetes: { version: '1.33.13', podCidr: '10.200.0.0/16' } },
    });
    expect([spec.kubernetes.networkCni, spec.kubernetes.version, spec.kubernetes.podCidr]).toEqual([
      'flannel',
      'v1.33.13',
      '10.200.0.0/16',
    ]);
  });

  it('ask for an NFS storage class only when server and path are both given [CB-Ladybug 23]', () => {
    const of = (nfs: { server?: string; path?: string }) =>
      toClusterSpec({ ...goodRequest, config: { kubernetes: { storageclass: { nfs } } } }).kubernetes.storageclass;
    expect(of({ server: 'nfs.example' })).toBeUndefined();
    expect(of({ server: 'nfs.example', path: '/data' })).toEqual({ nfs: { server: 'nfs.example', path: '/data' } });
  });
});

describe('an NFS export', () => {
  it.each(['nfs', 'nfs.example.com', 'NFS-1.example', '10.0.0.5', '2001:db8::5'])('may be of %s', (server) => {
    const nfs = { server, path: '/export/my data/..hidden' };
    expect(faultsOfCluster({ ...goodRequest, config: { kubernetes: { storageclass: { nfs } } } }, [])).toEqual([]);
  });
});

describe('the rules of a request for more workers', () => {
  const worker = [{ connection: 'lab', count: 1, spec: 'lab.small' }];

  it.each([
    ['control planes', { controlPlane: worker, worker }, 'node.control-plane-unsupported', 'controlPlane'],
    ['no workers', { controlPlane: [], worker: [] }, 'cluster.worker-missing', 'worker'],
    [
      'a set without a connection',
      { worker: [{ count: 1, spec: 's' }] },
      'cluster.connection-empty',
      'worker[0].connection',
    ],
    [
      'a set without a count',
      { worker: [{ connection: 'lab', spec: 's' }] },
      'cluster.worker-count',
      'worker[0].count',
    ],
  ])('refuse %s', (_what, request, code, field) => {
    expect(faultsOfNodes(request).map((fault) => [fault.code, fault.field])).toEqual([[code, field]]);
  });
});

describe('networks', () => {
  const ip = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((parts) => parts.join('.'));
  const network = fc.tuple(ip, fc.integer({ min: 1, max: 32 })).map(([address, prefix]) => `${address}/${prefix}`);
  const range = (cidr: string): readonly [number, number] => {
    const [address = '', prefix = ''] = cidr.split('/');
    const number = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
    const size = 2 ** (32 - Number(prefix));
    const first = Math.floor(number / size) * size;
    return [first, first + size - 1];
  };

  it('overlap exactly when they share an address, in either order [CB-Ladybug 5]', () => {
    fc.assert(
      fc.property(network, network, (one, other) => {
        const [first, last] = range(one);
        const [otherFirst, otherLast] = range(other);
        const shared = first <= otherLast && otherFirst <= last;
        expect(overlap(parseNetwork(one)!, parseNetwork(other)!)).toBe(shared);
        expect(overlap(parseNetwork(other)!, parseNetwork(one)!)).toBe(shared);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    '10.244.0.0',
    '10.244.0.0/33',
    '10.244.0.0/0',
    '10.244.0/16',
    '0x0a.0.0.0/8',
    '::/64',
    '010.1.1.1/8',
    ' 10.0.0.0/8',
  ])('are not what %s says [CB-Ladybug 5]', (text) => {
    expect(parseNetwork(text)).toBeUndefined();
  });
});

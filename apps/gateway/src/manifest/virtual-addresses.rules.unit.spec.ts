import { specOfManifest, ClusterManifest } from '@fairlead/contracts';
import type { RegisteredConnection } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import { virtualAddressFaults, type AddressSurroundings } from './virtual-addresses.rules.js';

const transport = { name: 'https', frontendPort: 443, backendPort: 30443, backends: ['web'] };
const ingress = { name: 'ingress', address: '192.0.2.5', holders: ['edge', 'control-plane'], transports: [transport] };

const host = (name: string, address: string) => ({ name, address });
const connection = (provider: string, settings: unknown = {}): RegisteredConnection =>
  ({ provider, settings }) as unknown as RegisteredConnection;

const SURROUNDINGS: AddressSurroundings = {
  connections: new Map([
    ['own', connection('ssh', { hosts: [host('h1', '192.0.2.11')], apiAddress: '192.0.2.9', apiPort: 8443 })],
    ['other', connection('ssh', { hosts: [host('h2', '203.0.113.11')] })],
    ['six', connection('ssh', { hosts: [host('h6', '2001:db8::11')] })],
    ['local', connection('nspawn', { stateDir: '/srv/hosts' })],
    ['cloud', connection('aws')],
    ['lab', connection('lab', { endpoint: 'http://127.0.0.1:1' })],
    ['light-lab', connection('lab', { endpoint: 'http://127.0.0.1:1', virtualAddresses: true })],
  ]),
  taken: new Map([['192.0.2.77', 'node shop-web-1']]),
};

const pool = (name: string, of = 'own') => ({ name, replicas: 1, connection: of, machineType: 'ssh.any' });

const faults = (virtualAddresses: readonly object[], pools = [pool('web'), pool('edge')]): readonly unknown[] => {
  const manifest = ClusterManifest.parse({
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'shop' },
    spec: { controlPlane: { replicas: 1, connection: 'own', machineType: 'ssh.any' }, pools, virtualAddresses },
  });
  return virtualAddressFaults(specOfManifest(manifest.spec), SURROUNDINGS).map(({ code, field, message }) => [
    code,
    field?.replace('spec.virtualAddresses', ''),
    message,
  ]);
};

const withTransport = (change: object) => [{ ...ingress, transports: [{ ...transport, ...change }] }];
const has = (message: string): unknown => expect.stringContaining(message);

describe('virtual addresses', () => {
  it('of own hosts, for pools of the manifest, are accepted', () => {
    expect(faults([ingress, { ...ingress, name: 'second', address: '192.0.2.6' }])).toEqual([]);
    expect(faults([])).toEqual([]);
  });

  it.each([
    [
      'names another one has',
      [ingress, { ...ingress, address: '192.0.2.6' }],
      'address.name-taken',
      '[1].name',
      'Two virtual addresses are named ingress',
    ],
    [
      'are the address of another one',
      [ingress, { ...ingress, name: 'b' }],
      'address.taken',
      '[1].address',
      'is already in use by ingress',
    ],
    [
      'are of another family than the nodes that are to hold them',
      [{ ...ingress, address: '2001:db8::5' }],
      'address.family',
      '[0].address',
      'connection own, e.g. 192.0.2.11',
    ],
    [
      'are the address of a host',
      [{ ...ingress, address: '192.0.2.11' }],
      'address.taken',
      '[0].address',
      'host h1 of connection own',
    ],
    [
      'are the address of the API',
      [{ ...ingress, address: '192.0.2.9' }],
      'address.taken',
      '[0].address',
      'apiAddress of connection own',
    ],
    [
      'are the address of a node',
      [{ ...ingress, address: '192.0.2.77' }],
      'address.taken',
      '[0].address',
      'node shop-web-1',
    ],
    [
      'are in the network of pods',
      [{ ...ingress, address: '10.244.3.4' }],
      'address.in-cluster',
      '[0].address',
      '10.244.0.0/16, the network of pods',
    ],
    [
      'are in the network of services',
      [{ ...ingress, address: '10.96.0.40' }],
      'address.in-cluster',
      '[0].address',
      'the network of services',
    ],
    [
      'are no address that a node can have',
      [{ ...ingress, address: '127.0.0.9' }],
      'address.unusable',
      '[0].address',
      'loopback',
    ],
    [
      'are held by a pool that is not declared',
      [{ ...ingress, holders: ['egde'] }],
      'address.pool-unknown',
      '[0].holders[0]',
      'did you mean edge?',
    ],
    [
      'send to a pool that is not declared',
      withTransport({ backends: ['web', 'jobs'] }),
      'address.pool-unknown',
      '[0].transports[0].backends[1]',
      'declared are control-plane, web, edge',
    ],
    [
      'have two ports of one number',
      [{ ...ingress, transports: [transport, { ...transport, name: 'b' }] }],
      'transport.port-twice',
      '[0].transports[1].frontendPort',
      'https and b',
    ],
    [
      'have two ports of one name',
      [{ ...ingress, transports: [transport, { ...transport, frontendPort: 444 }] }],
      'transport.name-taken',
      '[0].transports[1].name',
      'Two transports of the virtual address are named https',
    ],
    [
      'use the port of the SSH server',
      withTransport({ frontendPort: 22 }),
      'transport.port-used',
      '[0].transports[0].frontendPort',
      'the SSH server',
    ],
    [
      'use the port of kubelets',
      withTransport({ frontendPort: 10_250 }),
      'transport.port-used',
      '[0].transports[0].frontendPort',
      'the kubelet',
    ],
    [
      'use the port of the balanced API',
      withTransport({ frontendPort: 8443 }),
      'transport.port-used',
      '[0].transports[0].frontendPort',
      'the balanced Kubernetes API',
    ],
    [
      'use a node port',
      withTransport({ frontendPort: 30_080 }),
      'transport.port-used',
      '[0].transports[0].frontendPort',
      'NodePort',
    ],
    [
      'send to the port that they listen on',
      withTransport({ frontendPort: 8080, backendPort: 8080 }),
      'transport.port-same',
      '[0].transports[0].backendPort',
      'both 8080',
    ],
    [
      'let in no client of their family',
      withTransport({ allow: ['2001:db8::/32'] }),
      'transport.allow-family',
      '[0].transports[0].allow',
      '192.0.2.5',
    ],
    [
      'are checked too rarely',
      withTransport({ healthCheck: { interval: '5m' } }),
      'transport.interval',
      '[0].transports[0].healthCheck.interval',
      '5m',
    ],
  ] as const)('are refused that %s', (...[, addresses, code, field, message]) =>
    expect(faults(addresses as readonly object[])).toEqual([[code, field, has(message)]]),
  );

  it('of IPv6, for nodes with such addresses, are compared however they are written', () => {
    const six = { ...ingress, address: '2001:db8::a', holders: ['six'] };
    const pools = [pool('web', 'six'), pool('six', 'six')];
    expect(faults([six], pools)).toEqual([]);
    expect(faults([six, { ...six, name: 'b', address: '2001:DB8:0::A' }], pools)).toEqual([
      ['address.taken', '[1].address', has('is already in use by ingress')],
    ]);
    expect(faults([{ ...six, address: '192.0.2.5' }], pools)).toEqual([
      ['address.family', '[0].address', has('connection six, e.g. 2001:db8::11')],
    ]);
  });

  it('of IPv6 are refused for hosts of nspawn, which have a network of IPv4', () => {
    const local = { ...ingress, address: '2001:db8::5', holders: ['web'] };
    expect(faults([local], [pool('web', 'local')])).toEqual([
      ['address.family', '[0].address', has('connection local')],
    ]);
  });

  it('are refused where nodes share no network', () => {
    const cloud = [pool('web'), pool('edge', 'cloud')];
    expect(faults([{ ...ingress, holders: ['edge'] }], cloud)).toEqual([
      ['address.provider', '[0].holders', has('connection cloud (aws)')],
    ]);
    expect(faults([{ ...ingress, holders: ['edge'] }], [pool('web'), pool('edge', 'lab')])).toEqual([
      ['address.provider', '[0].holders', has('connection lab (lab)')],
    ]);
    expect(faults([{ ...ingress, holders: ['edge'] }], [pool('web'), pool('edge', 'light-lab')])).toEqual([]);
    const two = [pool('web'), pool('edge', 'other')];
    expect(faults([ingress], two)).toEqual([['address.networks', '[0].holders', has('other, own')]]);
  });
});

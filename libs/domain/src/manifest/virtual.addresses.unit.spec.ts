import { describe, expect, it } from '@jest/globals';
import {
  NodeLoadBalancing,
  upstreamsOf,
  ClusterManifest,
  specOfManifest,
  type DeclaredSpec,
  VirtualAddress,
} from '@fairlead/contracts';
import { changedFields } from './manifest.diff.js';
import { declared, pool } from './manifest.fixtures.js';
import { planOf } from './manifest.plan.js';

const https = { name: 'https', frontendPort: 443, backendPort: 30443, backends: ['web', 'edge'] };
const ingress = { name: 'ingress', address: '192.0.2.5', holders: ['edge', 'web'], transports: [https] };

const withAddresses = (...addresses: readonly object[]): DeclaredSpec =>
  declared([pool('web', 2), pool('edge', 2)], { virtualAddresses: addresses.map((one) => VirtualAddress.parse(one)) });
const none = declared([pool('web', 2), pool('edge', 2)]);
const steps = (before: DeclaredSpec | undefined, after: DeclaredSpec): readonly unknown[] =>
  planOf(before, after, { members: [] })
    .filter(({ action }) => action === 'balance-addresses')
    .map(({ reason, count }) => [reason, count]);

describe('a virtual address in a manifest', () => {
  it('has every default: connections from anywhere, and a port that accepts connections is healthy', () =>
    expect(VirtualAddress.parse(ingress).transports[0]).toEqual({
      ...https,
      healthCheck: { protocol: 'tcp', path: '/', code: 200, interval: '2s' },
      allow: ['0.0.0.0/0', '::/0'],
      proxyProtocol: false,
    }));

  it.each([
    ['an address that is none', { address: '192.0.2.256' }],
    ['a name with blanks', { name: 'in gress' }],
    ['an interface that is none', { interface: 'eth0; reboot' }],
    ['no holder', { holders: [] }],
    ['no port', { transports: [] }],
    ['a port beyond 65535', { transports: [{ ...https, frontendPort: 70_000 }] }],
    ['a network that is none', { transports: [{ ...https, allow: ['10.0.0.0/33'] }] }],
    ['a path that would be a line of its own', { transports: [{ ...https, healthCheck: { path: '/\n  bind :1' } }] }],
    ['a path with a quote', { transports: [{ ...https, healthCheck: { path: '/"' } }] }],
    ['a status that is none', { transports: [{ ...https, healthCheck: { code: 42 } }] }],
    ['a field that there is not', { vip: true }],
  ])('rejects %s', (_what, change) => expect(VirtualAddress.safeParse({ ...ingress, ...change }).success).toBe(false));

  it('is absent from the spec if none is declared, so that older events compare equal', () => {
    const manifest = (virtualAddresses?: readonly object[]) =>
      specOfManifest(
        ClusterManifest.parse({
          apiVersion: 'fairlead.dev/v1alpha1',
          kind: 'Cluster',
          metadata: { name: 'demo' },
          spec: {
            controlPlane: { replicas: 1, connection: 'own', machineType: 'ssh.any' },
            ...(virtualAddresses === undefined ? {} : { virtualAddresses }),
          },
        }).spec,
      );
    expect(manifest([])).toEqual(manifest());
    expect(manifest()).not.toHaveProperty('virtualAddresses');
    expect(changedFields(manifest(), manifest([]))).toEqual([]);
  });

  it('is identified by name: the order of addresses, ports, pools and networks has no meaning', () => {
    const other = { ...ingress, name: 'other', address: '192.0.2.6' };
    const turned = {
      ...ingress,
      holders: ['web', 'edge'],
      transports: [
        { ...https, name: 'http', frontendPort: 80 },
        { ...https, backends: ['edge', 'web'] },
      ],
    };
    const straight = { ...ingress, transports: turned.transports.toReversed() };
    expect(changedFields(withAddresses(straight, other), withAddresses(other, turned))).toEqual([]);
  });

  it("shows its changes, and the plan's step names the addresses", () => {
    const changed = { ...ingress, transports: [{ ...https, frontendPort: 8443 }] };
    expect(changedFields(withAddresses(ingress), withAddresses(changed))).toEqual([
      { field: 'virtualAddresses[ingress].transports[https].frontendPort', before: '443', after: '8443' },
    ]);
    expect(steps(withAddresses(ingress), withAddresses(changed))).toEqual([['ingress changes', 1]]);
    expect(steps(none, withAddresses(ingress))).toEqual([['ingress is new', 1]]);
    expect(steps(withAddresses(ingress), none)).toEqual([['ingress is not in the manifest', 1]]);
    expect(steps(undefined, withAddresses(ingress))).toEqual([['ingress is new', 1]]);
    expect(steps(withAddresses(ingress), withAddresses(ingress))).toEqual([]);
  });

  it('lists each node behind a port once, even with several pools', () => {
    const web = [
      { node: 'w-2', address: '192.0.2.32' },
      { node: 'w-1', address: '192.0.2.31' },
    ];
    const balancing = NodeLoadBalancing.parse({ self: '192.0.2.21', pools: { web }, addresses: [] });
    const names = upstreamsOf(balancing, { backends: ['web', 'web', 'gone'] as never }).map(({ node }) => node);
    expect(names).toEqual(['w-1', 'w-2']);
  });
});

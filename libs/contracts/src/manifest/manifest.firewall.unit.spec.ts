import { describe, expect, it } from '@jest/globals';
import { apiAccessOf, apiAccessText } from '../network/api.access.js';
import { Firewall, firewallFaults } from '../network/firewall.js';
import { ClusterManifest, specOfManifest } from './cluster.manifest.js';

const machines = { connection: 'lab', machineType: 'lab.medium' };
const manifest = (spec: object = {}) =>
  ClusterManifest.parse({
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'demo' },
    spec: { controlPlane: { replicas: 1, ...machines }, ...spec },
  }).spec;
const firewallOf = (spec: object, current?: object) =>
  specOfManifest(manifest(spec), current === undefined ? undefined : specOfManifest(manifest(current))).firewall;

describe('the Kubernetes API of a cluster whose manifest declares no firewall', () => {
  it('is closed to all but nodes, pods and Fairlead if the cluster is new', () => {
    expect(firewallOf({})).toEqual({ enabled: true, scope: 'api' });
    expect(apiAccessText(apiAccessOf(firewallOf({}), '192.0.2.5'))).toBe('its nodes, its pods and Fairlead');
  });

  it('stays as it is if the cluster exists, with a firewall or without', () => {
    const { firewall: _none, ...old } = specOfManifest(manifest());
    expect(specOfManifest(manifest(), old).firewall).toBeUndefined();
    expect(firewallOf({}, { firewall: { ssh: ['192.0.2.0/24'] } })).toEqual({ enabled: true, ssh: ['192.0.2.0/24'] });
    expect(firewallOf({ firewall: { enabled: false } }, {})).toEqual({ enabled: false });
  });

  it('is open to everyone, and says so, where nodes or balancers connect from unknown addresses', () => {
    const open = { enabled: true, scope: 'api', api: 'everyone' };
    expect(firewallOf({ loadBalancer: 'nlb' })).toEqual(open);
    expect(firewallOf({ network: { cni: 'kilo' } })).toEqual(open);
    expect(firewallOf({ pools: [{ name: 'edge', connection: 'edge', machineType: 'join.any' }] })).toEqual(open);
  });
});

describe('who may connect to the Kubernetes API', () => {
  const access = (firewall: object | undefined, balancer?: string): string =>
    apiAccessText(apiAccessOf(firewall === undefined ? undefined : Firewall.parse(firewall), balancer));

  it('is everyone without a firewall, and by an explicit word', () => {
    expect(access(undefined)).toBe('everyone, because no firewall closes it');
    expect(access({ enabled: false })).toBe('everyone, because no firewall closes it');
    expect(access({ api: 'everyone' })).toBe('everyone');
    expect(Firewall.safeParse({ api: 'anyone' }).success).toBe(false);
  });

  it('is listed, and cut short after five networks', () => {
    expect(access({ api: ['192.0.2.0/24'] })).toBe('its nodes, its pods, Fairlead and 192.0.2.0/24');
    const many = Array.from({ length: 9 }, (_, at) => `192.0.2.${at}`);
    expect(access({ api: many })).toMatch(/192\.0\.2\.4 and 4 more networks$/);
  });

  it('is everyone while a balancer with a name is in front of it and nothing is declared', () => {
    expect(access({ scope: 'api' }, 'api.example.org')).toContain('its load balancer has a name');
    expect(access({ scope: 'api', api: ['192.0.2.5'] }, 'api.example.org')).toContain('192.0.2.5');
    expect(access({ scope: 'api' }, '2001:db8::5')).toBe('its nodes, its pods and Fairlead');
  });

  it('cannot be declared with lists that have no effect', () => {
    const faults = firewallFaults(Firewall.parse({ scope: 'api', ssh: ['192.0.2.0/24'], nodes: ['10.0.0.0/8'] }), []);
    expect(faults.map(({ code, field }) => [code, field])).toEqual([['firewall.scope-unread', 'spec.firewall.ssh']]);
  });
});

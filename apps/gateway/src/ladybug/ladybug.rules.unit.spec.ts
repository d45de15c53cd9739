import { ClusterRequest, refuse, type RefusalCode } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { goodRequest } from '../clusters/clusters.fixtures.js';
import { inItsWords, ladybugRouteOf, withoutEmpty, withoutUnknown } from './ladybug.rules.js';

describe('a body below the base of CB-Ladybug', () => {
  it('loses empty text and null, at any depth, and nothing else', () => {
    expect(withoutEmpty({ a: '', b: null, c: 0, d: false, e: [{ f: '', g: 'x' }, 1], h: { i: '' } })).toEqual({
      c: 0,
      d: false,
      e: [{ g: 'x' }, 1],
      h: {},
    });
  });

  it('is never the end of the gateway, whatever it holds', () => {
    const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown;
    expect(() => withoutEmpty(deep)).not.toThrow();
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        expect(() => withoutUnknown(withoutEmpty(value), ClusterRequest)).not.toThrow();
      }),
    );
  });

  it('loses what its schema does not know, and keeps what is wrong with the rest', () => {
    const given = {
      ...goodRequest,
      colour: 'red',
      config: { kubernetes: { podCIDR: 'x', podCidr: 7 } },
      worker: [{ connection: 'lab', count: 1, spec: 's', size: 1 }],
    };
    expect(withoutUnknown(given, ClusterRequest)).toEqual({
      ...goodRequest,
      config: { kubernetes: { podCidr: 7 } },
      worker: [{ connection: 'lab', count: 1, spec: 's' }],
    });
  });

  it.each([
    ['POST', 'ns/a/clusters', ['body', 'defaults']],
    ['POST', 'ns/a/clusters/b/nodes', ['body']],
    ['GET', 'ns/a/clusters', ['query']],
    ['GET', 'ns/a/clusters/b', ['query']],
    ['GET', 'ns/a/clusters/b/nodes/c', ['query']],
    ['GET', 'mcir/connections/x/specs', ['query']],
    ['POST', 'ns/a/clusters/b/upgrades', []],
    ['PUT', 'connections/x', []],
  ])('of %s %s is read leniently in %j', (method, path, parts) => {
    expect(Object.keys(ladybugRouteOf(method, path))).toEqual(parts);
  });
});

type Text = readonly [code: RefusalCode, values: Readonly<Record<string, string | number>>, text: string];

/**
 * The texts of CB-Ladybug v0.7.2 for its rules, in their order, as its source has them: rest-api/router/cluster.go and node.go,
 * utils/lang/functions.go, core/service/cluster.go, mcir.go and node.go.
 */
const TEXTS: readonly Text[] = [
  ['cluster.control-plane-missing', {}, 'Control plane node must be at least one'],
  ['cluster.control-plane-sets', {}, 'Only one control plane node is supported'],
  ['cluster.worker-missing', {}, 'Worker node must be at least one'],
  ['cluster.cni-multi', {}, 'Network-cni allows only canal or kilo in Multi-Cloud type'],
  ['cluster.cni-single', {}, 'Network-cni allows only calico or flannel in Single-Cloud type'],
  ['cluster.loadbalancer', {}, 'loadbalancer allows only haproxy or nlb'],
  ['cluster.etcd', {}, 'etcd allows only local or external'],
  ['cluster.etcd-external-count', {}, 'External etcd must have 3,5,7 controlPlane count'],
  ['cluster.name-empty', {}, 'Cluster name is empty'],
  [
    'cluster.name-invalid',
    { name: 'Wrong', max: 63 },
    'Wrong: The first character of name must be a lowercase letter, and all following characters must be a dash, lowercase letter, or digit, except the last character, which cannot be a dash.',
  ],
  ['cluster.pod-cidr', { value: '10.0/8' }, 'podCidr 10.0/8 : Type mismatch ex)10.244.0.0/16'],
  ['cluster.service-cidr', { value: '10.0/8' }, 'serviceCidr 10.0/8 : Type mismatch ex)10.244.0.0/16'],
  ['cluster.connection-empty', {}, 'Connection is empty'],
  ['cluster.spec-empty', {}, 'Machine specification is empty'],
  ['node.control-plane-unsupported', {}, 'Control plane node is not supported'],
  ['namespace.unknown', { namespace: 'moon' }, 'Could not be found a namespace. (namespace=moon)'],
  ['cluster.role-missing', {}, 'Failed to prepare cloud-controller-manager: role should be assigned'],
  ['cluster.nlb-unsupported', { provider: 'lab' }, 'lab does not yet supported nlb loadbalancer.'],
  ['cluster.control-plane-count', {}, 'Control-Plane count must be at least one.'],
  ['cluster.worker-count', { connection: 'lab' }, 'Worker count must be at least one. (connection=lab)'],
  [
    'cluster.name-taken',
    { cluster: 'demo', namespace: 'default' },
    "The cluster 'demo' already exists. (namespace=default)",
  ],
  [
    'cluster.machines-exist',
    { cluster: 'demo', namespace: 'default' },
    'MCIS already exists. (namespace=default, mcis=demo)',
  ],
  ['connection.unknown', { connection: 'moon' }, 'Connection does not exist. (moon)'],
  ['connection.provider-unknown', { provider: 'moon' }, "The CSP 'moon' is not supported"],
  [
    'cluster.spec-unknown',
    { spec: 'x', connection: 'lab', provider: 'aws' },
    "Could not be found a spec 'x'. (connection=lab, csp=aws)",
  ],
  ['cluster.region-unknown', { region: 'moon' }, 'Region does not exist (moon)'],
  [
    'cluster.spec-cpu',
    { spec: 'x', provider: 'aws', cpu: 1 },
    'Kubernetes control plane node needs 2 cpu at least. (csp=aws, spec=x, cpu=1)',
  ],
  [
    'cluster.spec-memory',
    { spec: 'x', provider: 'aws', memory: 1 },
    'kubernetes node needs 2 GiB or more of RAM. (csp=aws, spec=x, memory=1GB)',
  ],
  [
    'spec-list.range',
    { name: 'cpu', min: 4, max: 2 },
    'The cpu-max must be greater than or equal to the cpu-min. (cpu-min=4 cpu-max=2)',
  ],
  [
    'spec-list.range',
    { name: 'memory', min: 4, max: 2 },
    'The memory-max must be greater than or equal to the memory-min. (memory-min=4 memory-max=2)',
  ],
  ['cluster.not-ready', { action: 'add a node', phase: 'Failed' }, "Unable to add a node. status is 'Failed'."],
  ['node.initial-control-plane', {}, 'Could not be delete a control-plane leader node.'],
];

/** What CB-Ladybug does not find, by the request. */
const UNKNOWN: readonly (readonly [request: string, code: 'cluster.unknown' | 'node.unknown', text: string])[] = [
  ['GET cluster', 'cluster.unknown', "Could not be found a cluster 'demo' (namespace=default)"],
  ['DELETE cluster', 'cluster.unknown', "Could not be found cluster 'demo'. (namespace=default)"],
  ['POST cluster', 'cluster.unknown', "Could not be found a cluster 'demo'. (namespace=default)"],
  ['GET node', 'cluster.unknown', "Could not be found a node 'n' (namespace=default, cluster=demo)"],
  ['GET node', 'node.unknown', "Could not be found a node 'n' (namespace=default, cluster=demo)"],
  ['DELETE node', 'cluster.unknown', 'Could not be found a cluster. (namespace=default, cluster=demo)'],
  ['DELETE node', 'node.unknown', "Could not be found a node-entity 'n'"],
];

describe('a refusal below the base of CB-Ladybug', () => {
  const place = { method: 'POST', namespace: 'default', cluster: 'demo', addsNodes: false };
  const other = refuse('cluster.single-connection', { connection: 'moon' }, 'worker[0].connection');

  it.each([
    [false, 'All nodes must be the same connection config. (connection=moon)'],
    [true, 'The new node must be the same connection config. (connection=moon)'],
  ])('has its text for a second connection, of new nodes (%s) as of a cluster [CB-Ladybug 3]', (addsNodes, message) =>
    expect(inItsWords(other, { ...place, addsNodes })).toEqual({ ...other, message }),
  );

  it.each(TEXTS)('has the exact text of CB-Ladybug for %s [CB-Ladybug 3]', (code, values, text) =>
    expect(inItsWords(refuse(code, values), place).message).toBe(text),
  );

  it.each(UNKNOWN)('of a %s has its text for %s: %s [CB-Ladybug 3]', (asked, code, text) => {
    const [method = '', of] = asked.split(' ');
    const values = { cluster: 'demo', namespace: 'default', node: 'n' };
    const node = of === 'node' ? { node: 'n' } : {};
    expect(inItsWords(refuse(code, values), { ...place, method, ...node }).message).toBe(text);
  });

  it('keeps what a value says, even if it is a part of our sentence', () => {
    const values = { cluster: "a' does not exist in the namespace 'b", namespace: 'default' };
    expect(inItsWords(refuse('cluster.unknown', values), place).message).toBe(
      `Could not be found a cluster '${values.cluster}'. (namespace=default)`,
    );
  });

  it.each([
    refuse('cluster.control-plane-even', { count: 4 }),
    { ...refuse('cluster.spec-unknown'), message: "Could not be found a spec 'x'. (connection=lab, csp=lab)" },
  ])('is as it was where CB-Ladybug has no text, or an earlier release recorded it', (refusal) =>
    expect(inItsWords(refusal, place)).toEqual(refusal),
  );
});

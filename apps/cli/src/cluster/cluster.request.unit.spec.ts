import { describe, expect, it } from '@jest/globals';
import { ClusterRequest } from '@fairlead/contracts';
import { CliFailure } from '../failures.js';
import { clusterRequest, parseClusterDocument } from './cluster.request.js';

const FILE = `
name: from-file
serviceType: multi
controlPlane: [{ connection: a, count: 1, spec: small }]
worker:
  - { connection: a, count: 2, spec: small }
config: { kubernetes: { networkCni: kilo, podCidr: 10.1.0.0/16 } }
`;

const document = () => parseClusterDocument(FILE, 'cluster.yaml');

const MANIFEST = 'apiVersion: fairlead.dev/v1alpha1\nkind: Cluster\nmetadata: { name: shop }\n';

const usageOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof CliFailure && error.exit === 'usage') return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('a request from options alone', () => {
  it('has three control planes and two workers on one connection', () =>
    expect(clusterRequest('demo', undefined, { connection: 'lab', machineType: 'lab.medium' })).toEqual({
      name: 'demo',
      controlPlane: [{ connection: 'lab', count: 3, spec: 'lab.medium' }],
      worker: [{ connection: 'lab', count: 2, spec: 'lab.medium' }],
    }));

  it.each([{ controlPlanes: 1 }, {}])('is a single node without workers: %j', (given) =>
    expect(clusterRequest('small', undefined, { ...given, workers: 0, connection: 'lab', machineType: 's' })).toEqual({
      name: 'small',
      singleNode: true,
      controlPlane: [{ connection: 'lab', count: 1, spec: 's' }],
    }),
  );

  it('with several control planes and no workers is sent as it is, for the server to refuse', () =>
    expect(clusterRequest('demo', undefined, { controlPlanes: 3, workers: 0 })).toEqual({
      name: 'demo',
      controlPlane: [{ count: 3 }],
    }));

  it('sends every option under its name in the REST API', () => {
    const request = clusterRequest('demo', undefined, {
      controlPlanes: 5,
      workers: 4,
      connection: 'lab',
      machineType: 'a',
      workerMachineType: 'b',
      kubernetesVersion: 'v1.33.13',
      cni: 'calico',
      podCidr: '10.2.0.0/16',
      serviceCidr: '10.3.0.0/16',
      description: 'why',
    });
    expect(request).toEqual({
      name: 'demo',
      description: 'why',
      controlPlane: [{ connection: 'lab', count: 5, spec: 'a' }],
      worker: [{ connection: 'lab', count: 4, spec: 'b' }],
      config: {
        kubernetes: { version: 'v1.33.13', networkCni: 'calico', podCidr: '10.2.0.0/16', serviceCidr: '10.3.0.0/16' },
      },
    });
    expect(ClusterRequest.safeParse(request).success).toBe(true);
  });

  it('omits missing fields, which the server refuses', () =>
    expect(clusterRequest('demo', undefined, {})).toMatchObject({
      controlPlane: [{ count: 3 }],
      worker: [{ count: 2 }],
    }));
});

describe('a request from a file', () => {
  it('is sent as it is', () => expect(clusterRequest(undefined, document(), {})).toEqual(document()));

  it('is overridden by options, and keeps its other fields', () =>
    expect(clusterRequest('other', document(), { workers: 7, machineType: 'large', cni: 'canal' })).toEqual({
      name: 'other',
      serviceType: 'multi',
      controlPlane: [{ connection: 'a', count: 1, spec: 'large' }],
      worker: [{ connection: 'a', count: 7, spec: 'large' }],
      config: { kubernetes: { networkCni: 'canal', podCidr: '10.1.0.0/16' } },
    }));

  it('gets no additional workers if it has several sets of them', () =>
    expect(usageOf(() => clusterRequest('x', { worker: [{ count: 1 }, { count: 2 }] }, { workers: 5 }))).toContain(
      'cannot be divided',
    ));

  it('requires a name', () =>
    expect(usageOf(() => clusterRequest(undefined, { controlPlane: [] }, {}))).toBe('A cluster needs a name'));

  it.each([
    ['a list', '- 1'],
    ['a word', 'hello'],
    ['nothing', ''],
  ])('is refused if it contains %s', (_what, text) =>
    expect(usageOf(() => parseClusterDocument(text, 'f.yaml'))).toBe('f.yaml does not hold a request for CB-Ladybug'),
  );

  it('is refused if it is not YAML', () =>
    expect(usageOf(() => parseClusterDocument('a: [', 'f.yaml'))).toContain('f.yaml is not YAML'));
});

describe('a file that is a manifest', () => {
  it('is not a request for CB-Ladybug', () =>
    expect(usageOf(() => parseClusterDocument(MANIFEST, 'shop.yaml'))).toBe(
      'shop.yaml holds a manifest, not a request for CB-Ladybug',
    ));
});

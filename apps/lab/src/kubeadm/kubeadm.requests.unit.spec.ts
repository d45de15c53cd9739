import { describe, expect, it } from '@jest/globals';
import { DEFAULT_TUNING, initConfig, joinControlPlaneConfig, joinWorkerConfig } from '@fairlead/node-scripts';
import { clusterSettings } from '../light/light.fixtures.js';
import { parseInitConfiguration, parseJoinConfiguration } from './kubeadm.requests.js';
import { goDurationMs } from './kubeadm.command.js';

const node = {
  name: 'cp-1',
  address: '127.9.0.1',
  providerId: 'lab://i-1',
  labels: { a: 'b', 'c.d/e': 'f' },
  tuning: DEFAULT_TUNING,
};
const cluster = clusterSettings('demo', { host: '127.9.200.1', port: 6443 });
const hash = `sha256:${'ab'.repeat(32)}`;

describe.each(['kubeadm.k8s.io/v1beta3', 'kubeadm.k8s.io/v1beta4'] as const)('a configuration of %s', (api) => {
  const settings = { ...cluster, api, nodeCidrMask: 25 };

  it('defines the cluster and the node of init', () => {
    const request = parseInitConfiguration(initConfig(settings, { ...node, schedulable: true }), 'host');
    expect(request).toMatchObject({
      clusterName: 'demo',
      kubernetesVersion: 'v1.34.4',
      endpoint: '127.9.200.1:6443',
      podCidr: '10.244.0.0/16',
      nodeCidrMask: 25,
      failSwapOn: true,
      node: { name: 'cp-1', labels: node.labels, providerId: 'lab://i-1', taints: [] },
    });
    expect(
      parseInitConfiguration(initConfig(settings, { ...node, schedulable: false }), 'host').node.taints,
    ).toBeUndefined();
  });

  it('leaves the node CIDR mask to Kubernetes for clusters of earlier releases', () => {
    const { nodeCidrMask: _, ...earlier } = settings;
    expect(parseInitConfiguration(initConfig(earlier, { ...node, schedulable: true }), 'host').nodeCidrMask).toBe(
      undefined,
    );
  });

  it('defines the endpoint and the credentials of join', () => {
    const credentials = { token: 'abcdef.0123456789abcdef', caCertHash: hash };
    const worker = parseJoinConfiguration(joinWorkerConfig(settings, node, credentials), 'host');
    expect(worker).toMatchObject({ endpoint: '127.9.200.1:6443', token: credentials.token, caCertHashes: [hash] });
    expect(worker.controlPlane).toBeUndefined();
    const certificateKey = 'cd'.repeat(32);
    const other = parseJoinConfiguration(
      joinControlPlaneConfig(settings, node, { ...credentials, certificateKey }),
      'host',
    );
    expect(other.controlPlane).toEqual({ certificateKey });
  });
});

describe('kubeadm', () => {
  it("rejects an unknown configuration with kubeadm's message", () => {
    expect(() =>
      parseInitConfiguration('apiVersion: kubeadm.k8s.io/v1alpha1\nkind: InitConfiguration\n', 'host'),
    ).toThrow('unsupported API spec: "kubeadm.k8s.io/v1alpha1"');
    expect(() => parseInitConfiguration('a: [', 'host')).toThrow('error converting YAML to JSON');
    expect(() => parseJoinConfiguration('', 'host')).toThrow('no InitConfiguration or JoinConfiguration kind');
  });

  it('parses Go durations', () => {
    expect(['24h0m0s', '1800s', '15m', '1.5h', '250ms'].map(goDurationMs)).toEqual([
      86_400_000, 1_800_000, 900_000, 5_400_000, 250,
    ]);
    expect(() => goDurationMs('soon')).toThrow('invalid duration "soon"');
  });
});

import { describe, expect, it } from '@jest/globals';
import { recordedProviderId, type Fact, type Machine } from '@fairlead/contracts';
import { DEFAULT_TUNING, joinWorkerConfig } from '@fairlead/node-scripts';
import {
  balanced,
  cp,
  created,
  machine,
  requested,
  stateAfter,
  UID,
  VERSION,
  w,
} from '../bootstrap/bootstrap.fixtures.js';
import { hostsOf, type Cluster, type Host, type Present } from '../bootstrap/bootstrap.state.js';
import { agentSource, clusterSettings, nodeSettings, tuningOf, versionOn } from './node.settings.js';

const CONTAINER: Machine['profile'] = {
  source: { kind: 'files', location: '/opt/fairlead/mirror', unsigned: true },
  nodeBinary: '/opt/fairlead/node',
  cgroupDriver: 'cgroupfs',
  kubeProxyMode: 'nftables',
  failSwapOn: undefined,
};

const stateWith = (...machines: readonly Machine[]): Cluster => {
  const facts: Fact[] = [requested(1, 1), created(machines), balanced];
  return (stateAfter(...facts) as Present).cluster;
};
const hostNamed = (cluster: Cluster, name: string): Host =>
  hostsOf(cluster).find((host) => host.machine.name === name) as Host;

it("settings of a host's provider override those of this service, which override the defaults", () => {
  const configured = { ...DEFAULT_TUNING, failSwapOn: false, kubeProxyMode: 'ipvs' } as const;
  expect(tuningOf(configured, undefined)).toEqual(configured);
  expect(tuningOf(configured, CONTAINER)).toEqual({
    ...configured,
    cgroupDriver: 'cgroupfs',
    kubeProxyMode: 'nftables',
  });
});

it("the cluster has the settings of its first control plane's host, and each node those of its own host", () => {
  const cluster = stateWith({ ...machine(cp(1), true), profile: CONTAINER }, machine(w(1)));
  expect(clusterSettings(cluster, DEFAULT_TUNING).tuning.cgroupDriver).toBe('cgroupfs');
  expect(nodeSettings(hostNamed(cluster, cp(1)), DEFAULT_TUNING).tuning.cgroupDriver).toBe('cgroupfs');
  expect(nodeSettings(hostNamed(cluster, w(1)), DEFAULT_TUNING).tuning).toEqual(DEFAULT_TUNING);
});

it('the certificate of API servers also includes the external addresses of control planes', () => {
  const behindNat = { ...machine(cp(1), true), publicIp: '198.51.100.33', privateIp: '10.77.0.2' };
  const plain = { ...machine(cp(1), true), publicIp: '10.77.0.2', privateIp: '10.77.0.2' };
  expect(clusterSettings(stateWith(behindNat), DEFAULT_TUNING).publicAddresses).toEqual(['198.51.100.33']);
  expect(nodeSettings(hostNamed(stateWith(behindNat), cp(1)), DEFAULT_TUNING).address).toBe('10.77.0.2');
  expect(clusterSettings(stateWith(plain), DEFAULT_TUNING)).not.toHaveProperty('publicAddresses');
});

it('a node is labelled with its pool, provider, region and zone by its kubelet [CB-Ladybug 21]', () => {
  const ofMachine = { rack: '7', 'fairlead.dev/pool': 'workers' };
  const at = { ...machine(w(1)), csp: 'lab', region: 'lab-1', zone: 'lab-1b', labels: ofMachine };
  const { labels } = nodeSettings(hostNamed(stateWith(machine(cp(1), true), at), w(1)), DEFAULT_TUNING);
  expect(labels).toEqual({
    rack: '7',
    'fairlead.dev/pool': 'workers',
    'topology.cloud-barista.github.io/csp': 'lab',
    'topology.kubernetes.io/region': 'lab-1',
    'topology.kubernetes.io/zone': 'lab-1b',
  });
});

it('a host added after an upgrade is verified and joins at its desired version, and not at the originally requested one', () => {
  const software = { kubeadm: '1.35.4', kubelet: '1.35.4', kubectl: '1.35.4' };
  const desired: Fact = {
    type: 'DesiredVersionsSet',
    data: { uid: UID, node: w(1), revision: 1, software, changesAllowed: true },
  };
  const facts = [requested(1, 1), created([machine(cp(1), true), machine(w(1))]), balanced, desired];
  const cluster = (stateAfter(...facts) as Present).cluster;
  expect(versionOn(cluster, hostNamed(cluster, w(1)))).toBe('v1.35.4');
  expect(versionOn(cluster, hostNamed(cluster, cp(1)))).toBe(VERSION);
  const joining = clusterSettings(cluster, DEFAULT_TUNING, versionOn(cluster, hostNamed(cluster, w(1))));
  expect(joining.kubernetesVersion).toBe('v1.35.4');
});

describe('the software source of an agent', () => {
  const signer = `ed25519:${'A'.repeat(43)}=`;
  const url = 'https://mirror.example/kubernetes';

  it('is the folder into which a bundle was unpacked', () =>
    expect(agentSource({ kind: 'bundle', path: 'k.tar.gz', sha256: 'a'.repeat(64) }, [signer])).toEqual({
      kind: 'files',
      location: '/var/lib/fairlead/mirror',
      unsigned: true,
    }));

  it.each([
    { location: url, catalogueSha256: 'a'.repeat(64) },
    { location: url, signedBy: [`ed25519:${'B'.repeat(43)}=`] },
    { location: url, digests: {} },
    { location: url, unsigned: true as const },
    { location: 'https://dl.k8s.io' },
  ])('is that of its connection: %o', (given) => {
    const source = { kind: 'files' as const, ...given };
    expect(agentSource(source, [signer])).toEqual(source);
  });

  it('of a machine whose connection has no signers is signed by a signer of the instance, or rejected', () => {
    const before = { kind: 'files', location: url } as const;
    expect(agentSource(before, [signer])).toEqual({ ...before, signedBy: [signer] });
    expect(agentSource(before, [])).toEqual(before);
    expect(agentSource({ kind: 'files', location: '/opt/mirror' }, [])).toMatchObject({ unsigned: true });
  });
});

it.each([
  ['lab', 'lab://i-1', 'lab://i-1'],
  ['openstack', 'openstack://2f6c', 'openstack:///2f6c'],
  ['aws', 'aws://i-0abc', 'aws:///eu-west-1b/i-0abc'],
] as const)(
  "a kubelet beside the cloud controller of %s waits for it, under the machine's ID in the form of that cloud",
  (cloudController, providerId, ofCloud) => {
    const at = { ...machine(w(1)), providerId, zone: 'eu-west-1b' };
    const host = hostNamed(stateWith(machine(cp(1), true), at), w(1));
    const settings = nodeSettings(host, DEFAULT_TUNING, { cloudController });
    expect(settings).toMatchObject({ providerId: ofCloud, hasCloudController: true });
    expect(recordedProviderId(ofCloud)).toBe(providerId);
    const config = joinWorkerConfig(clusterSettings(stateWith(machine(cp(1), true)), DEFAULT_TUNING), settings, {
      token: 'abcdef.0123456789abcdef',
      caCertHash: 'sha256:00',
    });
    expect(config).toContain('name: cloud-provider\n      value: external\n');
    expect(nodeSettings(host, DEFAULT_TUNING)).not.toHaveProperty('hasCloudController');
  },
);

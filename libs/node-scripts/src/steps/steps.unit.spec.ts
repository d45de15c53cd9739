import { goldenBeside } from '@fairlead/testing/golden';
import { describe, expect, it } from '@jest/globals';
import {
  initConfig,
  joinControlPlaneConfig,
  joinWorkerConfig,
  kubeletPatch,
  uploadCertsConfig,
} from '../kubeadm/kubeadm.config.js';
import { authenticationConfig } from '../kubeadm/authentication.config.js';
import { agentGuard, agentUnit } from '../agent/agent.unit.js';
import { haproxyConfig } from '../balancer/haproxy.config.js';
import { haproxyUnit, keepalivedUnit } from '../balancer/balancer.units.js';
import { servicesUnit, tunnelUnit } from '../tunnel/tunnel.unit.js';
import { etcdUnit } from '../etcd/etcd.unit.js';
import { balancerCheck, keepalivedConfig } from '../balancer/keepalived.config.js';
import {
  AGENT_CONFIG,
  CLUSTER,
  BASELINE,
  CONTAINER_CLUSTER,
  CONTAINER_NODE,
  CONTROL_PLANE,
  CREDENTIALS,
  ETCD_CLUSTER,
  ETCD_MEMBER,
  NATS_CREDENTIALS,
  OIDC,
  OLD_CLUSTER,
  PEERS,
  PUBLISHED,
  PUBLISHED_SERVICES,
  SHARED,
  UID,
  WORKER,
} from './steps.fixtures.js';
import { renderStep } from './steps.js';

const golden = goldenBeside(import.meta.url);

const expectGolden = (name: string, text: string): void => golden(`${name}.golden`, text);

/** Like clusters of earlier releases. */
const { authentication: _file, ...withoutFile } = CLUSTER;

const schedulable = (value: boolean) => ({ ...CONTROL_PLANE, schedulable: value });

it.each([
  ['authentication.yaml', authenticationConfig(OIDC)],
  ['authentication.nobody.yaml', authenticationConfig(undefined)],
  ['init.without-authentication-file.yaml', initConfig(withoutFile, schedulable(false))],
  ['init.v1beta4.yaml', initConfig(CLUSTER, schedulable(false))],
  ['init.v1beta3.yaml', initConfig(OLD_CLUSTER, schedulable(false))],
  ['init.single-node.yaml', initConfig(CLUSTER, schedulable(true))],
  ['init.container-hosts.yaml', initConfig(CONTAINER_CLUSTER, { ...CONTAINER_NODE, schedulable: false })],
  ['join-worker.container-host.yaml', joinWorkerConfig(CLUSTER, CONTAINER_NODE, CREDENTIALS)],
  ['join-control-plane.v1beta4.yaml', joinControlPlaneConfig(CLUSTER, CONTROL_PLANE, CREDENTIALS)],
  ['join-control-plane.v1beta3.yaml', joinControlPlaneConfig(OLD_CLUSTER, CONTROL_PLANE, CREDENTIALS)],
  ['join-worker.v1beta4.yaml', joinWorkerConfig(CLUSTER, WORKER, CREDENTIALS)],
  ['join-worker.v1beta3.yaml', joinWorkerConfig(OLD_CLUSTER, WORKER, CREDENTIALS)],
  ['upload-certs.yaml', uploadCertsConfig(CLUSTER, CONTROL_PLANE.address)],
  ['fairlead-agent.service', agentUnit()],
  ['agent-guard.sh', agentGuard()],
  [
    'prepare.sh',
    renderStep('prepare', {
      agent: { sha256: 'ef'.repeat(32), version: '0.1.0' },
      config: AGENT_CONFIG,
      credentials: NATS_CREDENTIALS,
      nodeBinary: '/usr/bin/node',
      ownNode: { sha256: 'cd'.repeat(32), machine: 'x86_64', version: 'v20.20.2' },
      bundle: { sha256: 'ba'.repeat(32) },
    }).script,
  ],
  [
    'verify.control-plane.sh',
    renderStep('verify', {
      controlPlane: true,
      address: CONTROL_PLANE.address,
      kubernetesVersion: 'v1.34.4',
      failSwapOn: true,
    }).script,
  ],
  [
    'kubeadm-init.sh',
    renderStep('kubeadm-init', { uid: UID, cluster: CLUSTER, node: CONTROL_PLANE, schedulable: false }).script,
  ],
  [
    'credentials.control-plane.sh',
    renderStep('credentials', {
      cluster: CLUSTER,
      address: CONTROL_PLANE.address,
      tokenTtlSeconds: 1800,
      certificates: true,
    }).script,
  ],
  [
    'credentials.worker.sh',
    renderStep('credentials', {
      cluster: CLUSTER,
      address: CONTROL_PLANE.address,
      tokenTtlSeconds: 1800,
      certificates: false,
    }).script,
  ],
  [
    'kubeadm-join-control-plane.sh',
    renderStep('kubeadm-join-control-plane', {
      uid: UID,
      cluster: CLUSTER,
      node: CONTROL_PLANE,
      credentials: CREDENTIALS,
      afterInterruption: false,
    }).script,
  ],
  [
    'kubeadm-join-control-plane.after-interruption.sh',
    renderStep('kubeadm-join-control-plane', {
      uid: UID,
      cluster: CLUSTER,
      node: CONTROL_PLANE,
      credentials: CREDENTIALS,
      afterInterruption: true,
    }).script,
  ],
  [
    'kubeadm-join-worker.sh',
    renderStep('kubeadm-join-worker', { uid: UID, cluster: CLUSTER, node: WORKER, credentials: CREDENTIALS }).script,
  ],
  [
    'kubeadm-join-worker.container-host.sh',
    renderStep('kubeadm-join-worker', { uid: UID, cluster: CLUSTER, node: CONTAINER_NODE, credentials: CREDENTIALS })
      .script,
  ],
  [
    'etcd-remove-member.sh',
    renderStep('etcd-remove-member', {
      member: 'demo-cp-2-aaaaa',
      address: '198.18.7.12',
      self: 'demo-cp-1-x7k2p',
      external: false,
    }).script,
  ],
  ['kubeadm-reset.sh', renderStep('kubeadm-reset', { removeAgent: true, of: UID }).script],
  [
    'kubeadm-reset.wipe.sh',
    renderStep('kubeadm-reset', { removeAgent: true, of: UID, wipe: { baseline: BASELINE, keepRuntime: false } })
      .script,
  ],
  ['haproxy.cfg', haproxyConfig({ ipv6: false, port: 9998 }, PEERS)],
  ['haproxy.ipv6.cfg', haproxyConfig({ ipv6: true, port: 9998 }, [{ name: 'demo-cp-1-x7k2p', address: 'fd00::11' }])],
  ['keepalived.conf', keepalivedConfig(SHARED, PEERS[1], PEERS)],
  ['balancer-check.leader.bash', balancerCheck(`/var/lib/fairlead/kubeadm-init.${UID}.finished`)],
  ['balancer-check.bash', balancerCheck(null)],
  ['fairlead-haproxy.service', haproxyUnit],
  ['fairlead-keepalived.service', keepalivedUnit],
  [
    'balance-api.sh',
    renderStep('balance-api', {
      uid: UID,
      endpoint: { host: SHARED.address, port: 9998 },
      routerId: SHARED.routerId,
      password: SHARED.password,
      self: PEERS[0],
      peers: PEERS,
      initialises: true,
    }).script,
  ],
  ['publish-api.sh', renderStep('publish-api', PUBLISHED).script],
  ['publish-api.services.sh', renderStep('publish-api', { ...PUBLISHED, services: PUBLISHED_SERVICES }).script],
  ['fairlead-tunnel.service', tunnelUnit(PUBLISHED)],
  ['fairlead-tunnel-services.service', servicesUnit(PUBLISHED, PUBLISHED_SERVICES)],
  ['fairlead-tunnel.ipv6.service', tunnelUnit({ ...PUBLISHED, target: { host: 'fd00::11', port: 6443 } })],
  ['init.published.yaml', initConfig({ ...CLUSTER, publishedName: PUBLISHED.name }, schedulable(false))],
  ['init.external-etcd.yaml', initConfig(ETCD_CLUSTER, schedulable(false))],
  [
    'kubeadm-init.external-etcd.sh',
    renderStep('kubeadm-init', { uid: UID, cluster: ETCD_CLUSTER, node: CONTROL_PLANE, schedulable: false }).script,
  ],
  ['fairlead-etcd.service', etcdUnit({ token: UID, version: '3.6.5', self: PEERS[1], members: PEERS, joins: false })],
  [
    'fairlead-etcd.3.5.service',
    etcdUnit({ token: UID, version: '3.5.24', self: PEERS[1], members: PEERS, joins: false }),
  ],
  ['etcd-member.sh', renderStep('etcd-member', ETCD_MEMBER).script],
  ['etcd-member.files.sh', renderStep('etcd-member', { ...ETCD_MEMBER, pull: false }).script],
  [
    'fairlead-etcd.joins.service',
    etcdUnit({ token: UID, version: '3.6.5', self: PEERS[1], members: PEERS, joins: true }),
  ],
  ['etcd-add-member.sh', renderStep('etcd-add-member', PEERS[2]).script],
  ['etcd-promote-member.sh', renderStep('etcd-promote-member', PEERS[2]).script],
  [
    'etcd-remove-member.external.sh',
    renderStep('etcd-remove-member', {
      member: PEERS[2].name,
      address: PEERS[2].address,
      self: PEERS[0].name,
      external: true,
    }).script,
  ],
  ['etcdctl.sh', renderStep('etcdctl', {}).script],
  ['etcd-health.sh', renderStep('etcd-health', { members: 3 }).script],
  [
    'authorized-keys.sh',
    renderStep('authorized-keys', {
      user: 'debian',
      add: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN new',
      remove: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIF former'],
    }).script,
  ],
  [
    'node-exec.sh',
    renderStep('node-exec', { command: ['sh', '-c', "echo 'a b'"], timeoutSeconds: 60, outputBytes: 262_144 }).script,
  ],
  [
    'node-log.sh',
    renderStep('node-log', {
      unit: 'kubelet',
      after: { cursor: 's=0a1b;i=2;b=3c4d;m=5;t=6;x=7', time: 1_795_500_000 },
      ...{ lines: 200, sinceSeconds: null, bytes: 262_144, waitSeconds: 8 },
    }).script,
  ],
  ['prepare-verification.sh', renderStep('prepare-verification', { bytes: 20_000_000 }).script],
  ['verify-snapshot.sh', renderStep('verify-snapshot', { bytes: 20_000_000 }).script],
  ['remove-snapshot.sh', renderStep('remove-snapshot', {}).script],
  ['look.sh', renderStep('look', {}).script],
  [
    'authentication.sh',
    renderStep('authentication', { address: CONTROL_PLANE.address, content: authenticationConfig(OIDC) }).script,
  ],
  ['read-kubeconfig.sh', renderStep('read-kubeconfig', {}).script],
])('%s matches its reviewed text', (name, text) => expectGolden(name, text));

describe('an API server', () => {
  const node = { ...CONTROL_PLANE, name: 'demo-cp-2-k3m9d', address: '198.18.7.12' };

  it.each([
    ['init', initConfig(CLUSTER, { ...node, schedulable: false })],
    ['join', joinControlPlaneConfig(CLUSTER, node, CREDENTIALS)],
  ])(
    "advertises its own host's address by kubeadm %s, and the cluster sets none for all [CB-Ladybug 17]",
    (_command, text) => {
      expect([...text.matchAll(/advertise\S* (\S+)/gu)].map(([, address]) => address)).toEqual([node.address]);
    },
  );
});

describe('"a kubelet patch"', () => {
  it('is empty on a host of the same kind as the first control plane', () => {
    expect(kubeletPatch(CLUSTER, WORKER)).toBeUndefined();
    expect(kubeletPatch(CONTAINER_CLUSTER, CONTAINER_NODE)).toBeUndefined();
  });

  it('contains what its own host needs, and resets what only the others need', () => {
    expect(kubeletPatch(CLUSTER, CONTAINER_NODE)).toBe(
      'cgroupDriver: cgroupfs\nfailSwapOn: false\nfailCgroupV1: false\nresolvConf: /etc/resolv.conf\n',
    );
    expect(kubeletPatch(CONTAINER_CLUSTER, WORKER)).toBe(
      'cgroupDriver: systemd\nfailSwapOn: true\nfailCgroupV1: null\nresolvConf: null\n',
    );
  });

  it('contains nothing that its version does not know', () => {
    const old = { ...CONTAINER_CLUSTER, kubernetesVersion: 'v1.30.14' };
    expect(initConfig(old, { ...CONTAINER_NODE, schedulable: false })).not.toContain('failCgroupV1');
    expect(kubeletPatch({ ...old, tuning: CLUSTER.tuning }, CONTAINER_NODE)).not.toContain('failCgroupV1');
  });
});

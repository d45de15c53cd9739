import {
  releaseOf,
  ExternalFailure,
  type EventData,
  type Finding,
  type KubeletSettings,
  type SourceLook,
} from '@fairlead/contracts';
import { MemoryStore } from '@fairlead/event-sourcing/memory.store';
import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { knownCluster } from '../../test/cluster.state.fixtures.js';
import {
  budget,
  controlPlane,
  deployment,
  startLabCluster,
  worker,
  type LabCluster,
} from '../../../../libs/kubernetes/test/lab.cluster.js';
import { uid } from '../nodes/nodes.fixtures.js';
import type { ClusterState } from '../rollout/rollout.state.js';
import type { ClusterFacts } from '../rules/cluster.facts.js';
import { b5RemovedApis } from '../rules/apis.rules.js';
import { b3EtcdHealthy, b4FreshSnapshot, b10EtcdMinor, b10V2Store } from '../rules/etcd.rules.js';
import { b11HandMade } from '../rules/hand-made.rules.js';
import { b8Certificates, b8Clocks, b9Room, b9Source } from '../rules/nodes.rules.js';
import { b7PodsCanMove } from '../rules/pods.rules.js';
import { b2ClusterHealthy, unreadFindings } from '../rules/preflight.rules.js';
import { b5RemovedSettings } from '../rules/settings.rules.js';
import { b6Webhooks } from '../rules/webhooks.rules.js';
import { ClusterSurvey } from './cluster.survey.effects.js';

const NODES = [1, 2, 3].map(controlPlane).concat([1, 2].map(worker));
const PATH = ['v1.33.13', 'v1.34.4'];
const CAUSE = { actor: 'system/upgrade-svc', correlationId: 'c', causationId: 'c' };

describe('The survey before an upgrade', () => {
  let lab: LabCluster;
  let store: MemoryStore;
  let skewMs: number | null;
  let known: ClusterState;
  let looks: number;
  let heard: (node: string) => Promise<void>;
  const sources = new Map<string, SourceLook>();
  const kubelets = new Map<string, KubeletSettings>();

  beforeEach(async () => {
    lab = await startLabCluster({ controlPlanes: 3, workers: 2 });
    store = new MemoryStore(() => new Date().toISOString());
    skewMs = 3;
    looks = 0;
    heard = async () => undefined;
    sources.clear();
    kubelets.clear();
    known = knownCluster(...NODES);
  });
  afterEach(() => lab.stop());

  const survey = (): Promise<ClusterFacts> =>
    new ClusterSurvey({
      store,
      heartbeats: {
        last: async ({ node }) => {
          await heard(node);
          if (node === 'unreachable') throw new ExternalFailure({ operation: 'x', target: node, message: 'x' });
          return skewMs === null
            ? null
            : { skewMs, source: sources.get(node) ?? null, kubelet: kubelets.get(node) ?? null, cgroupV1: null };
        },
      },
      now: () => new Date(),
      passIntervalMs: 10,
    }).facts({
      namespace: 'default',
      name: 'demo',
      known,
      cluster: Object.assign(Object.create(lab.cluster) as typeof lab.cluster, {
        workloads: (namespace: string) => {
          looks += 1;
          return lab.cluster.workloads(namespace);
        },
      }),
      release: releaseOf('v1.34.4'),
      excused: [],
      signal: new AbortController().signal,
    });
  const rules = (findings: readonly Finding[]): readonly string[] => findings.map(({ rule }) => rule);

  it('has no findings on a healthy cluster, and reads every source', async () => {
    const facts = await survey();
    expect(facts.unread).toEqual([]);
    expect(facts.healthyPasses).toBe(2);
    expect(facts.nodes).toHaveLength(5);
    const [first] = facts.nodes;
    expect(first).toMatchObject({
      name: controlPlane(1),
      role: 'control-plane',
      kubelet: '1.33.13',
      kubeProxy: '1.33.13',
      containerRuntime: '1.7.24',
      clockSkewMs: 3,
      kubeletTalksToLocalApi: true,
    });
    expect(first?.staticPods.map(({ component, version }) => [component, version]).toSorted()).toEqual([
      ['etcd', '3.5.24'],
      ['kube-apiserver', '1.33.13'],
      ['kube-controller-manager', '1.33.13'],
      ['kube-scheduler', '1.33.13'],
    ]);
    expect(facts.etcd?.members.map(({ version }) => version)).toEqual(['3.5.35', '3.5.35', '3.5.35']);
    expect([
      ...b2ClusterHealthy(facts, []),
      ...b3EtcdHealthy(facts),
      ...b5RemovedApis(facts, '1.34.4'),
      ...b6Webhooks(facts),
      ...b8Clocks(facts),
      ...b9Room(
        facts,
        facts.nodes.map(({ name }) => name),
      ),
      ...b10EtcdMinor(facts.etcd, '3.5.35', '3.6.5'),
      ...unreadFindings(facts),
    ]).toEqual([]);
  });

  it('checks a second time that the cluster is healthy while it waits for heartbeats, as after a restart', async () => {
    heard = async () => {
      await eventually(async () => looks === 2);
    };
    expect((await survey()).healthyPasses).toBe(2);
  });

  it('B5, B11: reads the configuration of kubeadm, kubelets and kube-proxy, and the settings of single nodes', async () => {
    kubelets.set(worker(1), { flags: ['max-pods'], gates: { Mine: true }, config: {} });
    const own = lab.cluster;
    lab.cluster.configMap = async (namespace, name) => {
      const data = await Object.getPrototypeOf(own).configMap.call(own, namespace, name);
      const gates = 'featureGates: { UserNamespacesPodSecurityStandards: true }\n';
      return name === 'kubelet-config' ? { kubelet: `${data['kubelet']}${gates}` } : data;
    };
    const facts = await survey();
    expect(facts.unread).toEqual([]);
    expect(facts.settings.filter(({ args }) => args.length > 0)).toEqual([
      {
        component: 'kubelet',
        where: 'ConfigMap kube-system/kubelet-config',
        args: ['--feature-gates=UserNamespacesPodSecurityStandards=true'],
      },
    ]);
    expect(facts.nodes.find(({ name }) => name === worker(1))?.kubeletSettings).toMatchObject({ flags: ['max-pods'] });
    expect(b5RemovedSettings(facts, 'v1.35.4')).toHaveLength(1);
    expect(
      b11HandMade(
        facts,
        facts.nodes.map(({ name }) => name),
        PATH,
      ),
    ).toEqual([]);
  });

  it('B11: reports CoreDNS, kube-proxy and kubelets with manual changes, but not unchanged ones', async () => {
    const found = async () =>
      b11HandMade(
        await survey(),
        Object.values(known.nodes).map(({ name }) => name),
        PATH,
      ).map(({ sentence }) => sentence);
    expect(await found()).toEqual([]);
    const merge = (kind: 'Deployment' | 'DaemonSet', name: string, spec: object) => {
      const metadata = { name, namespace: 'kube-system' };
      return lab.cluster.apply([{ apiVersion: 'apps/v1', kind, metadata, spec: { template: { spec } } }]);
    };
    const resources = { limits: { memory: '1Gi' } };
    await merge('Deployment', 'coredns', {
      nodeSelector: { disk: 'ssd' },
      containers: [{ name: 'coredns', image: 'mirror.example.org/coredns:v1.12.0', resources }],
    });
    await merge('DaemonSet', 'kube-proxy', {
      containers: [{ name: 'kube-proxy', image: 'registry.k8s.io/kube-proxy:v1.33.13', args: ['--v=4'] }],
    });
    kubelets.set(worker(1), { flags: [], gates: {}, config: {}, fields: { maxPods: '00000000' } });
    expect(await found()).toEqual([
      `the upgrade would take back settings of the kubelet of ${worker(1)} that kubelet-config does not have: maxPods`,
      'the upgrade would take back what was changed by hand of Deployment coredns in kube-system: image mirror.example.org/coredns:v1.12.0, limits.memory=1Gi, nodeSelector disk=ssd',
      'the upgrade would take back what was changed by hand of DaemonSet kube-proxy in kube-system: --v=4',
    ]);
  });

  it("B11: rejects an invalid kubeadm-config, with the parser's message", async () => {
    lab.cluster.configMap = async () => ({ ClusterConfiguration: 'apiServer: [', kubelet: '', 'config.conf': '' });
    const facts = await survey();
    expect(facts.kubeadm).toBeNull();
    expect(facts.unread).toMatchObject([{ what: 'kubeadm-config', rule: 'B11' }]);
    expect(rules(unreadFindings(facts))).toEqual(['B11']);
  });

  it('B2: reports a node that is not Ready, and system pods that do not run [Cluster API 23]', async () => {
    lab.simulated.setKubelet(worker(1), { running: false });
    await eventually(
      () => lab.cluster.node(worker(1)),
      (node) => node?.ready === false,
    );
    const facts = await survey();
    expect(facts.healthyPasses).toBe(0);
    expect(
      b2ClusterHealthy(facts, [])
        .map(({ sentence }) => sentence)
        .join(),
    ).toContain(worker(1));
  });

  it('B2: treats a node without a Node object as not Ready [Cluster API 23]', async () => {
    known = knownCluster(...NODES, worker(3));
    expect(rules(b2ClusterHealthy(await survey(), []))).toContain('B2');
  });

  it('B3: reads the state of the members from etcd', async () => {
    lab.simulated.etcd.set(controlPlane(2), { running: false });
    expect(rules(b3EtcdHealthy(await survey()))).toContain('B3');
  });

  it('B4: reads the last snapshot, only of this incarnation of the cluster', async () => {
    const taken = (of: string, snapshot: string): EventData<'EtcdSnapshotTaken'> =>
      ({
        uid: of,
        upgradeId: null,
        operation: null,
        requestId: null,
        snapshot,
        node: controlPlane(1),
        sha256: 'x',
        bytes: 1,
        revision: 1,
        keys: 1,
        dataRef: null,
      }) as EventData<'EtcdSnapshotTaken'>;
    expect(rules(b4FreshSnapshot(await survey(), false))).toEqual(['B4']);
    await store.append(
      { namespace: 'default', cluster: 'demo', context: 'rollout' },
      { seq: 0, streamVersion: 0, hash: '0'.repeat(64) },
      [
        { type: 'EtcdSnapshotTaken', data: taken(uid, 'demo-a') },
        { type: 'EtcdSnapshotTaken', data: taken('22222222-2222-4222-8222-222222222222', 'demo-b') },
      ],
      CAUSE,
    );
    const facts = await survey();
    expect(facts.snapshot).toMatchObject({ name: 'demo-a' });
    expect(b4FreshSnapshot(facts, false)).toEqual([]);
  });

  it('B5: reports requested APIs that the target has removed', async () => {
    await lab.client.get('/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets');
    const facts = await survey();
    expect(facts.deprecatedApis).toEqual([
      { api: 'poddisruptionbudgets.v1beta1.policy', removedIn: '1.25', requests: 1, lastUsedAt: null },
    ]);
    expect(rules(b5RemovedApis(facts, '1.34.4'))).toEqual(['B5']);
  });

  it('B6: reports webhooks that can block the control plane', async () => {
    await lab.apply({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'inject' },
      webhooks: [
        {
          name: 'inject.example.org',
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          clientConfig: { url: 'https://example.org/x' },
          rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }],
        },
      ],
    });
    expect(rules(b6Webhooks(await survey()))).toContain('B6');
  });

  it('B7: reports budgets that allow no disruption, bare pods and their requests', async () => {
    await lab.apply(deployment('web', 2), budget('web', 2), {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'bare', namespace: 'default' },
      spec: { containers: [{ name: 'bare', image: 'x:1' }], volumes: [{ name: 'tmp', emptyDir: {} }] },
    });
    await eventually(
      async () => (await lab.cluster.pods()).filter(({ namespace, ready }) => namespace === 'default' && ready),
      (pods) => pods.length === 3,
    );
    const facts = await survey();
    expect(facts.pods.find(({ name }) => name === 'default/bare')).toMatchObject({ bare: true, emptyDir: true });
    const sentences = b7PodsCanMove(
      facts,
      facts.nodes.map(({ name }) => name),
    ).map(({ sentence }) => sentence);
    expect(sentences).toEqual([
      'PodDisruptionBudget default/web allows no disruption now',
      expect.stringContaining('default/bare'),
      expect.stringContaining('default/bare'),
    ]);
  });

  it('B8: reports the expiry of certificates as agents reported it, and clock skew', async () => {
    await store.append(
      { namespace: 'default', cluster: 'demo', context: `node-${controlPlane(1)}` },
      { seq: 0, streamVersion: 0, hash: '0'.repeat(64) },
      [
        {
          type: 'CertificatesReported',
          data: {
            uid,
            node: controlPlane(1),
            certificates: [{ name: 'apiserver', expiresAt: '2026-12-01T00:00:00.000Z' }],
          } as EventData<'CertificatesReported'>,
        },
      ],
      CAUSE,
    );
    skewMs = -2_500;
    const facts = await survey();
    expect(rules(b8Certificates(facts, Date.parse('2026-11-21T12:00:00Z'), { renewed: [], isRenewal: false }))).toEqual(
      ['B8'],
    );
    expect(b8Certificates(facts, Date.parse('2026-10-01T12:00:00Z'), { renewed: [], isRenewal: false })).toEqual([]);
    expect(rules(b8Clocks(facts))).toHaveLength(5);
  });

  it('B9: reports disks that are too small for the images and twice the etcd data', async () => {
    await lab.apply({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: worker(1), annotations: { 'lab.fairlead.dev/free-disk': '10Mi' } },
    });
    const facts = await survey();
    const small = b9Room(
      facts,
      facts.nodes.map(({ name }) => name),
    );
    expect(small.map(({ facts: { node } }) => node)).toEqual([worker(1)]);
  });

  it('B9: reports whether each node reaches its source', async () => {
    const failure = 'connect ECONNREFUSED 127.0.0.1:9';
    sources.set(worker(1), { at: '2026-11-21T10:00:00.000Z', address: 'http://mirror/', failure, releases: null });
    const facts = await survey();
    const brought = new Map(facts.nodes.map(({ name }) => [name, ['v1.34.4']]));
    expect(b9Source(facts, brought).map(({ sentence }) => sentence)).toEqual([
      `${worker(1)} cannot reach its software source http://mirror/: ${failure}`,
    ]);
  });

  it('B10: reads the versions of the running etcd servers, not of their images', async () => {
    const { etcd } = await survey();
    expect(b10EtcdMinor(etcd, '3.5.35', '3.6.5')).toEqual([]);
    expect(rules(b10EtcdMinor(etcd, '3.5.35', '3.7.0'))).toEqual(['B10']);
  });

  it('B10: reports v2 store data, with the member that holds it', async () => {
    expect((await survey()).etcd?.members.map(({ v2StoreClean }) => v2StoreClean)).toEqual([true, true, true]);
    const [holder = ''] = (await survey()).etcd?.members.map(({ name }) => name) ?? [];
    lab.simulated.etcd.set(holder, { v2Content: true });
    const found = b10V2Store((await survey()).etcd, '3.5.35', '3.6.5');
    expect(found).toMatchObject([{ rule: 'B10', severity: 'refuse', facts: { members: [holder] } }]);
    expect(found[0]?.help).toContain('etcdutl check v2store');
  });

  it('records each source that it could not read, with the rule that needs it, and assumes nothing', async () => {
    await Promise.all([...lab.listeners.values()].map((listener) => listener.close()));
    const facts = await survey();
    expect(facts.etcd).toBeNull();
    expect(facts.unread.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['nodes', 'pods', 'etcd', 'system', 'budgets', 'webhooks', 'deprecatedApis']),
    );
    expect(rules(unreadFindings(facts))).toEqual(expect.arrayContaining(['B2', 'B3', 'B5', 'B6', 'B7']));
  });
});

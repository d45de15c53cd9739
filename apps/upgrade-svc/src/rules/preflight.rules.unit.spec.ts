import { describe, expect, it } from '@jest/globals';
import { cp, etcdOf, factsOf, modelOf, w } from '../../test/model.js';
import type { ClusterFacts, Component, EtcdFacts, NodeFacts, PodFacts, StaticPodFacts } from './cluster.facts.js';
import { b5RemovedApis } from './apis.rules.js';
import { b3EtcdHealthy, b4FreshSnapshot, b10EtcdMinor, b10V2Store } from './etcd.rules.js';
import { b11HandMade } from './hand-made.rules.js';
import { INSTALLED } from './rules.fixtures.js';
import { b8Certificates, b8Ended, b8Clocks, b9Room, b9Source } from './nodes.rules.js';
import { b7Capacity, b7PodsCanMove } from './pods.rules.js';
import { b1OneOperation, b2ClusterHealthy, unreadFindings } from './preflight.rules.js';
import { b5CgroupV1, b5RemovedSettings } from './settings.rules.js';
import { b6Webhooks } from './webhooks.rules.js';

const AT = '2026-11-21T10:00:00.000Z';
const model = modelOf(3, 2, '1.33.13');
const healthy = factsOf(model, AT);
const etcd = etcdOf(model);

const withNode = (name: string, change: Partial<NodeFacts>): ClusterFacts => ({
  ...healthy,
  nodes: healthy.nodes.map((node) => (node.name === name ? { ...node, ...change } : node)),
});
const withMember = (name: string, change: Partial<EtcdFacts['members'][number]>): ClusterFacts => ({
  ...healthy,
  etcd: { ...etcd, members: etcd.members.map((one) => (one.name === name ? { ...one, ...change } : one)) },
});
const pod = (change: Partial<PodFacts> = {}): PodFacts => ({
  name: 'shop/web-1',
  node: w(1),
  requests: { cpuMillis: 100, memoryBytes: 1e8 },
  bare: false,
  emptyDir: false,
  ...change,
});
const later = (ms: number): string => new Date(Date.parse(AT) + ms).toISOString();

/** Each rejection has its rule, the facts and a remedy. */
const expectRefused = (
  findings: readonly { rule: string; severity: string; help: string; facts: object }[],
  rule: string,
) => {
  expect(findings.map((one) => [one.rule, one.severity])).toEqual([[rule, 'refuse']]);
  expect(findings[0]?.help.length).toBeGreaterThan(5);
  expect(Object.keys(findings[0]?.facts ?? {}).length).toBeGreaterThan(0);
};

describe('B1 one operation at a time', () => {
  it('rejects during a join or a removal [Cluster API 23]', () =>
    expectRefused(b1OneOperation({ operations: ['demo-w-4 is joining'], clusterReady: true }), 'B1'));
  it('rejects a cluster that is not Ready', () =>
    expect(b1OneOperation({ operations: [], clusterReady: false })).toMatchObject([{ rule: 'B1' }]));
  it('accepts if nothing else is in progress', () =>
    expect(b1OneOperation({ operations: [], clusterReady: true })).toEqual([]));
});

describe('B2 the cluster is healthy', () => {
  it('if every node and all of kube-system are Ready twice in a row', () =>
    expect(b2ClusterHealthy(healthy, [])).toEqual([]));
  it('not with a node that is not Ready, unless it is excused', () => {
    const sick = withNode(w(1), { ready: false, notReadyBecause: 'kubelet stopped' });
    expectRefused(b2ClusterHealthy(sick, []), 'B2');
    expect(b2ClusterHealthy(sick, [w(1)])).toEqual([]);
  });
  it('not with a silent agent', () => expectRefused(b2ClusterHealthy(withNode(w(1), { lost: true }), []), 'B2'));
  it('not while CoreDNS is not Ready', () => {
    const system = [{ kind: 'Deployment' as const, name: 'coredns', desired: 2, ready: 1 }];
    expectRefused(b2ClusterHealthy({ ...healthy, system }, []), 'B2');
  });
  it('not after one pass', () => expectRefused(b2ClusterHealthy({ ...healthy, healthyPasses: 1 }, []), 'B2'));
});

describe('B3 etcd is healthy', () => {
  it('with three members that follow their leader', () => expect(b3EtcdHealthy(healthy)).toEqual([]));
  it.each([
    ['that has not started', { started: false }],
    ['that is not healthy', { healthy: false }],
    ['that is learning', { learner: true }],
    ['that is far behind', { behind: 5_000 }],
    ['of another version', { version: '3.5.21' }],
    ['whose data fills its quota', { dbBytes: 1.9e9 }],
  ])('not with a member %s', (_what, change) => expectRefused(b3EtcdHealthy(withMember(cp(2), change)), 'B3'));
  it('not with an alarm', () =>
    expectRefused(
      b3EtcdHealthy({ ...healthy, etcd: { ...etcd, alarms: [{ member: cp(1), alarm: 'NOSPACE' }] } }),
      'B3',
    ));
  it('not with two members', () => {
    const two = factsOf(modelOf(2, 1, '1.33.13'), AT);
    expectRefused(b3EtcdHealthy(two), 'B3');
  });
  it('not with a member that is not on a control plane', () => {
    const findings = b3EtcdHealthy(withMember(cp(2), { node: null }));
    expect(findings.map(({ rule }) => rule)).toEqual(['B3', 'B3']);
  });
});

describe('B4 a fresh snapshot', () => {
  it('is the first operation of a plan', () => expect(b4FreshSnapshot(healthy, true)).toEqual([]));
  it('is required if there is none', () => expectRefused(b4FreshSnapshot(healthy, false), 'B4'));
  it('must be younger than 15 minutes', () => {
    const taken = (ms: number) => ({ ...healthy, snapshot: { at: later(-ms), name: 'demo-1' } });
    expect(b4FreshSnapshot(taken(14 * 60_000), false)).toEqual([]);
    expectRefused(b4FreshSnapshot(taken(16 * 60_000), false), 'B4');
  });
});

describe('B5 no API in use is removed in the target', () => {
  const use = {
    api: 'flowschemas.v1beta3.flowcontrol.apiserver.k8s.io',
    removedIn: '1.34',
    requests: 7,
    lastUsedAt: null,
  };
  it('rejects an API in use', () =>
    expectRefused(b5RemovedApis({ ...healthy, deprecatedApis: [use] }, 'v1.34.4'), 'B5'));
  it('accepts an API that remains, or was last used long ago', () => {
    expect(b5RemovedApis({ ...healthy, deprecatedApis: [{ ...use, removedIn: '1.36' }] }, 'v1.34.4')).toEqual([]);
    const old = { ...use, lastUsedAt: later(-40 * 24 * 3_600_000) };
    expect(b5RemovedApis({ ...healthy, deprecatedApis: [old] }, 'v1.34.4')).toEqual([]);
  });
  it('accepts an API without an announced removal, such as Endpoints', () =>
    expect(b5RemovedApis({ ...healthy, deprecatedApis: [{ ...use, removedIn: null }] }, 'v1.34.4')).toEqual([]));
});

const withArgs = (component: string, ...args: readonly string[]): ClusterFacts => {
  const staticPods = healthy.nodes[0]!.staticPods.map((pod) => (pod.component === component ? { ...pod, args } : pod));
  return withNode(cp(1), { staticPods });
};

describe('B5 no component has a setting that the target no longer accepts', () => {
  const GATE = 'UserNamespacesPodSecurityStandards';
  const sentences = (facts: ClusterFacts, target = 'v1.35.4'): readonly string[] =>
    b5RemovedSettings(facts, target).map(({ sentence }) => sentence);
  const setBy = (component: Component, ...args: readonly string[]): ClusterFacts => ({
    ...healthy,
    settings: [{ component, where: `the configuration of ${component}`, args }],
  });

  it('accepts an unchanged kubeadm cluster', () => expect(b5RemovedSettings(healthy, 'v1.36.3')).toEqual([]));

  it('rejects a removed flag', () => {
    const facts = withArgs('kube-apiserver', 'kube-apiserver', '--cloud-provider=external');
    expectRefused(b5RemovedSettings(facts, 'v1.34.4'), 'B5');
  });

  it.each(['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy'] as const)(
    'rejects a removed feature gate of %s, and reports where it is set',
    (component) =>
      expect(sentences(setBy(component, `--feature-gates=AllAlpha=false,${GATE}=true`))).toEqual([
        `${component} sets the feature gate ${GATE}, which is removed in 1.35, and would not start: the configuration of ${component}`,
      ]),
  );

  it('accepts the gate while the target knows it', () =>
    expect(sentences(setBy('kubelet', `--feature-gates=${GATE}=true`), 'v1.34.4')).toEqual([]));

  it('reports a gate that is set in several places once', () => {
    const facts = withArgs('kube-apiserver', 'kube-apiserver', `--feature-gates=${GATE}=true`);
    const both = { ...facts, settings: setBy('kube-apiserver', `--feature-gates=${GATE}=true`).settings };
    expect(b5RemovedSettings(both, 'v1.35.4')).toMatchObject([
      { facts: { places: [`static pod kube-apiserver-${cp(1)}`, 'the configuration of kube-apiserver'] } },
    ]);
  });

  it('rejects a disabled gate that the target locks to enabled', () => {
    const off = setBy('kube-apiserver', '--feature-gates=SidecarContainers=false');
    expect(sentences(off, 'v1.33.13')).toEqual([
      'kube-apiserver sets the feature gate SidecarContainers, which is locked to true since 1.33, and would not start: the configuration of kube-apiserver',
    ]);
    expect(sentences(setBy('kube-apiserver', '--feature-gates=SidecarContainers=true'), 'v1.33.13')).toEqual([]);
  });

  it('rejects a removed admission plugin, even in the list of disabled ones', () =>
    expect(sentences(setBy('kube-apiserver', '--disable-admission-plugins=PersistentVolumeLabel'), 'v1.33.13')).toEqual(
      [expect.stringContaining('names the admission plugin PersistentVolumeLabel, which is removed in 1.31')],
    ));

  it('rejects kubelet settings on a node, in KUBELET_EXTRA_ARGS or a patch', () => {
    const kubeletSettings = { flags: ['pod-infra-container-image'], gates: { [GATE]: true }, config: {} };
    expect(sentences(withNode(w(1), { kubeletSettings }))).toEqual([
      `kubelet is started with --pod-infra-container-image, which is removed in 1.35: KUBELET_EXTRA_ARGS or a patch of kubeadm on ${w(1)}`,
      `kubelet sets the feature gate ${GATE}, which is removed in 1.35, and would not start: KUBELET_EXTRA_ARGS or a patch of kubeadm on ${w(1)}`,
    ]);
  });

  it('ignores the etcd flags that kubeadm itself sets', () =>
    expect(sentences(withArgs('etcd', 'etcd', '--experimental-initial-corrupt-check=true'), 'v1.36.3')).toEqual([]));
});

describe('B5 no kubelet is upgraded to a version that does not start on its host', () => {
  const old = withNode(w(1), { cgroupV1: 'fails' });

  it('rejects v1.35 where a host has cgroup v1, and says what to do', () => {
    const findings = b5CgroupV1(old, 'v1.35.4', [cp(1), w(1)]);
    expectRefused(findings, 'B5');
    expect(findings[0]).toMatchObject({
      sentence: `kubelets of v1.35 and later do not start on hosts with cgroup v1: ${w(1)}`,
      help: expect.stringMatching(/systemd\.unified_cgroup_hierarchy=1.*failCgroupV1: false/),
    });
  });

  it('accepts earlier versions, nodes that keep their kubelet, and kubelets whose configuration lets them run there', () => {
    expect(b5CgroupV1(old, 'v1.34.4', [w(1)])).toEqual([]);
    expect(b5CgroupV1(old, 'v1.35.4', [cp(1)])).toEqual([]);
    expect(b5CgroupV1(withNode(w(1), { cgroupV1: 'runs' }), 'v1.35.4', [w(1)])).toEqual([]);
  });
});

describe('B11 no manual change is lost', () => {
  const PATH = ['v1.33.13', 'v1.34.4'];
  const upgraded = [cp(1), cp(2), cp(3)];
  const lost = (facts: ClusterFacts): readonly string[] =>
    b11HandMade(facts, upgraded, PATH).map(({ sentence }) => sentence);
  const kubeadms = [
    '--advertise-address=10.0.0.1',
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--etcd-servers=https://127.0.0.1:2379',
  ];

  it('accepts the flags that kubeadm writes, and its other etcd flags', () => {
    expect(lost(withArgs('kube-apiserver', 'kube-apiserver', ...kubeadms))).toEqual([]);
    expect(lost(withArgs('etcd', 'etcd', '--experimental-watch-progress-notify-interval=5s'))).toEqual([]);
  });

  it('rejects flags that are only in the static pod, by name and without their values', () => {
    const facts = withArgs(
      'kube-apiserver',
      ...['kube-apiserver', ...kubeadms],
      ...['--encryption-provider-config=/etc/kubernetes/enc.yaml', '--audit-policy-file=/etc/kubernetes/audit.yaml'],
    );
    expectRefused(b11HandMade(facts, upgraded, PATH), 'B11');
    expect(lost(facts)).toEqual([
      `the upgrade would drop flags that were added by hand to kube-apiserver on ${cp(1)}: --encryption-provider-config, --audit-policy-file`,
    ]);
  });

  it('accepts flags in kubeadm-config, and the patch that emulates a version', () => {
    const facts = withArgs('kube-apiserver', '--audit-policy-file=/x', '--emulated-version=1.34');
    const kubeadm = { extraArgs: { 'kube-apiserver': ['audit-policy-file'] }, extraVolumes: {}, extraEnvs: {} };
    expect(lost({ ...facts, kubeadm })).toEqual([]);
  });

  it('rejects another value of a flag that kubeadm writes', () =>
    expect(lost(withArgs('kube-scheduler', 'kube-scheduler', '--bind-address=0.0.0.0'))).toEqual([
      `the upgrade would drop flags that were added by hand to kube-scheduler on ${cp(1)}: --bind-address`,
    ]));

  it("rejects volumes and containers of the manifest, and accepts kubeadm's own", () => {
    const staticPods = healthy.nodes[0]!.staticPods.map((pod) =>
      pod.component === 'kube-apiserver'
        ? {
            ...pod,
            volumes: ['k8s-certs', 'usr-share-ca-certificates', 'etc-pki-ca-trust', 'audit'],
            sidecars: ['kms'],
          }
        : pod,
    );
    expect(lost(withNode(cp(1), { staticPods }))).toEqual([
      `the upgrade would drop volumes that were added by hand to kube-apiserver on ${cp(1)}: audit`,
      `the upgrade would drop containers that were added by hand to kube-apiserver on ${cp(1)}: kms`,
    ]);
  });

  it('rejects variables and resources of the manifest, and accepts those of kubeadm and kubeadm-config', () => {
    const podsWith = (change: Partial<StaticPodFacts>) => ({
      staticPods: healthy.nodes[0]!.staticPods.map((pod) =>
        pod.component === 'kube-apiserver' ? { ...pod, ...change } : pod,
      ),
    });
    const none = { cpuMillis: 0, memoryBytes: 0 };
    const own = {
      environment: ['HTTPS_PROXY', 'no_proxy'],
      requests: { cpuMillis: 250, memoryBytes: 0 },
      limits: none,
    };
    expect(lost(withNode(cp(1), podsWith(own)))).toEqual([]);
    const changed = {
      environment: ['GOMEMLIMIT', 'GODEBUG'],
      requests: { cpuMillis: 2_000, memoryBytes: 4e9 },
      limits: { cpuMillis: 0, memoryBytes: 8e9 },
    };
    const facts = withNode(cp(1), podsWith(changed));
    const kubeadm = { extraArgs: {}, extraVolumes: {}, extraEnvs: { 'kube-apiserver': ['GODEBUG'] } };
    expect(lost({ ...facts, kubeadm })).toEqual([
      `the upgrade would drop environment variables that were added by hand to kube-apiserver on ${cp(1)}: GOMEMLIMIT`,
      `the upgrade would take back resources that were changed by hand for kube-apiserver on ${cp(1)}: requests.cpu, requests.memory, limits.memory`,
    ]);
  });

  it('rejects a gate in the configuration of one kubelet, unless the cluster or a patch has it', () => {
    const kubeletSettings = {
      flags: [],
      gates: { Patched: true },
      config: { Patched: true, Declared: true, Own: true },
    };
    const settings = [
      { component: 'kubelet' as const, where: 'kubelet-config', args: ['--feature-gates=Declared=true'] },
    ];
    expect(lost({ ...withNode(cp(1), { kubeletSettings }), settings })).toEqual([
      `the upgrade would drop feature gates that were added by hand to the kubelet of ${cp(1)}: Own`,
    ]);
  });

  it('rejects fields in the configuration of one kubelet that kubelet-config lacks, by name', () => {
    const fields = { maxPods: '11111111', cgroupDriver: '22222222', resolvConf: '33333333' };
    const kubeletSettings = { flags: [], gates: {}, config: {}, fields };
    const installed = { ...INSTALLED, kubeletFields: { cgroupDriver: '22222222' } };
    expect(lost({ ...withNode(cp(1), { kubeletSettings }), installed })).toEqual([
      `the upgrade would take back settings of the kubelet of ${cp(1)} that kubelet-config does not have: maxPods`,
    ]);
  });

  it('ignores nodes on which kubeadm does not run', () =>
    expect(b11HandMade(withArgs('kube-apiserver', '--audit-policy-file=/x'), [cp(2)], PATH)).toEqual([]));
});

describe('B6 webhooks', () => {
  const hook = { name: 'policy/pods', failurePolicy: 'Fail' as const, timeoutSeconds: 10, matchesKubeSystem: true };
  it('that fail closed for kube-system are rejected', () =>
    expectRefused(b6Webhooks({ ...healthy, webhooks: [hook] }), 'B6'));
  it('with a timeout of more than 15 s are rejected', () =>
    expectRefused(
      b6Webhooks({ ...healthy, webhooks: [{ ...hook, failurePolicy: 'Ignore', timeoutSeconds: 30 }] }),
      'B6',
    ));
  it('that exclude kube-system are accepted', () =>
    expect(b6Webhooks({ ...healthy, webhooks: [{ ...hook, matchesKubeSystem: false }] })).toEqual([]));
});

describe('B7 pods can be evicted', () => {
  const budget = { name: 'shop/web', disruptionsAllowed: 0, pods: ['shop/web-1'] };
  const asked = (facts: Partial<ClusterFacts>) =>
    b7PodsCanMove({ ...healthy, pods: [pod()], ...facts }, [w(1)]).map(({ rule, severity }) => `${rule} ${severity}`);
  it('requires approval for a budget that allows no disruption', () =>
    expect(asked({ budgets: [budget] })).toEqual(['B7 ask']));
  it('requires approval for a pod covered by two budgets', () => {
    const loose = { ...budget, disruptionsAllowed: 1 };
    expect(asked({ budgets: [loose, { ...loose, name: 'shop/all' }] })).toEqual(['B7 ask']);
  });
  it('requires approval for a bare pod, and reports an emptyDir', () =>
    expect(asked({ pods: [pod({ bare: true, emptyDir: true })] })).toEqual(['B7 ask', 'B7 inform']));
  it('ignores nodes that are not drained', () =>
    expect(b7PodsCanMove({ ...healthy, pods: [pod()], budgets: [budget] }, [])).toEqual([]));
  it('requires approval if the remaining nodes have too little capacity', () => {
    const full = { ...healthy, pods: [pod({ requests: { cpuMillis: 2_500, memoryBytes: 1e8 } })] };
    expect(b7Capacity(full, 'w', 1)).toMatchObject([{ rule: 'B7', severity: 'ask', facts: { short: 'cpuMillis' } }]);
    expect(b7Capacity({ ...healthy, pods: [pod()] }, 'w', 1)).toEqual([]);
  });
});

describe('B8 certificates and clocks', () => {
  const ends = (days: number, name = 'apiserver') =>
    withNode(cp(1), { certificates: [{ name, expiresAt: later(days * 24 * 3_600_000) }] });
  it('rejects a certificate that expires within 30 days after the plan, unless the plan renews it [Cluster API 23]', () => {
    expectRefused(b8Certificates(ends(20), Date.parse(AT), { renewed: [], isRenewal: false }), 'B8');
    expect(b8Certificates(ends(20), Date.parse(AT), { renewed: [cp(1)], isRenewal: false })).toEqual([]);
    expect(b8Certificates(ends(40), Date.parse(AT), { renewed: [], isRenewal: false })).toEqual([]);
  });
  it('does not suggest a renewal before a renewal, however soon a certificate expires', () => {
    const soon = ends(0.01);
    const endsAtMs = Date.parse(AT) + 3_600_000;
    expectRefused(b8Certificates(soon, endsAtMs, { renewed: [cp(1)], isRenewal: false }), 'B8');
    expect(b8Certificates(soon, endsAtMs, { renewed: [cp(1)], isRenewal: true })).toEqual([]);
  });
  it('reports expired certificates, and how to renew them without the API', () => {
    expectRefused(b8Ended(ends(-1)), 'B8');
    expect(b8Ended(ends(-1))[0]?.help).toContain('through the agents, without the API');
    expect(b8Ended(ends(0.01))).toEqual([]);
    expect(b8Ended(ends(-1, 'kubelet'))).toEqual([]);
  });
  it('refuses an authority that ends, for no renewal helps it, and does not advise one', () => {
    const found = b8Certificates(ends(20, 'etcd-ca'), Date.parse(AT), { renewed: [cp(1)], isRenewal: false });
    expectRefused(found, 'B8');
    expect(found.map(({ help }) => help)).not.toContainEqual(expect.stringContaining('certificates renew'));
  });
  it('renews certificates although an authority ends soon, which no other request would change', () =>
    expect(b8Certificates(ends(20, 'ca'), Date.parse(AT), { renewed: [], isRenewal: true })).toEqual([]));
  it('refuses clocks that are a second apart', () => {
    expectRefused(b8Clocks(withNode(w(1), { clockSkewMs: -1_200 })), 'B8');
    expect(b8Clocks(healthy)).toEqual([]);
  });
});

describe('B9 disk space and sources', () => {
  it('rejects a full disk', () =>
    expectRefused(b9Room(withNode(w(1), { disk: { freeBytes: 1e9, neededBytes: 2e9 } }), [w(1)]), 'B9'));
  const seen = { at: AT, address: 'http://mirror/', failure: null, releases: ['v1.33.13', 'v1.34.4'] };
  const brought = (...versions: readonly string[]) => new Map([[w(1), versions]]);
  it('rejects a node that cannot reach its source, with the error of the node', () => {
    const facts = withNode(w(1), { source: { ...seen, failure: 'connection refused', releases: null } });
    expectRefused(b9Source(facts, brought('v1.34.4')), 'B9');
    expect(b9Source(facts, brought('v1.34.4'))[0]?.sentence).toBe(
      `${w(1)} cannot reach its software source http://mirror/: connection refused`,
    );
  });
  it("rejects a version that a node's source does not have", () => {
    const facts = withNode(w(1), { source: seen });
    expectRefused(b9Source(facts, brought('v1.34.4', 'v1.35.4')), 'B9');
    expect(b9Source(facts, brought('v1.34.4', 'v1.35.4'))[0]?.facts).toMatchObject({ missing: ['v1.35.4'] });
    expect(b9Source(facts, brought('v1.34.4'))).toEqual([]);
    // The official site has no list of releases.
    expect(b9Source(withNode(w(1), { source: { ...seen, releases: null } }), brought('v1.35.4'))).toEqual([]);
  });
  it('ignores nodes that download nothing, and those that have not checked yet', () => {
    expect(b9Source(withNode(w(1), { source: { ...seen, failure: 'no route' } }), new Map())).toEqual([]);
    expect(b9Source(withNode(w(1), { source: null }), brought('v1.34.4'))).toEqual([]);
  });
});

describe('B10 a minor of etcd', () => {
  it('requires every member at the version in its upgrade guide', () => {
    expect(b10EtcdMinor(etcd, '3.5.35', '3.6.5-0')).toEqual([]);
    const old = { ...etcd, members: etcd.members.map((one) => ({ ...one, version: '3.5.24' })) };
    expectRefused(b10EtcdMinor(old, '3.5.24', '3.6.5-0'), 'B10');
  });
  it('requires a clean v2 store before 3.6', () => {
    const dirty = { ...etcd, members: etcd.members.map((one) => ({ ...one, v2StoreClean: false })) };
    expectRefused(b10V2Store(dirty, '3.5.35', '3.6.5-0'), 'B10');
    expect(b10V2Store(etcd, '3.5.35', '3.6.5-0')).toEqual([]);
    expect(b10V2Store(dirty, '3.6.5-0', '3.6.8-0')).toEqual([]);
  });
  it('is one at a time', () => expectRefused(b10EtcdMinor(etcd, '3.5.35', '3.7.0'), 'B10'));
  it('does not check a patch', () => expect(b10EtcdMinor(etcd, '3.6.5-0', '3.6.8-0')).toEqual([]));
});

it('an unreadable field is rejected by its rule, with the cause', () =>
  expect(
    unreadFindings({ ...healthy, unread: [{ what: 'etcd', rule: 'B3', message: 'connection refused' }] }),
  ).toMatchObject([{ rule: 'B3', severity: 'refuse', sentence: 'etcd could not be read: connection refused' }]));

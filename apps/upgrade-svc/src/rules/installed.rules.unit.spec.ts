import { describe, expect, it } from '@jest/globals';
import type { TemplateView } from '@fairlead/kubernetes';
import type { InstalledFacts, KubeadmAddon } from './cluster.facts.js';
import { installedLost } from './installed.rules.js';
import { INSTALLED } from './rules.fixtures.js';

const lost = (installed: InstalledFacts, target = 'v1.34.4', present = 'v1.33.13'): readonly string[] =>
  installedLost(installed, [present, target]).map(({ sentence }) => sentence);

const changed = (addon: KubeadmAddon, change: Partial<TemplateView>): InstalledFacts => ({
  ...INSTALLED,
  templates: { ...INSTALLED.templates, [addon]: { ...INSTALLED.templates[addon], ...change } },
});
const configured = (config: Partial<InstalledFacts['config']>): InstalledFacts => ({
  ...INSTALLED,
  config: { ...INSTALLED.config, ...config },
});
const takenBack = (object: string, changes: string): readonly string[] => [
  `the upgrade would take back what was changed by hand of ${object} in kube-system: ${changes}`,
];

describe('B11 objects that kubeadm installs for the whole cluster', () => {
  it('has no finding if they are unchanged', () => expect(lost(INSTALLED)).toEqual([]));

  it.each<[string, KubeadmAddon, Partial<TemplateView>, string]>([
    [
      'more memory for CoreDNS (kubeadm#3033)',
      'coredns',
      { resources: ['limits.memory=512Mi', 'requests.cpu=100m', 'requests.memory=70Mi'] },
      'limits.memory=512Mi',
    ],
    [
      'no limits for CoreDNS',
      'coredns',
      { resources: ['requests.cpu=100m', 'requests.memory=70Mi'] },
      'no limits.memory=170Mi',
    ],
    [
      'zone files beside the Corefile',
      'coredns',
      { volumes: ['config-volume', 'config-volume/Corefile', 'config-volume/example.db'] },
      'volume config-volume/example.db',
    ],
    [
      'CoreDNS kept away from control planes, and spread over zones',
      'coredns',
      { tolerations: ['toleration CriticalAddonsOnly'], placement: ['podAntiAffinity', 'spread over zone'] },
      'no toleration node-role.kubernetes.io/control-plane:NoSchedule, spread over zone',
    ],
    [
      'CoreDNS of an own registry',
      'coredns',
      { image: 'mirror.example.org:5000/coredns:v1.12.0' },
      'image mirror.example.org:5000/coredns:v1.12.0',
    ],
    [
      'a newer CoreDNS',
      'coredns',
      { image: 'registry.k8s.io/coredns/coredns:v9.0.0' },
      'image registry.k8s.io/coredns/coredns:v9.0.0',
    ],
    [
      'a sidecar and a variable',
      'coredns',
      { containers: ['agent'], environment: ['GOMAXPROCS'] },
      'variable GOMAXPROCS, container agent',
    ],
    [
      'kube-proxy on some nodes only (kubeadm#699)',
      'kube-proxy',
      {
        nodeSelector: ['nodeSelector kubernetes.io/os=linux', 'nodeSelector proxy=yes'],
        tolerations: ['toleration gpu:NoSchedule'],
      },
      'nodeSelector proxy=yes, toleration gpu:NoSchedule, no toleration every taint',
    ],
    [
      'a flag and resources of kube-proxy',
      'kube-proxy',
      { args: [...(INSTALLED.templates['kube-proxy']?.args ?? []), '--v=4'], resources: ['requests.cpu=50m'] },
      '--v=4, requests.cpu=50m',
    ],
  ])('reports %s', (_, addon, change, changes) =>
    expect(lost(changed(addon, change))).toEqual(
      takenBack(`${addon === 'coredns' ? 'Deployment' : 'DaemonSet'} ${addon}`, changes),
    ),
  );

  it('accepts images that kubeadm itself installed if an earlier patch is requested', () =>
    expect(lost(changed('kube-proxy', { image: 'registry.k8s.io/kube-proxy:v1.34.9' }), 'v1.34.2', 'v1.34.9')).toEqual(
      [],
    ));

  it('accepts images of the registry and the tag in kubeadm-config', () => {
    const image = 'mirror.example.org/coredns:v9.0.0';
    const dns = { imageRepository: 'mirror.example.org', imageTag: 'v9.0.0' };
    expect(lost({ ...changed('coredns', { image }), config: { ...INSTALLED.config, dns } })).toEqual([]);
  });

  it('reports another API server of kube-proxy and additional keys, but not changes in config.conf', () => {
    const kubeProxyConfig = { keys: ['config.conf', 'kubeconfig.conf', 'extra'], server: 'https://127.0.0.1:7443' };
    expect(lost({ ...INSTALLED, kubeProxyConfig })).toEqual(
      takenBack('ConfigMap kube-proxy', 'key extra, server https://127.0.0.1:7443 of kubeconfig.conf'),
    );
    const { config } = configured({ controlPlaneEndpoint: 'demo.example.org' });
    expect(lost({ ...INSTALLED, config })).toEqual([]);
  });

  it('reports that kubeadm 1.32 or later reinstalls a removed addon, unless kubeadm-config disables it (kubernetes#129415)', () => {
    const without: InstalledFacts = { ...INSTALLED, templates: { ...INSTALLED.templates, 'kube-proxy': null } };
    expect(lost(without)).toEqual(['the upgrade would install kube-proxy again, which was removed from kube-system']);
    expect(lost(without, 'v1.31.14')).toEqual([]);
    expect(lost({ ...without, config: { ...without.config, disabled: ['kube-proxy'] } })).toEqual([]);
  });

  it("reports feature gates that the target's kubeadm ignores, if their value differs from its behavior", () => {
    const featureGates = { ControlPlaneKubeletLocalMode: false, EtcdLearnerMode: true, NodeLocalCRISocket: false };
    expect(lost(configured({ featureGates }), 'v1.36.3')).toEqual([
      'kubeadm v1.36.3 no longer has feature gates that kubeadm-config sets, and ignores them: ControlPlaneKubeletLocalMode=false',
    ]);
    expect(lost(configured({ featureGates }), 'v1.35.4')).toEqual([]);
  });
});

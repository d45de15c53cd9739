import { KUBERNETES_RELEASES } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { cp, modelOf, versionsOf, w } from '../../test/model.js';
import {
  a1ApiServersWithinOneMinor,
  a1NoMinorSkipped,
  a2KubeletSkew,
  a2KubeProxySkew,
  a3ControllersSkew,
  a4NeverBack,
  a4Path,
  a5KubeadmAtTarget,
  a6NoKubeletAtTheLimit,
  a6SkewOnTheWay,
  type NodeVersions,
  type Versions,
} from './skew.rules.js';
import { kubeletTo, upgradeOf } from './rules.fixtures.js';

const at = (version: string): Versions => versionsOf(modelOf(3, 2, version));
const but = (versions: Versions, name: string, change: Partial<NodeVersions>): Versions =>
  versions.map((node) => (node.name === name ? { ...node, ...change } : node));
const rules = (findings: readonly { readonly rule: string }[]): readonly string[] => findings.map(({ rule }) => rule);

describe('A1 API servers', () => {
  it('may be one minor apart', () =>
    expect(a1ApiServersWithinOneMinor(but(at('1.33.13'), cp(2), { apiServer: '1.34.4' }))).toEqual([]));
  it('may not be two minors apart', () =>
    expect(rules(a1ApiServersWithinOneMinor(but(at('1.33.13'), cp(2), { apiServer: '1.35.4' })))).toEqual(['A1']));
  it('never skip a minor, not even a single one [Cluster API 24]', () =>
    expect(rules(a1NoMinorSkipped('1.33.13', '1.35.4'))).toEqual(['A1']));
  it('never go back a minor', () => expect(rules(a1NoMinorSkipped('1.34.4', '1.33.13'))).toEqual(['A1']));
  it('may be upgraded or downgraded to any patch of their minor [ORBITER 14]', () =>
    expect(a1NoMinorSkipped('1.34.4', '1.34.2')).toEqual([]));
});

describe('A2 kubelets', () => {
  it('are never newer than the oldest API server', () =>
    expect(a2KubeletSkew(but(at('1.33.13'), w(1), { kubelet: '1.34.4' }))).toMatchObject([
      { rule: 'A2', facts: { node: w(1), version: '1.34.4', apiServer: '1.33.13' } },
    ]));
  it('of a control plane may be as new as its own API server, if it uses no other', () => {
    const newer = but(at('1.33.13'), cp(1), { kubelet: '1.34.4', apiServer: '1.34.4' });
    expect(a2KubeletSkew(newer)).toEqual([]);
    expect(rules(a2KubeletSkew(but(newer, cp(1), { kubeletTalksToLocalApi: false })))).toEqual(['A2']);
  });
  it.each([
    ['1.34.4', '1.31.9', 0],
    ['1.35.4', '1.31.9', 1],
    ['1.26.1', '1.24.9', 0],
    ['1.27.1', '1.24.9', 1],
  ])('with API server %s may be %s: %i findings', (api, kubelet, findings) =>
    expect(a2KubeletSkew(but(at(api), w(1), { kubelet }))).toHaveLength(findings),
  );
  it('and kube-proxies have the same limits', () => {
    expect(rules(a2KubeProxySkew(but(at('1.33.13'), w(1), { kubeProxy: '1.34.4' })))).toEqual(['A2']);
    expect(a2KubeProxySkew(at('1.34.4'))).toEqual([]);
  });
});

describe('A3 controller manager and scheduler', () => {
  it('are never newer than their API server', () =>
    expect(rules(a3ControllersSkew(but(at('1.33.13'), cp(1), { scheduler: '1.34.4' })))).toEqual(['A3']));
  it('may be one minor older, not two', () => {
    expect(a3ControllersSkew(but(at('1.34.4'), cp(1), { controllerManager: '1.33.13' }))).toEqual([]);
    expect(rules(a3ControllersSkew(but(at('1.34.4'), cp(1), { controllerManager: '1.32.1' })))).toEqual(['A3']);
  });
});

describe('A4 the path', () => {
  const path = (from: string, to: string) => a4Path(from, to, KUBERNETES_RELEASES);
  it('first upgrades the current minor to its latest tested patch', () =>
    expect(path('v1.33.5', 'v1.34.4').versions).toEqual(['v1.33.5', 'v1.33.13', 'v1.34.4']));
  it('keeps a current patch that is newer than the tested ones', () =>
    expect(path('v1.34.9', 'v1.35.4').versions).toEqual(['v1.34.9', 'v1.35.4']));
  it('leads to any patch of the current minor, up or down [ORBITER 14]', () => {
    expect(path('v1.34.4', 'v1.34.9').versions).toEqual(['v1.34.4', 'v1.34.9']);
    expect(path('v1.34.4', 'v1.34.2').versions).toEqual(['v1.34.4', 'v1.34.2']);
  });
  it('does not downgrade the newest API server of a partly upgraded cluster', () => {
    const releases = KUBERNETES_RELEASES;
    const ahead = (present: string, newest: string) => a4NeverBack(path(present, 'v1.35.4'), newest, releases).versions;
    expect(ahead('v1.32.11', 'v1.32.11')).toEqual(['v1.32.11', 'v1.32.13', 'v1.33.13', 'v1.34.4', 'v1.35.4']);
    expect(ahead('v1.32.11', 'v1.33.13')).toEqual(['v1.32.11', 'v1.33.13', 'v1.34.4', 'v1.35.4']);
    expect(ahead('v1.33.13', 'v1.34.9')).toEqual(['v1.33.13', 'v1.34.9', 'v1.35.4']);
  });
  it('starts from the oldest supported minor', () =>
    expect(path('v1.30.14', 'v1.33.13').versions.map((version) => version.slice(0, 5))).toEqual([
      'v1.30',
      'v1.31',
      'v1.32',
      'v1.33',
    ]));
  it('leads minor by minor [ORBITER 14]', () =>
    expect(path('v1.33.13', 'v1.36.3').versions).toEqual(['v1.33.13', 'v1.34.4', 'v1.35.4', 'v1.36.3']));
  it('ends if no release of a minor is known, and reports the minor', () =>
    expect(path('v1.35.4', 'v1.39.0').findings).toMatchObject([{ rule: 'A4', facts: { missing: '1.37' } }]));
  it('is empty if the target already runs', () => expect(path('v1.34.4', 'v1.34.4').versions).toEqual(['v1.34.4']));
  it('never leads to a lower minor [ORBITER 14]', () =>
    expect(rules(path('v1.34.4', 'v1.33.13').findings)).toEqual(['A1']));
});

describe('A5 kubeadm', () => {
  const [operation] = upgradeOf(kubeletTo(cp(1), 'control-plane', '1.33.13', '1.34.4'));
  it('is upgraded to the target before it runs', () => expect(a5KubeadmAtTarget(operation!)).toEqual([]));
  it('of another version is rejected', () =>
    expect(a5KubeadmAtTarget({ ...operation!, to: { ...operation!.to, kubeadm: '1.35.4' } })).toMatchObject([
      { rule: 'A5', facts: { kubeadm: '1.35.4', kubernetes: '1.34.4' } },
    ]));
});

describe('A6 every intermediate state', () => {
  it('satisfies the skew if control planes precede workers', () => {
    const operations = upgradeOf(
      ...[1, 2, 3].map((index) => kubeletTo(cp(index), 'control-plane', '1.33.13', '1.34.4')),
      ...[1, 2].map((index) => kubeletTo(w(index), 'worker', '1.33.13', '1.34.4')),
    );
    expect(a6SkewOnTheWay(at('1.33.13'), operations)).toEqual([]);
  });
  it('violates it if a worker is first, although the end is the same', () => {
    const operations = upgradeOf(
      kubeletTo(w(1), 'worker', '1.33.13', '1.34.4'),
      ...[1, 2, 3].map((index) => kubeletTo(cp(index), 'control-plane', '1.33.13', '1.34.4')),
    );
    expect(a6SkewOnTheWay(at('1.33.13'), operations)).toMatchObject([
      { rule: 'A2', facts: { node: w(1), operation: 'op-01' } },
    ]);
  });
  it('is blocked by a skipped kubelet that is at its limit', () => {
    const old = but(at('1.34.4'), w(2), { kubelet: '1.31.9' });
    expect(a6NoKubeletAtTheLimit(old, [w(2)])).toMatchObject([{ rule: 'A6', facts: { node: w(2) } }]);
    expect(a6NoKubeletAtTheLimit(old, [])).toEqual([]);
  });
});

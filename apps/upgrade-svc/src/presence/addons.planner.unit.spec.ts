import { describe, expect, it } from '@jest/globals';
import type { WorkloadView } from '../kubernetes/kubernetes.ports.js';
import { agreed, isSuspect, lookOf } from './addons.planner.js';

const view = (ready: number, change: Partial<WorkloadView> = {}): WorkloadView => ({
  ...{ kind: 'DaemonSet', namespace: 'kube-system', name: 'kube-proxy', desired: 5, ready, updated: 5, former: 0 },
  ...{ observed: true, version: 'v1.34.4' },
  ...change,
});

describe('an addon', () => {
  it.each([
    ['runs with a pod on every node', [view(5)], 0, null],
    ['runs without pods on nodes that are not Ready', [view(3)], 2, null],
    ['lacks a pod on a node that is Ready', [view(3)], 1, 'DaemonSet kube-system/kube-proxy has 3 of 5 pods Ready'],
    ['runs while its pods are exchanged', [view(3, { former: 1 })], 0, null],
    ['runs while Kubernetes has not seen its newest template', [view(3, { observed: false })], 0, null],
    ['has no pod that is Ready', [view(0)], 5, 'DaemonSet kube-system/kube-proxy has 0 of 5 pods Ready'],
    ['runs where no node is for it', [view(0, { desired: 0 })], 0, null],
    ['is missing', [undefined], 0, 'there is no DaemonSet kube-system/kube-proxy'],
  ] as const)('%s', (_title, found, nodesAway, problem) => {
    expect(lookOf('kube-proxy', found, nodesAway)).toBe(problem);
  });

  it('that is a Deployment runs while at least one of its pods is Ready', () => {
    const dns = (ready: number) => view(ready, { kind: 'Deployment', name: 'coredns', desired: 2 });
    expect(lookOf('coredns', [dns(1)], 0)).toBeNull();
    expect(lookOf('coredns', [dns(0)], 0)).toBe('Deployment kube-system/coredns has 0 of 2 pods Ready');
  });

  it('with several workloads has the first of their problems', () => {
    const node = view(5, { name: 'calico-node' });
    expect(lookOf('calico', [node, undefined], 0)).toBe('there is no Deployment kube-system/calico-kube-controllers');
  });

  it('is degraded once two checks agree, with the message of the newer one, and runs after a single check', () => {
    const before = { coredns: 'gone', 'kube-proxy': null, flannel: 'gone' };
    const now = { coredns: '0 of 2', 'kube-proxy': '3 of 5', flannel: null, kilo: 'gone' };
    expect(agreed(before, now)).toEqual({ degraded: { coredns: '0 of 2' }, running: ['flannel'] });
    expect([isSuspect(now), isSuspect({ flannel: null })]).toEqual([true, false]);
  });
});

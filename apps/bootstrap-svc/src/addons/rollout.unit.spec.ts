import { expect, it } from '@jest/globals';
import type { PlacedPod, WorkloadView } from '../kubernetes/kubernetes.ports.js';
import { NETWORKS } from './catalogue.js';
import { daemonProblems, rolloutProblems, workloadsOf } from './rollout.js';

const CILIUM = workloadsOf(
  NETWORKS.cilium.manifests({
    podCidr: '10.244.0.0/16',
    oneSegment: true,
    nftables: false,
    endpoint: { host: '198.18.7.1', port: 6443 },
  }),
);

const cluster = (pods: Readonly<Record<string, readonly [ready: number, desired: number]>>) => ({
  workload: (kind: WorkloadView['kind'], _namespace: string, name: string) => {
    const [ready, desired] = pods[`${kind}/${name}`] ?? [0, undefined];
    return Promise.resolve(desired === undefined ? undefined : { version: '', ready, desired });
  },
});

it('a network has rolled out when the pods of its DaemonSet and of its Deployment are ready', async () => {
  const rolledOut = cluster({ 'DaemonSet/cilium': [3, 3], 'Deployment/cilium-operator': [1, 1] });
  expect(await rolloutProblems(rolledOut, CILIUM)).toEqual([]);
});

it('a network whose operator is not ready yet has not rolled out', async () => {
  const withoutOperator = cluster({ 'DaemonSet/cilium': [3, 3], 'Deployment/cilium-operator': [0, 1] });
  expect(await rolloutProblems(withoutOperator, CILIUM)).toEqual(['kube-system/cilium-operator has 0 of 1 pods ready']);
});

it('a DaemonSet without nodes and a missing one have not rolled out', async () => {
  expect(await rolloutProblems(cluster({ 'DaemonSet/cilium': [0, 0] }), CILIUM)).toEqual([
    'kube-system/cilium has 0 of 0 pods ready',
    'there is no Deployment kube-system/cilium-operator',
  ]);
});

it('on a new node a network has rolled out when its pods there are ready, whatever the state of other nodes', async () => {
  const on = (ready: boolean, name: string) =>
    ({ namespace: 'kube-system', name: `${name}-x1`, ready, controller: { kind: 'DaemonSet', name } }) as PlacedPod;
  const problems = (...pods: readonly PlacedPod[]) =>
    daemonProblems({ podsOn: () => Promise.resolve(pods) }, 'w-9', CILIUM);
  expect(await problems(on(true, 'cilium'), on(false, 'fluent-bit'))).toEqual([]);
  expect(await problems(on(false, 'cilium'))).toEqual(['kube-system/cilium-x1 on w-9 is not ready']);
  expect(await problems(on(true, 'fluent-bit'))).toEqual(['no pod of the network is on w-9']);
});

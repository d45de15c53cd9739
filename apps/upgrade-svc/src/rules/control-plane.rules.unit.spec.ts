import { c8MayRemove } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import { changeNode, cp, etcdOf, factsOf, modelOf, w } from '../../test/model.js';
import {
  c1GatesBefore,
  c2LeaderGivesWay,
  c2MayDrain,
  c2NextLeader,
  c3StopApiServerFirst,
  c4KubeadmCommand,
  c5GatesAfter,
  c6KubeletGoesAlong,
  c7NoSurge,
  c8MayPause,
  c8QuorumWithout,
  c9GatesFinish,
  c9WorkersMayBegin,
} from './control-plane.rules.js';
import { kubeletTo, upgradeOf } from './rules.fixtures.js';

const AT = '2026-11-21T10:00:00.000Z';

describe('C1 before each control plane', () => {
  it('the API, the cluster, etcd, its quorum and its leader are checked in this order', () =>
    expect(c1GatesBefore).toEqual(['api-answers', 'cluster-healthy', 'etcd-healthy', 'etcd-quorum', 'etcd-leader']));
});

describe('C2 a control plane', () => {
  it('is drained, unless no other node takes pods', () => {
    expect(c2MayDrain(factsOf(modelOf(3, 2, '1.33.13'), AT), cp(1))).toBe(true);
    expect(c2MayDrain(factsOf(modelOf(1, 0, '1.33.13'), AT), cp(1))).toBe(false);
  });
  it('transfers the etcd leadership to one that is done, only if it leads', () => {
    const others = [cp(1), cp(2), cp(3)].map((name) => ({ name, done: name === cp(2) }));
    expect(c2NextLeader(cp(1), cp(1), others)).toBe(cp(2));
    expect(c2NextLeader(cp(3), cp(1), others)).toBeNull();
    expect(c2NextLeader(cp(1), cp(1), [{ name: cp(1), done: false }])).toBeNull();
  });
  it('that leads is postponed while others wait that were not postponed', () => {
    const left = [{ node: cp(2), postponed: false }];
    expect(c2LeaderGivesWay(cp(1), cp(1), left)).toBe(true);
    expect(c2LeaderGivesWay(cp(1), cp(1), [{ node: cp(2), postponed: true }])).toBe(false);
    expect(c2LeaderGivesWay(cp(2), cp(1), left)).toBe(false);
  });
});

describe('C3 the API server is stopped first', () => {
  it('if etcd is upgraded', () => expect(c3StopApiServerFirst('v1.33.13', 'v1.34.4')).toBe(true));
  it('but not if etcd is unchanged', () => expect(c3StopApiServerFirst('v1.34.4', 'v1.34.4')).toBe(false));
});

describe('C4 kubeadm upgrade', () => {
  it('runs `apply` on the first control plane', () => expect(c4KubeadmCommand(false)).toBe('apply'));
  it('and `node` on the others', () => expect(c4KubeadmCommand(true)).toBe('node'));
});

describe('C5 a control plane is done', () => {
  it('when its pods, its API server, its member and its leases were verified, not after a fixed time', () =>
    expect(c5GatesAfter).toEqual(['static-pods', 'api-server', 'etcd-member', 'leases', 'node-ready', 'daemonsets']));
});

describe('C6 the kubelet of a control plane', () => {
  const facts = factsOf(modelOf(3, 0, '1.33.13'), AT);
  const balanced = { nodes: facts.nodes.map((node) => ({ ...node, kubeletTalksToLocalApi: false })) };
  it('is upgraded with it if it uses its own API server', () => expect(c6KubeletGoesAlong(facts)).toBe(true));
  it('is upgraded after every API server if it uses a load balancer', () =>
    expect(c6KubeletGoesAlong(balanced)).toBe(false));
  it('is upgraded with it if it is the only control plane', () =>
    expect(c6KubeletGoesAlong({ nodes: balanced.nodes.slice(0, 1) })).toBe(true));
});

describe('C7 control planes', () => {
  it('have no surge', () => expect(c7NoSurge(1)).toMatchObject([{ rule: 'C7', severity: 'refuse' }]));
  it('are upgraded in place', () =>
    expect([c7NoSurge(undefined), c7NoSurge(0), c7NoSurge('0%')]).toEqual([[], [], []]));
});

describe('C8 the quorum of etcd', () => {
  it.each([
    [3, 3, true, true],
    [3, 2, true, false],
    [3, 2, false, true],
    [5, 4, true, true],
    [5, 3, true, false],
    [1, 1, true, true],
  ])('%i members, %i healthy, this one among them: %s; it may be unavailable: %s', (members, healthy, itIs, may) =>
    expect(c8MayPause({ members, healthy }, itIs)).toBe(may),
  );
  it.each([
    [3, 3, true, true],
    [3, 2, true, false],
    [3, 2, false, true],
    [2, 2, true, true],
    [2, 1, false, false],
  ])('%i members, %i healthy, this one among them: %s; it may leave permanently: %s', (members, healthy, itIs, may) =>
    expect(c8MayRemove({ members, healthy }, itIs)).toBe(may),
  );
  it('is reported with its numbers', () => {
    const model = changeNode(modelOf(3, 0, '1.33.13'), cp(3), { memberHealthy: false });
    expect(c8QuorumWithout(etcdOf(model), cp(1))).toMatchObject([
      { rule: 'C8', facts: { members: 3, healthy: 2, node: cp(1), majority: 2 } },
    ]);
    expect(c8QuorumWithout(etcdOf(model), cp(3))).toEqual([]);
  });
});

describe('C9 workers', () => {
  const [first, worker] = upgradeOf(
    kubeletTo(cp(1), 'control-plane', '1.33.13', '1.34.4'),
    kubeletTo(w(1), 'worker', '1.33.13', '1.34.4'),
  );
  it('wait for the last control plane', () => {
    expect(c9WorkersMayBegin([{ operation: first!, ended: false }], worker!)).toBe(false);
    expect(c9WorkersMayBegin([{ operation: first!, ended: true }], worker!)).toBe(true);
  });
  it('and for kube-proxy, CoreDNS, the cluster and etcd', () =>
    expect(c9GatesFinish).toEqual(['kube-proxy', 'dns', 'cluster-healthy', 'etcd-healthy']));
});

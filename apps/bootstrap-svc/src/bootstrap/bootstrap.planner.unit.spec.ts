import { describe, expect, it } from '@jest/globals';
import type { Fact, NodeName } from '@fairlead/contracts';
import {
  apiBalanced,
  balancedByNodes,
  agentStarted,
  balanced,
  bootstrapped,
  clusterReady,
  controlPlaneInitialized,
  controlPlaneJoined,
  controlPlaneReady,
  cp,
  changeStarted,
  created,
  desired,
  etcdReady,
  fit,
  initialized,
  machine,
  machinesOf,
  networkReady,
  nodeReady,
  reached,
  requested,
  SOFTWARE,
  UID,
  w,
  desiredAfter,
  etcdSaved,
  stateAfter,
  wholeCluster,
  workerJoined,
} from './bootstrap.fixtures.js';
import { departures } from './bootstrap.decider.js';
import { nextLookAt } from './departures.planner.js';
import { desiredMetadata } from './metadata.evolve.js';

const five = [cp(1), cp(2), cp(3), w(1), w(2)];
const machines: Fact[] = [requested(3, 2), created(machinesOf(3, 2)), balanced];

describe('before the control plane', () => {
  it('hosts are not changed before their software is decided [ORBITER 5, Cluster API 4]', () => {
    expect(desiredAfter(...machines)).toEqual([]);
  });

  it('all hosts are prepared at the same time', () => {
    expect(desiredAfter(...machines, ...five.map(desired))).toEqual(five.map((node) => `BootstrapHost/${node}`));
  });

  it('the number of hosts prepared at the same time is limited in a large cluster [CB-Ladybug 13]', () => {
    const many = Array.from({ length: 40 }, (_, index) => w(index + 1));
    const facts = [requested(1, 40), created([machine(cp(1), true), ...many.map((name) => machine(name))])];
    expect(desiredAfter(...facts, ...[cp(1), ...many].map(desired))).toHaveLength(20);
  });

  it('hosts of a later request do not interrupt those being prepared, whatever their names', () => {
    const many = Array.from({ length: 30 }, (_, index) => w(index + 10));
    const facts = [
      requested(1, 30),
      created([machine(cp(1), true), ...many.map((name) => machine(name))]),
      ...[cp(1), ...many].map(desired),
    ];
    const before = desiredAfter(...facts);
    expect(before).toHaveLength(20);
    expect(desiredAfter(...facts, created([machine(w(1))]), desired(w(1)))).toEqual(before);
  });

  it('a host is verified once its agent has reported, even if the report precedes the record of its start', () => {
    const facts = [...machines, desired(w(1)), initialized(w(1)), reached(w(1)), agentStarted(w(1))];
    expect(desiredAfter(...facts)).toEqual([`VerifyNode/${w(1)}`]);
  });

  it('an agent that reports a version other than the desired one is not done', () => {
    const facts = [
      ...machines,
      desired(w(1)),
      agentStarted(w(1)),
      initialized(w(1), { ...SOFTWARE, kubelet: '1.33.13' }),
    ];
    expect(desiredAfter(...facts)).toEqual([]);
  });

  it.each(five)('kubeadm init waits for every host of the set: %s [ORBITER 6]', (late) => {
    const others = five.filter((node) => node !== late);
    expect(desiredAfter(...machines, ...fit(...others))).toEqual([]);
    expect(desiredAfter(...machines, ...fit(...five))).toEqual([`InitControlPlane/${cp(1)}`]);
  });

  it('kubeadm init waits for the address of the API server', () => {
    expect(desiredAfter(requested(3, 2), created(machinesOf(3, 2)), ...fit(...five))).toEqual([]);
  });
});

describe('after kubeadm init', () => {
  const begun = [...machines, ...fit(...five), controlPlaneInitialized];

  it('the network precedes any join [ORBITER 7, azimuth 19]', () => {
    expect(desiredAfter(...begun)).toEqual(['InstallNetwork']);
  });

  const workers = [`JoinWorker/${w(1)}`, `JoinWorker/${w(2)}`];

  it('control planes join strictly one at a time, and workers in parallel with them [ORBITER 7, CB-Ladybug 18]', () => {
    expect(desiredAfter(...begun, networkReady)).toEqual([`JoinControlPlane/${cp(2)}`, ...workers]);
    expect(desiredAfter(...begun, networkReady, controlPlaneJoined(cp(2)))).toEqual([
      `JoinControlPlane/${cp(3)}`,
      ...workers,
    ]);
  });

  it('the control planes are verified once all of them have joined, whatever workers still join', () => {
    const joined = [...begun, networkReady, controlPlaneJoined(cp(2)), controlPlaneJoined(cp(3))];
    expect(desiredAfter(...joined)).toEqual([...workers, 'VerifyControlPlane']);
    expect(desiredAfter(...joined, workerJoined(w(1)))).toEqual([`JoinWorker/${w(2)}`, 'VerifyControlPlane']);
    expect(desiredAfter(...joined, controlPlaneReady(cp(1), cp(2), cp(3)))).toEqual(workers);
  });

  it('addons wait until every node is Ready at the desired version [azimuth 19]', () => {
    const joined = wholeCluster().filter(({ type }) => type !== 'ClusterReady' && type !== 'NodeReady');
    const ready = five.map((node) => nodeReady(node));
    expect(desiredAfter(...joined, ...ready.slice(1))).toEqual([]);
    expect(desiredAfter(...joined, ...ready.slice(1), nodeReady(cp(1), { ...SOFTWARE, kubelet: '1.33.13' }))).toEqual(
      [],
    );
    expect(desiredAfter(...joined, ...ready)).toEqual(['InstallAddons']);
  });

  it('nothing is planned for a ready cluster, whatever its nodes report later', () => {
    const notReady: Fact = {
      type: 'NodeNotReady',
      data: { uid: UID, node: w(1), revision: 1, reason: 'KubernetesNotReady', message: 'kubelet stopped' },
    };
    expect(desiredAfter(...wholeCluster())).toEqual([]);
    expect(desiredAfter(...wholeCluster(), notReady)).toEqual([]);
  });
});

describe('more workers', () => {
  const more = [w(3), w(4)];
  const grown = [...wholeCluster(), created(more.map((name) => machine(name)))];

  it('join once all agents of their own set have reported, and an old node that is not Ready does not delay them [ORBITER 6]', () => {
    const notReady: Fact = {
      type: 'NodeNotReady',
      data: { uid: UID, node: w(1), revision: 1, reason: 'KubernetesNotReady', message: 'kubelet stopped' },
    };
    expect(desiredAfter(...grown, ...fit(w(3)), desired(w(4)))).toEqual([`BootstrapHost/${w(4)}`]);
    expect(desiredAfter(...grown, notReady, ...fit(...more))).toEqual([`JoinWorker/${w(3)}`, `JoinWorker/${w(4)}`]);
    const joined = more.flatMap((node): Fact[] => [workerJoined(node), nodeReady(node)]);
    expect(desiredAfter(...grown, notReady, ...fit(...more), ...joined)).toEqual(['InstallAddons']);
    expect(desiredAfter(...grown, ...fit(...more), ...joined, clusterReady)).toEqual([]);
  });
});

it('a later control plane waits for all agents of its own set, and joins in parallel with the workers of the set [ORBITER 6]', () => {
  const facts = [...wholeCluster(), created([machine(cp(4)), machine(w(3))]), ...fit(cp(4)), desired(w(3))];
  expect(desiredAfter(...facts)).toEqual([`BootstrapHost/${w(3)}`]);
  const begun = [...facts, ...fit(w(3)), etcdSaved, changeStarted(cp(4))];
  expect(desiredAfter(...begun)).toEqual([`JoinControlPlane/${cp(4)}`, `JoinWorker/${w(3)}`]);
  expect(desiredAfter(...begun, controlPlaneJoined(cp(4)))).toEqual([`JoinWorker/${w(3)}`, 'VerifyControlPlane']);
});

describe('a deletion', () => {
  const deletion: Fact = { type: 'ClusterDeletionRequested', data: { uid: UID } };

  it.each([
    ['before it has machines', [requested(3, 2)]],
    ['while hosts are prepared', [...machines, ...five.map(desired)]],
    ['when it is ready', wholeCluster()],
  ])('a cluster whose deletion is requested is only dismantled: %s', (_when, facts) => {
    expect(desiredAfter(...facts, deletion)).toEqual(['DismantleCluster']);
  });

  it('workers leave several at a time, control planes one at a time', () => {
    const removal = (node: NodeName): Fact => ({ type: 'NodeRemovalRequested', data: { uid: UID, node } });
    const facts = [...wholeCluster(), removal(cp(2)), removal(cp(3)), removal(w(1)), removal(w(2))];
    const workers = [`RemoveNode/${w(1)}`, `RemoveNode/${w(2)}`];
    expect(desiredAfter(...facts)).toEqual(workers);
    const turn = { uid: UID, node: cp(2), attempt: 1 };
    const prepared = { ...turn, quorum: { voters: 3, healthy: 3, target: 2 }, snapshot: 's', leader: null };
    const leaving: readonly Fact[] = [
      ...facts,
      { type: 'ControlPlaneRemovalStarted', data: turn },
      { type: 'ControlPlaneRemovalPrepared', data: prepared },
    ];
    expect(desiredAfter(...leaving)).toEqual([`RemoveNode/${cp(2)}`, ...workers]);
  });

  it('the removal of a control plane that etcd needs is retried when upgrade-svc allows it, and not by itself', () => {
    const turn = { uid: UID, node: cp(2), attempt: 1 };
    const cause = { operation: 'remove a control plane', target: cp(2), message: 'no quorum' };
    const facts: readonly Fact[] = [
      ...wholeCluster(),
      { type: 'NodeRemovalRequested', data: { uid: UID, node: cp(2) } },
      { type: 'ControlPlaneRemovalStarted', data: turn },
      { type: 'ControlPlaneRemovalBlocked', data: { ...turn, quorum: null, cause } },
    ];
    const late = '2099-01-01T00:00:00.000Z';
    const due = (...more: readonly Fact[]) => departures(stateAfter(...facts, ...more), late);
    expect([due(), nextLookAt(stateAfter(...facts), late)]).toEqual([[], null]);
    expect(due({ type: 'ControlPlaneRemovalUnblocked', data: { ...turn, attempt: 2 } })).toEqual([]);
    expect(due({ type: 'ControlPlaneRemovalUnblocked', data: turn })).toEqual([
      { type: 'ControlPlaneRemovalStarted', data: { ...turn, attempt: 2 } },
    ]);
  });

  it('a control plane that never joined is removed once no API requests reach it', () => {
    const balancedOver = (...targets: NodeName[]): Fact => ({
      type: 'LoadBalancerUpdated',
      data: { uid: UID, targets },
    });
    const all = [cp(1), cp(2), cp(3)];
    const facts: readonly Fact[] = [
      ...wholeCluster(),
      created([machine(cp(4))]),
      balancedOver(...all, cp(4)),
      { type: 'NodesAbandoned', data: { uid: UID, requestId: 'r', nodes: [cp(4)] } },
    ];
    const drained: Fact = { type: 'NodeDrained', data: { uid: UID, node: cp(4), evictedPods: 0, dead: true } };
    expect(desiredAfter(...facts)).toEqual([`RemoveNode/${cp(4)}`]);
    expect(desiredAfter(...facts, drained)).toEqual([]);
    expect(desiredAfter(...facts, drained, balancedOver(...all))).toEqual([`RemoveNode/${cp(4)}`]);
  });

  it('nothing is planned for a failed cluster until a retry is requested, and then the failed step [CB-Ladybug 13]', () => {
    const failed: Fact = {
      type: 'ClusterFailed',
      data: {
        uid: UID,
        step: 'VerifyNode',
        node: w(2),
        reason: 'BootstrapFailed',
        cause: { operation: 'verify', target: w(2), message: 'swap is on' },
      },
    };
    const before = [...machines, ...fit(cp(1), cp(2), cp(3), w(1)), ...fit(w(2)).slice(0, -1)];
    expect(desiredAfter(...before)).toEqual([`VerifyNode/${w(2)}`]);
    expect(desiredAfter(...before, failed)).toEqual([]);
    expect(desiredAfter(...before, failed, { type: 'ClusterRetryRequested', data: { uid: UID } })).toEqual([
      `VerifyNode/${w(2)}`,
    ]);
  });

  it('a failed new node can be removed, and the others are complete again', () => {
    const failed: Fact = {
      type: 'ClusterFailed',
      data: {
        uid: UID,
        step: 'JoinWorker',
        node: w(3),
        reason: 'WorkerJoinFailed',
        cause: { operation: 'kubeadm join', target: w(3), message: 'no route' },
      },
    };
    const facts = [...wholeCluster(), created([machine(w(3))]), ...fit(w(3)), failed];
    const removal: Fact = { type: 'NodeRemovalRequested', data: { uid: UID, node: w(3) } };
    expect(desiredAfter(...facts, removal)).toEqual([`RemoveNode/${w(3)}`]);
    expect(desiredAfter(...facts, removal, { type: 'NodeRemoved', data: { uid: UID, node: w(3) } })).toEqual([
      'InstallAddons',
    ]);
  });

  it('nothing is done for a cluster that infra-svc abandons', () => {
    const cause = { operation: 'create machines', target: 'lab', message: 'quota exceeded' };
    const data = { uid: UID, step: 'CreateMachines', reason: 'MachineCreationFailed', cause };
    const broken: Fact = { type: 'InfrastructureFailed', data };
    expect(desiredAfter(requested(3, 2), created(machinesOf(3, 2)), desired(cp(1)), broken)).toEqual([]);
  });

  it('an external etcd is created after every host is verified and before kubeadm init, once', () => {
    const begun = [requested(3, 2, { etcd: 'external' }), created(machinesOf(3, 2)), balanced];
    expect(desiredAfter(...begun, ...fit(...five.slice(1)))).toEqual([]);
    expect(desiredAfter(...begun, ...fit(...five))).toEqual(['SetupExternalEtcd']);
    expect(desiredAfter(...begun, ...fit(...five), etcdReady)).toEqual([`InitControlPlane/${cp(1)}`]);
    expect(desiredAfter(...begun, ...fit(...five), etcdReady, controlPlaneInitialized)).toEqual(['InstallNetwork']);
  });

  it('another control plane has its member of the external etcd before it joins; the member is removed with it', () => {
    const begun = [requested(4, 2, { etcd: 'external' }), created(machinesOf(4, 2)), balanced];
    const four = [1, 2, 3, 4].map(cp);
    const init = [...fit(...four, w(1), w(2)), etcdReady, controlPlaneInitialized, networkReady];
    const joins = [cp(2), cp(3)].map((node): Fact => ({ type: 'ControlPlaneJoined', data: { uid: UID, node } }));
    const added: Fact = {
      type: 'EtcdMemberAdded',
      data: { uid: UID, node: cp(4), address: '10.0.0.4', members: 4 },
    };
    const next = (...more: readonly Fact[]) =>
      desiredAfter(...begun, ...init, ...joins, ...more).filter((key) => key.endsWith(cp(4)));
    expect(next()).toEqual([`AddEtcdMember/${cp(4)}`]);
    expect(next(added)).toEqual([`JoinControlPlane/${cp(4)}`]);
    const gone: Fact = { type: 'NodeRemoved', data: { uid: UID, node: cp(4) } };
    expect(next(added, gone)).toEqual([]);
  });

  it("kubeadm's own etcd needs no preceding step", () => {
    expect(desiredAfter(...machines, ...fit(...five))).toEqual([`InitControlPlane/${cp(1)}`]);
  });

  it('a bootstrapped host remains bootstrapped, whatever its agent reports and whatever becomes desired later [Cluster API 5]', () => {
    const [node] = [w(1)];
    const later = [
      {
        type: 'NodeNotReady',
        data: { uid: UID, node, revision: 1, reason: 'SoftwareChanging', message: 'containerd' },
      },
      { type: 'DesiredVersionsSet', data: { ...desired(node).data, revision: 2, changesAllowed: true } },
      {
        type: 'NodeInitializationFailed',
        data: { uid: UID, node, revision: 2, attempt: 1, item: 'kubelet', message: 'no' },
      },
    ] as unknown as Fact[];
    for (const fact of later)
      expect(desiredAfter(...machines, ...fit(...five), fact)).toEqual([`InitControlPlane/${cp(1)}`]);
    expect(desiredAfter(...machines, ...fit(...five), ...later)).toEqual([`InitControlPlane/${cp(1)}`]);
  });

  it('verified hosts are verified once', () => {
    expect(desiredAfter(...machines, ...fit(...five), bootstrapped(w(1)))).toEqual([`InitControlPlane/${cp(1)}`]);
  });
});

describe('an API that its control planes balance themselves', () => {
  const all = [cp(1), cp(2), cp(3)];
  const begun = [requested(3, 2), created(machinesOf(3, 2)), balancedByNodes];
  const onAll = all.map((node) => apiBalanced(node, ...all));

  it('is balanced on each one as soon as it is verified, and kubeadm init waits for the first', () => {
    expect(desiredAfter(...begun, ...fit(...five))).toEqual(all.map((node) => `BalanceApi/${node}`));
    expect(desiredAfter(...begun, ...fit(...five), apiBalanced(cp(1), ...all))).toEqual([
      `BalanceApi/${cp(2)}`,
      `BalanceApi/${cp(3)}`,
      `InitControlPlane/${cp(1)}`,
    ]);
  });

  it('is balanced on a control plane before it joins; workers do not wait for it', () => {
    const workers = [`JoinWorker/${w(1)}`, `JoinWorker/${w(2)}`];
    const joining = [...begun, ...fit(...five), apiBalanced(cp(1), ...all), controlPlaneInitialized, networkReady];
    expect(desiredAfter(...joining)).toEqual([`BalanceApi/${cp(2)}`, `BalanceApi/${cp(3)}`, ...workers]);
    expect(desiredAfter(...joining, apiBalanced(cp(2), ...all))).toEqual([
      `BalanceApi/${cp(3)}`,
      `JoinControlPlane/${cp(2)}`,
      ...workers,
    ]);
  });

  it('is balanced again after a control plane has left, also in a ready cluster', () => {
    const ready = wholeCluster().flatMap((fact) => (fact.type === 'LoadBalancerReady' ? [balancedByNodes] : [fact]));
    const removed: Fact = { type: 'NodeRemoved', data: { uid: UID, node: cp(3) } };
    expect(desiredAfter(...ready, ...onAll)).toEqual([]);
    expect(desiredAfter(...ready, ...onAll, removed)).toEqual([`BalanceApi/${cp(1)}`, `BalanceApi/${cp(2)}`]);
    const left = [cp(1), cp(2)].map((node) => apiBalanced(node, cp(1), cp(2)));
    expect(desiredAfter(...ready, ...onAll, removed, ...left)).toEqual([]);
  });

  it('requires nothing on control planes if the provider balances', () => {
    expect(desiredAfter(...machines, ...fit(...five))).toEqual([`InitControlPlane/${cp(1)}`]);
  });
});

describe('labels and taints of a pool', () => {
  it('are set again on a node whose kubelet registered again, and only there', () => {
    const pools = [{ name: 'workers', labels: { tier: 'web' }, taints: [] }];
    const data = { uid: UID, revision: 1, spec: { controlPlane: {}, pools } };
    const declared = { type: 'ClusterSpecChanged', data } as unknown as Fact;
    const set = (node: NodeName): Fact => ({
      type: 'NodeLabelsSet',
      data: { uid: UID, node, labels: { tier: 'web' }, taints: [] },
    });
    const returned = (node: NodeName): Fact => ({ type: 'NodeReturned', data: { uid: UID, node } });
    const facts = [...wholeCluster(), declared, set(w(1)), set(w(2))];
    expect(desiredAfter(...facts)).toEqual([]);
    expect(desiredAfter(...facts, returned(w(1)))).toEqual([`SetNodeLabels/${w(1)}`]);
    expect(desiredAfter(...facts, returned(w(1)), set(w(1)))).toEqual([]);
    // The label of the cluster, at least.
    expect(desiredAfter(...wholeCluster(), returned(w(1)))).toEqual([`SetNodeLabels/${w(1)}`]);
  });

  it('wait while Kubernetes does not have the node, such as one whose host is off', () => {
    const missing: Fact = { type: 'NodeMissing', data: { uid: UID, node: w(1) } };
    const returned: Fact = { type: 'NodeReturned', data: { uid: UID, node: w(1) } };
    const set: Fact = { type: 'NodeLabelsSet', data: { uid: UID, node: w(1), labels: {}, taints: [] } };
    expect(desiredAfter(...wholeCluster(), returned, missing)).toEqual([]);
    expect(desiredAfter(...wholeCluster(), missing, returned)).toEqual([`SetNodeLabels/${w(1)}`]);
    expect(desiredAfter(...wholeCluster(), missing, returned, set)).toEqual([]);
  });

  it('contain the pool of a node that joined before kubelets set it, once, and whenever it registers again', () => {
    const earlier = ({ type, data }: Fact): Fact => {
      if (type !== 'VmsCreated') return { type, data } as Fact;
      return { type, data: { ...data, machines: data.machines.map(({ labels: _none, ...machine }) => machine) } };
    };
    const facts = wholeCluster().map(earlier);
    const wanted = desiredAfter(...facts);
    expect(wanted).toContain(`SetNodeLabels/${w(1)}`);
    expect(wanted).toContain(`SetNodeLabels/${cp(2)}`);
    const state = stateAfter(...facts);
    if (state.status !== 'ready') throw new Error(state.status);
    const { labels, taints } = desiredMetadata(state.cluster, state.cluster.hosts[w(1)]!);
    expect([labels, taints]).toEqual([{ 'fairlead.dev/pool': 'workers' }, []]);
    const set: Fact = { type: 'NodeLabelsSet', data: { uid: UID, node: w(1), labels, taints: [...taints] } };
    expect(desiredAfter(...facts, set)).not.toContain(`SetNodeLabels/${w(1)}`);
    const returned: Fact = { type: 'NodeReturned', data: { uid: UID, node: w(1) } };
    expect(desiredAfter(...facts, set, returned)).toContain(`SetNodeLabels/${w(1)}`);
  });

  it('are those of kubeadm on a control plane whose Node was deleted and whose kubelet registered again', () => {
    const returned: Fact = { type: 'NodeReturned', data: { uid: UID, node: cp(2) } };
    const labels = {
      'node-role.kubernetes.io/control-plane': '',
      'node.kubernetes.io/exclude-from-external-load-balancers': '',
    };
    const taint = { key: 'node-role.kubernetes.io/control-plane', value: '', effect: 'NoSchedule' } as const;
    const set: Fact = { type: 'NodeLabelsSet', data: { uid: UID, node: cp(2), labels, taints: [taint] } };
    expect(desiredAfter(...wholeCluster(), returned)).toEqual([`SetNodeLabels/${cp(2)}`]);
    expect(desiredAfter(...wholeCluster(), returned, set)).toEqual([]);
    expect(desiredAfter(...wholeCluster(), returned, set, returned)).toEqual([`SetNodeLabels/${cp(2)}`]);
    const state = stateAfter(...wholeCluster(), returned);
    if (state.status !== 'ready') throw new Error(state.status);
    expect(desiredMetadata(state.cluster, state.cluster.hosts[cp(2)]!)).toEqual({ labels, taints: [taint] });
    const single = { ...state.cluster, spec: { ...state.cluster.spec, singleNode: true } };
    expect(desiredMetadata(single, single.hosts[cp(2)]!)).toEqual({ labels, taints: [] });
  });
});

describe('an API that is published', () => {
  const reserved: Fact = {
    type: 'EndpointReserved',
    data: {
      ...{ uid: UID, name: 'api.demo.example.org', port: 443, keyRef: `infra-svc.tunnel.${UID}` as never },
      publicKey: `ssh-ed25519 ${'A'.repeat(68)}`,
      tunnel: { host: 'tunnel.example.org', port: 2222, hostKey: `ssh-ed25519 ${'B'.repeat(68)}` },
    },
  };
  const started = (node: ReturnType<typeof cp>): Fact => ({
    type: 'TunnelStarted',
    data: { uid: UID, node, name: 'api.demo.example.org' },
  });
  const all = [cp(1), cp(2), cp(3)];

  it('is held by each control plane as soon as it is fit; kubeadm init waits for none', () => {
    expect(desiredAfter(machines[0]!, reserved, ...machines.slice(1), ...fit(...five))).toEqual([
      ...all.map((node) => `PublishApi/${node}`),
      `InitControlPlane/${cp(1)}`,
    ]);
  });

  it('is held by a control plane once', () => {
    const begun = [machines[0]!, reserved, ...machines.slice(1), ...fit(...five), ...all.map(started)];
    expect(desiredAfter(...begun)).toEqual([`InitControlPlane/${cp(1)}`]);
  });

  it('is held again by each control plane with the names of services, when those come or go', () => {
    const service = { name: 'grafana.demo.example.org', address: '10.96.0.20', port: 80 };
    const published: Fact = {
      type: 'ServicesPublished',
      data: {
        uid: UID,
        services: [
          {
            ...{ namespace: 'monitoring', name: 'grafana', subdomain: 'grafana', label: 'Grafana' },
            ...{ address: service.address, port: service.port, fqdn: service.name },
          },
        ],
      },
    };
    const none: Fact = { type: 'ServicesPublished', data: { uid: UID, services: [] } };
    const withServices = (node: ReturnType<typeof cp>): Fact => ({
      type: 'TunnelStarted',
      data: { uid: UID, node, name: 'api.demo.example.org', services: [service] },
    });
    const begun = [machines[0]!, reserved, ...machines.slice(1), ...fit(...five), ...all.map(started)];
    const again = [...all.map((node) => `PublishApi/${node}`), `InitControlPlane/${cp(1)}`];
    const over = [`InitControlPlane/${cp(1)}`];
    expect(desiredAfter(...begun, published)).toEqual(again);
    expect(desiredAfter(...begun, published, ...all.map(withServices))).toEqual(over);
    expect(desiredAfter(...begun, published, ...all.map(withServices), none)).toEqual(again);
    expect(desiredAfter(...begun, published, ...all.map(withServices), none, ...all.map(started))).toEqual(over);
  });
});

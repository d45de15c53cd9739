import { DesiredNetwork, type DeclaredSpec, type Fact, type NodeName } from '@fairlead/contracts';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterRequested, uid } from '../nodes/nodes.fixtures.js';
import { desiredNetwork, type SetDesiredNetwork } from './network.decider.js';
import { agentStarted, balanced, CP, created, declared, machineAtAddress, W1, W2 } from './network.fixtures.js';
import { contentOf, NO_REVISION, outdated, planner } from './network.planner.js';
import { networkReconciler } from './network.reconciler.js';
import { nodeOfMachine, type Network } from './network.state.js';

const { decider } = networkReconciler;

type Known = Extract<Network, { readonly status: 'known' }>;

const fold = (...facts: readonly Fact[]): Network =>
  facts.map((fact, at) => stored(fact, at + 1)).reduce(decider.evolve, decider.initial);
const known = (...facts: readonly Fact[]): Known => fold(...facts) as Known;
/** The nodes that need another configuration, task by task. */
const due = (...facts: readonly Fact[]): readonly unknown[] =>
  networkReconciler.tasks(fold(...facts), '').map(({ data }) => data['nodes']);

const FIREWALL = { enabled: true } as const;
const cluster = (network: Pick<DeclaredSpec, 'firewall' | 'sshd'>): readonly Fact[] => [
  clusterRequested(),
  created(CP, W1),
  balanced('provider'),
  agentStarted(CP),
  agentStarted(W1),
  declared(network),
];
/** The current configurations of the nodes. */
const given = (facts: readonly Fact[], attempt = 1): readonly Fact<'DesiredNetworkSet'>[] => {
  const { basis } = known(...facts);
  const plan = planner(basis);
  return Object.entries(basis.nodes).map(([name, node]) => {
    const { revision, content } = plan(node);
    return { type: 'DesiredNetworkSet', data: { uid, node: name as NodeName, revision, attempt, ...content } };
  });
};
const contentFor = (node: NodeName, network: Pick<DeclaredSpec, 'firewall' | 'sshd'>, ...more: readonly Fact[]) => {
  const { basis } = known(...cluster(network), ...more);
  return contentOf(
    basis,
    basis.nodes[node] ?? { ...nodeOfMachine(machineAtAddress(node)), pool: '', addresses: [], hasAgent: true },
  );
};
const ruleOf = (
  node: NodeName,
  name: string,
  firewall: DeclaredSpec['firewall'] = FIREWALL,
  ...more: readonly Fact[]
) => contentFor(node, { firewall }, ...more).firewall?.inbound.find((rule) => rule.name === name);

describe('the network configuration of nodes', () => {
  it('is not assigned if the manifest declares none', () => {
    expect(due(...cluster({}))).toEqual([]);
    expect(outdated(known(...cluster({})).basis, {})).toEqual([]);
  });

  it('uses the pod network of a corrected request', () => {
    const { spec, requestHash } = clusterRequested().data;
    const kubernetes = { ...spec.kubernetes, podCidr: '10.200.0.0/16', networkCni: 'cilium' as const };
    const correction = { spec: { ...spec, kubernetes }, requestHash };
    const { basis } = known(clusterRequested(), { type: 'ClusterRetryRequested', data: { uid, correction } });
    expect(basis).toMatchObject({ cni: 'cilium', podCidr: '10.200.0.0/16' });
  });

  it('is assigned to every node with a running agent when it is declared', () => {
    expect(due(...cluster({ firewall: FIREWALL }))).toEqual([[CP, W1]]);
    expect(due(...cluster({ sshd: { hardening: true } }))).toEqual([[CP, W1]]);
  });

  it('is assigned once, and again when it changes', () => {
    const facts = cluster({ firewall: FIREWALL });
    expect(due(...facts, ...given(facts))).toEqual([]);
    const more = [...facts, ...given(facts), declared({ firewall: { enabled: true, ssh: ['198.51.100.0/24'] } })];
    expect(due(...more)).toEqual([[CP, W1]]);
  });

  it('is assigned to a node when its agent starts, without a change for the others', () => {
    const facts = [...cluster({ firewall: FIREWALL }), created(W2)];
    expect(due(...facts, ...given(facts).slice(0, 2))).toEqual([]);
    expect(due(...facts, ...given(facts).slice(0, 2), agentStarted(W2))).toEqual([[W2]]);
  });

  it('changes for nodes that must accept a new one, except if a network of nodes is declared', () => {
    const facts = cluster({ firewall: FIREWALL });
    expect(due(...facts, ...given(facts), created(W2))).toEqual([[CP, W1]]);
    const wide = cluster({ firewall: { enabled: true, nodes: ['192.0.2.0/24'] } });
    expect(due(...wide, ...given(wide), created(W2))).toEqual([]);
  });

  it('changes for the others when a node is removed or its address changes', () => {
    const facts = cluster({ firewall: FIREWALL });
    const gone: Fact = { type: 'VmDeleted', data: { uid, name: W1 } };
    expect(due(...facts, ...given(facts), gone)).toEqual([[CP]]);
    const { ssh } = machineAtAddress(W1);
    const moved: Fact = {
      type: 'VmAddressChanged',
      data: { uid, node: W1, publicIp: '192.0.2.99', privateIp: '192.0.2.99', ssh: { host: ssh.host, port: 22 } },
    };
    expect(due(...facts, ...given(facts), moved)).toEqual([[CP, W1]]);
    expect(ruleOf(CP, 'etcd')?.peers).toEqual(['@control-planes']);
  });

  it('is removed when no longer declared', () => {
    const facts = cluster({ firewall: FIREWALL });
    const after = [...facts, ...given(facts), declared({})];
    expect(due(...after)).toEqual([[CP, W1]]);
    expect(given(after).map(({ data }) => [data.revision, data.firewall])).toEqual([
      [NO_REVISION, undefined],
      [NO_REVISION, undefined],
    ]);
    expect(due(...after, ...given(after))).toEqual([]);
  });

  it('is assigned again after a late task assigned an older one', () => {
    const facts = cluster({ firewall: FIREWALL });
    const older = given(facts);
    const after = [...facts, ...older, declared({ firewall: { enabled: true, ssh: ['198.51.100.0/24'] } })];
    expect(due(...after, ...given(after), ...older.slice(0, 1))).toEqual([[CP]]);
  });

  it('is assigned again only to nodes that failed, when an operator requests it', () => {
    const facts = cluster({ firewall: FIREWALL });
    const sets = given(facts);
    const [{ data }] = sets as [Fact<'DesiredNetworkSet'>];
    const { node, revision, attempt } = data;
    const failures = [{ part: 'firewall' as const, command: 'nft', message: 'NATS is not reached', reverted: true }];
    const failed: Fact = { type: 'NodeNetworkFailed', data: { uid, node, revision, attempt, failures } };
    const retry: Fact = { type: 'NetworkRetryRequested', data: { uid } };
    expect(due(...facts, ...sets, retry)).toEqual([]);
    expect(due(...facts, ...sets, failed, retry)).toEqual([[CP]]);
    expect(due(...facts, ...sets, failed, retry, ...given(facts, 2).slice(0, 1))).toEqual([]);
  });

  it('is dropped with its cluster', () => {
    const gone: Fact = { type: 'ClusterDeletionRequested', data: { uid } };
    expect(fold(...cluster({ firewall: FIREWALL }), gone)).toBe(decider.initial);
  });

  it('is the same for 500 nodes of one pool, and is created once', () => {
    const names = Array.from({ length: 500 }, (_, at) => `demo-w-${at}-aaaaa` as NodeName);
    const facts = [...cluster({ firewall: FIREWALL }), created(...names)];
    const { basis } = known(...facts);
    const plan = planner(basis);
    const contents = new Set(Object.values(basis.nodes).map((node) => plan(node).content));
    expect(contents.size).toBe(2);
  });
});

describe('the firewall of a node', () => {
  it('accepts what Kubernetes needs, from nodes only [ORBITER 26]', () => {
    const { firewall } = contentFor(CP, { firewall: FIREWALL });
    expect(firewall?.sets).toEqual({
      nodes: ['192.0.2.11', '192.0.2.21'],
      'control-planes': ['192.0.2.11'],
      pods: ['10.244.0.0/16'],
    });
    expect(firewall?.inbound.map(({ name, ports, peers }) => [name, ...ports, ...peers])).toEqual([
      ['ssh', '22', '@fairlead'],
      ['kubelet', '10250', '@nodes', '@pods'],
      ['kubernetes-api', '6443', '@nodes', '@pods', '@fairlead', '192.0.2.5'],
      ['etcd', '2379-2380', '@control-planes'],
      ['flannel-vxlan', '8472', '@nodes'],
    ]);
    expect(firewall?.nodePorts).toEqual(['@nodes', '@pods']);
    expect(firewall?.outbound).toBeUndefined();
  });

  it('closes the ports of the API alone, on control planes alone, if that is its scope', () => {
    const firewall = { enabled: true, scope: 'api', api: ['203.0.113.0/24'] } as const;
    const own = balanced('control-planes', '192.0.2.5');
    const content = contentFor(CP, { firewall: { ...firewall, api: [...firewall.api] } }, own).firewall;
    expect(content).toMatchObject({ closed: [6443], nodePorts: ['any'] });
    expect(content?.inbound).toEqual([
      {
        name: 'kubernetes-api',
        protocol: 'tcp',
        ports: ['6443'],
        peers: ['@nodes', '@pods', '@fairlead', '203.0.113.0/24'],
      },
    ]);
    expect(contentFor(W1, { firewall: { enabled: true, scope: 'api' } }).firewall).toBeUndefined();
  });

  it('closes the port of the balanced API as well, and nothing before the balancer is known', () => {
    const firewall = { enabled: true, scope: 'api' } as const;
    const balancer: Fact = { type: 'LoadBalancerReady', data: { ...balanced('control-planes').data, port: 9998 } };
    expect(contentFor(CP, { firewall }, balancer).firewall?.closed).toEqual([6443, 9998]);
    const { basis } = known(clusterRequested(), created(CP), agentStarted(CP), declared({ firewall }));
    expect(contentOf(basis, basis.nodes[CP]!)).toEqual({});
  });

  it('accepts everyone at the API by an explicit word, and closes nothing then if that is all that it closes', () => {
    expect(ruleOf(CP, 'kubernetes-api', { enabled: true, api: 'everyone' })?.peers).toEqual(['any']);
    expect(contentFor(CP, { firewall: { enabled: true, scope: 'api', api: 'everyone' } })).toEqual({});
  });

  it('keeps the API open to a balancer whose addresses are unknown until they are declared', () => {
    const named: Fact = balanced('provider', 'api.example.org');
    expect(contentFor(CP, { firewall: { enabled: true, scope: 'api' } }, named)).toEqual({});
    const api = { enabled: true, scope: 'api', api: ['198.51.100.5'] } as DeclaredSpec['firewall'];
    expect(ruleOf(CP, 'kubernetes-api', api, named)?.peers).toContain('198.51.100.5');
  });

  it('has neither etcd nor the API of a control plane on a worker', () => {
    expect(ruleOf(W1, 'etcd')).toBeUndefined();
    expect(ruleOf(W1, 'kubernetes-api')).toBeUndefined();
  });

  it('accepts what is declared: by network, and by pool [ORBITER 26]', () => {
    const firewall: DeclaredSpec['firewall'] = {
      enabled: true,
      ssh: ['198.51.100.0/24'],
      api: ['203.0.113.0/24'],
      nodePorts: ['198.18.0.0/15'],
      allow: [
        { name: 'web', protocol: 'tcp', ports: [80, '8000-8010'], from: ['0.0.0.0/0'], pools: ['w'] },
        { name: 'metrics', protocol: 'tcp', ports: [9100], from: ['10.0.0.9'] },
      ],
    } as DeclaredSpec['firewall'];
    expect(ruleOf(CP, 'ssh', firewall)?.peers).toEqual(['@fairlead', '198.51.100.0/24']);
    expect(ruleOf(CP, 'kubernetes-api', firewall)?.peers).toContain('203.0.113.0/24');
    expect(ruleOf(W1, 'declared-web', firewall)).toEqual({
      name: 'declared-web',
      protocol: 'tcp',
      ports: ['80', '8000-8010'],
      peers: ['0.0.0.0/0'],
    });
    expect(ruleOf(CP, 'declared-web', firewall)).toBeUndefined();
    expect(ruleOf(CP, 'declared-metrics', firewall)?.ports).toEqual(['9100']);
    expect(contentFor(CP, { firewall }).firewall?.nodePorts).toContain('198.18.0.0/15');
  });

  it('lets control planes that balance the API themselves use VRRP for its address', () => {
    const own = balanced('control-planes', '192.0.2.5');
    expect(ruleOf(CP, 'kubernetes-api-vrrp', FIREWALL, own)?.peers).toEqual(['@control-planes']);
    expect(ruleOf(W1, 'kubernetes-api-vrrp', FIREWALL, own)).toBeUndefined();
  });

  it('limits outbound connections of a node only if declared', () => {
    const firewall = {
      enabled: true,
      egress: [{ name: 'nats', protocol: 'tcp', ports: [4222], to: ['198.51.100.9'] }],
    } as DeclaredSpec['firewall'];
    const outbound = contentFor(W1, { firewall }).firewall?.outbound ?? [];
    expect(outbound.map(({ name }) => name)).toEqual([
      'cluster-tcp',
      'cluster-udp',
      'dns-tcp',
      'dns-udp',
      'ntp',
      'kubernetes-api',
      'declared-nats',
    ]);
  });

  it('is not applied while it is disabled', () => {
    expect(contentFor(CP, { firewall: { enabled: false } })).toEqual({});
  });

  it('is valid event data for any addresses of nodes', () => {
    const named = { ...machineAtAddress(W2), publicIp: 'w2.example.com', privateIp: '2001:db8::22' };
    const content = contentFor(CP, { firewall: FIREWALL }, { type: 'VmsCreated', data: { uid, machines: [named] } });
    expect(content.firewall?.sets.nodes).toEqual(['192.0.2.11', '192.0.2.21', '2001:db8::22']);
    expect(DesiredNetwork.parse(content)).toEqual(content);
  });
});

describe('the SSH server of a node', () => {
  it('forwards connections only if Fairlead accesses other nodes through it', () => {
    const network = { sshd: { hardening: true } };
    expect(contentFor(CP, network).sshd).toEqual({ hardening: true, tcpForwarding: false });
    const machine = machineAtAddress(W2);
    const jump = { ...machine.ssh, host: '192.0.2.11' };
    const reached = { ...machine, ssh: { ...machine.ssh, jump } };
    const more: Fact = { type: 'VmsCreated', data: { uid, machines: [reached] } };
    expect(contentFor(CP, network, more).sshd?.tcpForwarding).toBe(true);
    expect(contentFor(W1, network, more).sshd?.tcpForwarding).toBe(false);
  });
});

describe('the desired network configuration of one node', () => {
  const { given: after } = specification(desiredNetwork);
  const revision = '0123456789abcdef';
  const set = (attempt: number): Fact<'DesiredNetworkSet'> => ({
    type: 'DesiredNetworkSet',
    data: { uid, node: W1, revision, attempt, sshd: { hardening: true, tcpForwarding: false } },
  });
  const ask = (again: number | null): SetDesiredNetwork => ({
    type: 'SetDesiredNetwork',
    data: { uid, node: W1, revision, content: { sshd: { hardening: true, tcpForwarding: false } }, again },
  });

  it('is stated once', () => {
    after().when(ask(null)).then(set(1));
    after(set(1)).when(ask(null)).thenNothing();
  });

  it('is stated once more for each retry that an operator requests', () => {
    after(set(1)).when(ask(1)).then(set(2));
    after(set(1), set(2)).when(ask(1)).thenNothing();
  });
});

import { goldenBeside } from '@fairlead/testing/golden';
import { describe, expect, it } from '@jest/globals';
import pc from 'picocolors';
import type { ClusterView, UpgradeSummary } from '../api/views.js';
import { endOf, shownAt } from '../progress/operation.fixtures.js';
import { describeAnswer, objectsAnswer, type Described } from './cluster.describe.js';
import type { AroundObjects } from './object.branches.js';

const golden = goldenBeside(import.meta.url);
const shown = shownAt('ready');
const since = '2026-11-21T08:00:00.000Z';

const transport = (change: object = {}) => ({
  ...{ name: 'https', frontendPort: 443, reached: true, up: 2, of: 2, down: [] },
  ...change,
});
const address = (change: object = {}) => ({
  ...{ name: 'ingress', address: '198.18.7.5', holder: 'demo-w-1', since, transports: [transport()] },
  ...change,
});
const network = (state: string, message = '') => ({ state, since, message });

const text = (change: object, upgrades: readonly object[] = []): string => {
  const cluster = {
    ...{ k8sVersion: 'v1.34.4', status: { state: 'Running', reasons: [] }, conditions: [], nodes: [] },
    ...change,
  } as unknown as ClusterView;
  const all: Described = {
    at: shown.at,
    cluster,
    apiAccess: 'endpoint' in change ? 'its nodes, its pods and Fairlead' : undefined,
    operations: [shown.operation],
    upgrades: upgrades as readonly UpgradeSummary[],
    upgradeActions: [],
    upgradeNodes: [],
  };
  const { table } = describeAnswer(all, {
    all: false,
    nowMs: endOf(shown),
    columns: 100,
    colors: pc.createColors(false),
  });
  return String(table);
};

/** The lines that follow the tree. */
const described = (change: object, upgrades: readonly object[] = []): string => {
  const lines = text(change, upgrades).split('\n');
  const at = lines.indexOf('');
  return at < 0 ? '' : `${lines.slice(at + 1).join('\n')}\n`;
};
const node = (name: string, more: object) => ({
  ...{ name, role: 'worker', stage: 'Ready', changedAt: since, phase: 'Ready', reason: '', software: {} },
  ...more,
});

describe('the description of a cluster', () => {
  it('omits what is healthy or not declared', () => {
    expect(described({})).toBe('');
    expect(described({ nodes: [node('demo-w-1', { network: network('applied') })] })).toBe('');
    expect(described({ virtualAddresses: [] })).toBe('');
  });

  it('counts the same nodes as Ready as "cluster get", also one that is drained before it leaves', () => {
    const nodes = [
      node('demo-w-8', { ready: true }),
      node('demo-w-9', { phase: 'Removing', ready: true, reason: 'default/web keeps default/web-1 on demo-w-9' }),
    ];
    expect(text({ nodes })).toContain('Machines  2 of 2 Ready');
    expect(text({ nodes: [...nodes, node('demo-w-7', { phase: 'Removing', ready: false })] })).toContain(
      'Machines  2 of 3 Ready',
    );
  });

  it('says who may connect to the API', () =>
    expect(described({ endpoint: 'https://198.18.0.1:6443' })).toBe(
      'API: https://198.18.0.1:6443, open to its nodes, its pods and Fairlead\n',
    ));

  it('names the holder of each virtual address, and how many nodes answer behind each port', () =>
    golden(
      'describe-addresses.txt',
      described({
        virtualAddresses: [
          address({
            transports: [transport(), transport({ name: 'http', frontendPort: 80, up: 1, down: ['demo-w-2'] })],
          }),
          address({
            name: 'mail',
            address: '198.18.7.6',
            transports: [
              transport({ name: 'smtp', frontendPort: 25, reached: false, up: 0, down: ['demo-w-1', 'demo-w-2'] }),
            ],
          }),
          address({ name: 'db', address: '2001:db8::5', holder: null, since: null }),
        ],
      }),
    ));

  it('names nodes that do not have the firewall that is declared, and why', () =>
    golden(
      'describe-network.txt',
      described({
        nodes: [
          node('demo-w-1', { network: network('applied') }),
          node('demo-w-2', { network: network('failed', 'firewall: taken back: the host did not reach NATS') }),
          node('demo-w-3', { network: network('waiting') }),
        ],
      }),
    ));

  it('lists addons with version, revision and phase, and why one has failed [azimuth 20]', () => {
    const addon = (name: string, change: object = {}) => ({
      ...{ name, phase: 'Deployed', version: 'v1', revision: 2, since, message: '' },
      ...change,
    });
    const storage = { phase: 'Failed', version: '', revision: 0, message: 'the export is refused' };
    expect(described({ addons: [addon('coredns'), addon('nfs-storage', storage)] })).toBe(
      [
        'Addons:',
        `  coredns v1 (revision 2): Deployed since ${since}`,
        `  nfs-storage: Failed since ${since}: the export is refused`,
        '',
      ].join('\n'),
    );
  });

  it('gives a cause that several conditions share once', () =>
    expect(
      described({
        status: { state: 'Failed', reasons: ['pool.zone-unknown'] },
        conditions: ['Accepted', 'InfrastructureReady', 'Ready'].map((type) => ({
          ...{
            type,
            status: 'False',
            reason: 'pool.zone-unknown',
            message: 'no zone lab-9z',
            lastTransitionTime: since,
          },
        })),
      }),
    ).toContain(
      `\n  Accepted is False since ${since}, as are 2 conditions that depend on it\n    (pool.zone-unknown): no zone lab-9z`,
    ));

  it('says of a creation that is stuck which step, since when and its limit, and that it is Unhealthy for azimuth [azimuth 24]', () => {
    const message = 'the step "Machines" has been in progress since 2026-01-01T00:00:00.000Z, longer than 30 min';
    const stalled = { type: 'Stalled', status: 'True', reason: 'StepTimedOut', message, lastTransitionTime: since };
    const status = { state: 'Degraded', azimuthPhase: 'Unhealthy', reasons: ['StepTimedOut'] };
    const text = described({ status, conditions: [stalled] }).replaceAll(/\n {4}/gu, ' ');
    expect(text).toContain(`State: Degraded\n  Stalled is True since ${since} (StepTimedOut): ${message}\n`);
    expect(text).toContain("\n  azimuth's phase: Unhealthy\n");
  });

  it('gives the reasons of a state other than Running', () =>
    golden(
      'describe-degraded.txt',
      described({
        status: { state: 'Degraded', reasons: ['AddressNotHeld'] },
        conditions: [
          {
            type: 'VirtualAddressesReady',
            status: 'False',
            reason: 'AddressNotHeld',
            message: 'no node holds db',
            lastTransitionTime: since,
          },
          { type: 'Ready', status: 'True', reason: 'AsDesired', message: '', lastTransitionTime: since },
        ],
      }),
    ));
});

describe('the description of a cluster that is not at rest', () => {
  const at = (operation: object, more: object = {}): string => {
    const all = {
      ...{ at: shown.at, cluster: null, upgrades: [], upgradeActions: [], upgradeNodes: [] },
      operations: [{ ...shown.operation, ...operation }],
      ...more,
    } as unknown as Described;
    const options = { all: false, nowMs: endOf(shown), columns: 200, colors: pc.createColors(false) };
    return String(describeAnswer(all, options).table);
  };

  it('does not mark what someone has cancelled as a failure', () => {
    const text = at({ phase: 'Cancelled', message: 'demo-w-1: the request was cancelled' });
    expect(text).toContain('○ demo-w-1: the request was cancelled');
    expect(text).not.toMatch(/[✘▲]/);
  });

  it('names what the nodes wait for that an upgrade changes now', () => {
    const upgrade = {
      ...{ id: 'u-1', requestedAt: since, actor: 'user/ada', phase: 'Running', message: '' },
      target: { kubernetes: 'v1.35.4' },
    };
    const upgradeNodes = [
      { name: 'demo-w-1', phase: 'Draining', step: null, waitsFor: 'the PodDisruptionBudget shop/web' },
    ];
    expect(at({}, { upgrades: [upgrade], upgradeNodes })).toContain(
      '    demo-w-1: Draining, waits for the PodDisruptionBudget shop/web',
    );
  });
});

describe('the objects of a cluster', () => {
  const worker = (name: string, more: object = {}) =>
    node(name, {
      pool: 'web',
      connection: 'lab',
      spec: 'lab.medium',
      ready: true,
      software: { kubelet: '1.34.4' },
      ...more,
    });
  const cluster = {
    ...shown.at,
    name: 'demo',
    k8sVersion: 'v1.34.4',
    endpoint: 'https://198.18.7.1:6443',
    status: { phase: 'Provisioned', state: 'Degraded', reasons: ['NodesLost'], reason: '', message: '' },
    conditions: [
      { type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: since },
      {
        type: 'Progressing',
        status: 'True',
        reason: 'NodesAdding',
        message: 'a node joins',
        lastTransitionTime: since,
      },
      { type: 'NodesReady', status: 'False', reason: 'NodesLost', message: 'no heartbeat', lastTransitionTime: since },
    ],
    nodes: [
      ...[8, 7, 6, 5, 4, 3, 2].map((at) => worker(`demo-w-${at}`)),
      worker('demo-w-1', { phase: 'Lost', ready: false, reason: 'its agent sends no heartbeat' }),
      worker('demo-w-9', { phase: 'Joining', ready: false }),
      worker('demo-cp-1', { pool: 'control-plane', role: 'control-plane' }),
    ],
    virtualAddresses: [address(), address({ name: 'db', holder: null })],
    ...{ loadbalancer: 'haproxy', etcd: 'local' },
    addons: [
      { name: 'coredns', phase: 'Deployed', version: 'v1.13.1', revision: 1, since, message: '' },
      { name: 'ingress', phase: 'Failed', version: '', revision: 0, since, message: 'no such chart' },
    ],
  } as unknown as ClusterView;
  const around = {
    manifest: {
      spec: { hooks: [{ name: 'backup', points: ['BeforeNodeDrain'] }] },
      status: { template: { name: 'small', revision: 3, deprecated: true } },
    },
    operations: [
      { kind: 'create', phase: 'Succeeded', startedAt: since, message: '' },
      { kind: 'add-nodes', phase: 'Running', startedAt: since, message: '' },
      { kind: 'remove-node', phase: 'Failed', startedAt: since, message: 'termination protection' },
    ],
  } as unknown as AroundObjects;
  const objects = (all: boolean): string => {
    const options = { ...around, all, nowMs: 0, columns: 120, colors: pc.createColors(false) };
    return `${String(objectsAnswer(cluster, options).table)}\n`;
  };

  it('are a tree: what its state follows from first, equal nodes in one line, others by themselves [Cluster API 31]', () =>
    golden('describe-objects.txt', objects(false)));

  it('are also its load balancer, members of etcd, connections, template, add-ons, hooks and operations that are not over [Cluster API 31]', () => {
    const lines = objects(false).split('\n');
    const line = (label: string): string => lines.find((one) => one.includes(label)) ?? '';
    expect(line('Load balancer haproxy')).toContain('https://198.18.7.1:6443');
    expect(line('etcd local')).toContain('1 of 1 members on Ready nodes');
    expect(line('Member demo-cp-1')).toContain('✔');
    expect(line('Template small')).toContain('▲ Template small  revision 3, deprecated');
    expect(line('Add-on ingress')).toMatch(/▲ Add-on ingress {2}Failed since .*: no such chart/);
    expect(line('Hook backup')).toContain('BeforeNodeDrain');
    expect(line('Operation add-nodes')).toContain('● Operation add-nodes  Running');
    expect(line('Operation remove-node')).toContain('termination protection');
    expect(line('Operation create')).toBe('');
  });

  it('are each a line of their own where all are asked for', () => {
    const lines = objects(true)
      .split('\n')
      .filter((line) => !line.includes('Member'));
    for (const { name } of cluster.nodes) expect(lines.filter((line) => line.includes(` ${name} `))).toHaveLength(1);
    expect(lines.some((line) => line.includes(`Ready is True`))).toBe(true);
  });
});

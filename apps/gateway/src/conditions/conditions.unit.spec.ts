import {
  CONDITION_REASONS,
  CONDITION_TYPES,
  IDENTITY_BLOCKS,
  PUBLICATION_BLOCKS,
  type ClusterLifeState,
  type ConditionType,
  type IdentityBlock,
  type NodeNetworkView,
} from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import type { AddressFacts, ConditionFacts, NodeFacts, OperationFacts } from './condition.facts.js';
import { conditionsOf, lifeOf, PRECEDENCE, type Condition } from './conditions.js';

const MADE = '2026-01-01T00:00:00.000Z';
const NOW = '2026-01-02T00:00:00.000Z';
const STALLED_AFTER_MS = 30 * 60_000;
const minutesAgo = (minutes: number): string => new Date(Date.parse(NOW) - minutes * 60_000).toISOString();
const inDays = (days: number): string => new Date(Date.parse(NOW) + days * 24 * 3_600_000).toISOString();

const node = (name: string, change: Partial<NodeFacts> = {}): NodeFacts => ({
  name,
  role: name.includes('cp') ? 'control-plane' : 'worker',
  isReady: true,
  isLost: false,
  wasReady: true,
  isRemoving: false,
  since: MADE,
  kubelet: '1.34.4',
  ...change,
});
const network = (state: NodeNetworkView['state']): NodeNetworkView => ({
  ...{ state, revision: '0123456789abcdef', since: minutesAgo(5), message: 'firewall: NATS is not reached (reverted)' },
});
const away = { isReady: false, since: minutesAgo(5) };

const NODES = [node('cp-1'), node('cp-2'), node('cp-3'), node('w-1'), node('w-2')];
const instead = (...nodes: readonly NodeFacts[]): readonly NodeFacts[] =>
  NODES.map((one) => nodes.find(({ name }) => name === one.name) ?? one);

const HEALTHY: ConditionFacts = {
  namespace: 'default',
  name: 'demo',
  phase: 'Provisioned',
  reason: '',
  message: '',
  createdAt: MADE,
  changedAt: MADE,
  marks: { accepted: MADE, machines: MADE, controlPlane: MADE, network: MADE, ready: MADE },
  pause: null,
  resumedAt: null,
  nodes: NODES,
  addresses: [],
  operations: [],
  upgrade: null,
  etcd: [],
  certificates: [{ node: 'cp-1', name: 'apiserver', expiresAt: inDays(300) }],
  quarantined: [],
  unverified: [],
  busy: [],
  now: NOW,
  stalledAfterMs: STALLED_AFTER_MS,
};

const address = (change: Partial<AddressFacts> = {}): AddressFacts => ({
  ...{ name: 'ingress', address: '198.18.7.5', holder: 'w-1', since: minutesAgo(5), isConfiguring: false },
  ...{ unreached: [], empty: [] },
  ...change,
});
const running = (kind: OperationFacts['kind'], since: string, title = 'Machines'): OperationFacts => ({
  ...{ kind, state: 'running', node: kind === 'remove-node' ? 'w-2' : null, message: '', since },
  steps: [{ title, startedAt: since, ofProvider: title === 'Machines' }],
});
const upgrade = (phase: NonNullable<ConditionFacts['upgrade']>['phase']): Partial<ConditionFacts> => ({
  upgrade: { id: 'u-1', phase, message: '', since: minutesAgo(10) },
});

const busy = (change: Partial<ConditionFacts['busy'][number]> = {}): ConditionFacts['busy'][number] => ({
  ...{ name: 'lab', tasks: 12, places: 40, since: minutesAgo(2), takenSince: minutesAgo(4), until: inDays(1) },
  ...change,
});

interface Row {
  readonly name: string;
  readonly facts: Partial<ConditionFacts>;
  readonly state: ClusterLifeState;
  readonly reason: string;
  readonly type: ConditionType;
}

/** Of a cluster that is to get a client at a realm; without a reason, nothing is in the way. */
const identity = (reason?: IdentityBlock): NonNullable<ConditionFacts['identity']> => ({
  selection: { realm: null, groupsClaim: 'groups' },
  has: {
    held: {},
    ...(reason === undefined ? {} : { blocked: { realm: null, reason, message: 'because of the realm', since: MADE } }),
  },
  since: MADE,
});

/** Of a cluster whose API is published. */
const publication = (has: NonNullable<ConditionFacts['publication']>['has'] = {}) => ({
  publication: { has, since: MADE },
});

const row = (
  name: string,
  facts: Partial<ConditionFacts>,
  [state, reason, type]: readonly [ClusterLifeState, string, ConditionType],
): Row => ({ name, facts, state, reason, type });

const BACKUPS: NonNullable<ConditionFacts['backups']> = {
  policy: { schedule: '0 */6 * * *' },
  since: MADE,
  lastGoodAt: minutesAgo(60),
};

const GHOST = {
  code: 'B3.not-started',
  message: 'etcd: member 8e9e05c52164694d (https://10.0.0.9:2380) has not started',
  help: 'Remove it: "etcdctl member remove 8e9e05c52164694d".',
};
const ADDON = {
  name: 'nfs-storage',
  phase: 'Deployed',
  version: 'v4.0.2',
  revision: 1,
  since: MADE,
  message: '',
} as const;

type LeaseFacts = NonNullable<ConditionFacts['lease']>;
const reservation = (phase: LeaseFacts['reservations'][number]['phase'], message = '') => ({
  ...{ connection: 'lab', phase, endsAt: null, sizes: {}, message },
});
const lease = (change: Partial<LeaseFacts> = {}): LeaseFacts => ({
  ...{ startsAt: null, endsAt: inDays(2), deletionAt: inDays(1.9), gracePeriod: '144m', since: MADE, changedAt: MADE },
  ...{ warnings: ['24h'], warned: [], reservations: [reservation('Active')] },
  ...change,
});

/** Every reason for a state, in the order of precedence. */
const held = (failed: boolean) => ({
  hook: 'backup',
  point: 'BeforeNodeDrain',
  node: 'w-1',
  failed,
  message: 'busy',
  since: MADE,
  nextAttemptAt: MADE,
});

const DIFFERENCE = { item: 'sysctl', what: 'net.ipv4.ip_forward', observed: '0', desired: '1' };

const UNMET = {
  ...{ what: 'pool web: 2 of 5 declared machines are missing', ofNodes: true, cause: 'quota of 3 is used up' },
  ...{ since: MADE, attempt: 2, nextAttemptAt: '2026-01-01T00:04:00.000Z' },
};

const TABLE: readonly Row[] = [
  row('is being deleted', { phase: 'Deleting' }, ['Deleting', 'Deleting', 'Ready']),
  row('is paused', { pause: { reason: 'why', since: minutesAgo(60) } }, ['Paused', 'ClusterPaused', 'Paused']),
  row('has failed', { phase: 'Failed', reason: 'JoinWorkerFailedReason', marks: {} }, [
    'Failed',
    'WorkerJoinFailed',
    'Ready',
  ]),
  row('is requested', { phase: 'Pending', marks: {}, nodes: [] }, ['Provisioning', 'InProgress', 'Ready']),
  row('is created', { phase: 'Provisioning', marks: { accepted: MADE } }, ['Provisioning', 'InProgress', 'Ready']),
  row('has lost its quorum', { nodes: instead(node('cp-1', away), node('cp-2', away)) }, [
    'Degraded',
    'QuorumLost',
    'Available',
  ]),
  row('has a control plane that is not Ready', { nodes: instead(node('cp-3', away)) }, [
    'Degraded',
    'ControlPlanesNotReady',
    'ControlPlaneReady',
  ]),
  row('has a node that is lost', { nodes: instead(node('w-1', { ...away, isLost: true })) }, [
    'Degraded',
    'NodesLost',
    'NodesReady',
  ]),
  row('has a node that is not Ready', { nodes: instead(node('w-1', away)) }, [
    'Degraded',
    'NodesNotReady',
    'NodesReady',
  ]),
  row(
    'has a removal that is stuck',
    { operations: [{ ...running('remove-node', MADE), state: 'failed', message: 'no route', steps: [] }] },
    ['Degraded', 'RemovalStuck', 'MachinesReady'],
  ),
  row(
    'has a node whose drain waits for pods',
    { nodes: instead(node('w-1', { drain: { since: minutesAgo(5), message: 'w-1 cannot be drained yet' } })) },
    ['Degraded', 'DrainBlocked', 'MachinesReady'],
  ),
  row('has a machine that its provider does not delete', { reason: 'DeleteMCISFailedReason', message: 'no' }, [
    'Degraded',
    'RemovalStuck',
    'MachinesReady',
  ]),
  row('has nodes that were given up', { reason: 'AddNodeFailedReason', message: 'no room' }, [
    'Degraded',
    'NodesFailed',
    'MachinesReady',
  ]),
  row(
    'has a machine that is gone',
    { nodes: instead(node('w-1', { away: { since: minutesAgo(5), message: 'its machine is gone' } })) },
    ['Degraded', 'MachinesAway', 'MachinesPresent'],
  ),
  row(
    'has a machine with another private address',
    { nodes: instead(node('w-1', { moved: { from: '10.0.0.4', to: '10.0.0.9', since: minutesAgo(5) } })) },
    ['Degraded', 'MachinesMoved', 'MachinesPresent'],
  ),
  row(
    'has a node that Kubernetes lacks',
    { presence: { missing: { 'w-1': minutesAgo(5) }, strangers: { stray: minutesAgo(4) }, since: minutesAgo(4) } },
    ['Degraded', 'NodesMissing', 'NodesPresent'],
  ),
  row(
    'has a Node in Kubernetes without a machine',
    { presence: { missing: {}, strangers: { stray: minutesAgo(4) }, since: minutesAgo(4) } },
    ['Degraded', 'NodesWithoutMachine', 'NodesPresent'],
  ),
  row(
    'has a pool whose remediation is suspended',
    { health: { since: MADE, suspended: { web: { message: '2 unhealthy of 3, limit 1', since: minutesAgo(5) } } } },
    ['Degraded', 'RemediationSuspended', 'RemediationAllowed'],
  ),
  row(
    'has a node whose network configuration failed',
    { nodes: instead(node('w-1', { network: network('failed') })) },
    ['Degraded', 'NetworkFailed', 'NetworkApplied'],
  ),
  row(
    'could not be saved',
    { backups: { ...BACKUPS, failed: { what: 'snapshot', message: 'no route to host', since: minutesAgo(5) } } },
    ['Degraded', 'BackupFailed', 'BackupsHealthy'],
  ),
  row(
    'has a snapshot that is not valid',
    { backups: { ...BACKUPS, failed: { what: 'verification', message: 'expected sha256', since: minutesAgo(5) } } },
    ['Degraded', 'BackupNotVerified', 'BackupsHealthy'],
  ),
  row(
    'has had no snapshot for more than two hours after a run',
    { backups: { ...BACKUPS, lastGoodAt: minutesAgo(6 * 60 + 121) } },
    ['Degraded', 'BackupOverdue', 'BackupsHealthy'],
  ),
  row('has an upgrade that halted', upgrade('Halted'), ['Degraded', 'UpgradeHalted', 'Upgrading']),
  row('has a step that takes too long', { operations: [running('add-nodes', minutesAgo(31))] }, [
    'Degraded',
    'StepTimedOut',
    'Stalled',
  ]),
  row('has certificates that end', { certificates: [{ node: 'cp-1', name: 'apiserver', expiresAt: inDays(20) }] }, [
    'Degraded',
    'CertificatesEnding',
    'CertificatesValid',
  ]),
  row('has a connection that is not verified', { unverified: [{ name: 'lab', problem: '401', since: MADE }] }, [
    'Degraded',
    'ConnectionUnverified',
    'ConnectionsVerified',
  ]),
  row(
    'has a hook whose secret does not exist',
    { unsigned: { since: MADE, hooks: [{ hook: 'backup', secret: 'x' }] } },
    ['Degraded', 'HookSecretMissing', 'HookSecretsPresent'],
  ),
  row(
    'has an addon that has failed',
    { addons: { addons: [{ ...ADDON, phase: 'Failed', message: 'the export is refused' }] } },
    ['Degraded', 'AddonsFailed', 'AddonsHealthy'],
  ),
  row('has roles that Kubernetes did not take', { unapplied: { roles: { since: MADE, message: '403' } } }, [
    'Degraded',
    'DeclaredStateNotApplied',
    'DeclaredStateApplied',
  ]),
  row('lacks machines that are declared', { unmet: [UNMET] }, [
    'Degraded',
    'DeclaredStateNotApplied',
    'DeclaredStateApplied',
  ]),
  row('has a member of etcd that has not started', { etcdProblems: { since: MADE, problems: [GHOST] } }, [
    'Degraded',
    'EtcdDegraded',
    'EtcdHealthy',
  ]),
  row('waits for a hook that has failed', { hooks: { one: held(true) } }, ['Degraded', 'HookFailed', 'HookBlocked']),
  ...IDENTITY_BLOCKS.map((reason) =>
    row(`moves to a realm, and is blocked there: ${reason}`, { identity: identity(reason) }, [
      'Degraded',
      reason,
      'IdentityReady',
    ]),
  ),
  ...PUBLICATION_BLOCKS.map((reason) =>
    row(
      `cannot have the name of its API: ${reason}`,
      publication({ blocked: { reason, message: 'because of the name', since: MADE } }),
      ['Degraded', reason, 'EndpointAvailable'],
    ),
  ),
  row('has an API that is not reached by its name', publication({ held: { isAvailable: false, since: MADE } }), [
    'Degraded',
    'EndpointUnavailable',
    'EndpointAvailable',
  ]),
  row('is quarantined', { quarantined: [{ service: 'infra-svc', error: 'bug', since: MADE }] }, [
    'Degraded',
    'EventsQuarantined',
    'Quarantined',
  ]),
  row('has a virtual address that no node holds', { addresses: [address({ holder: null, since: null })] }, [
    'Degraded',
    'AddressNotHeld',
    'VirtualAddressesReady',
  ]),
  row('has a virtual address with a port that does not answer', { addresses: [address({ unreached: ['https'] })] }, [
    'Degraded',
    'AddressUnreachable',
    'VirtualAddressesReady',
  ]),
  row(
    'has a virtual address for which nodes are being configured',
    { addresses: [address({ holder: null, since: null, isConfiguring: true })] },
    ['Maintaining', 'AddressNotHeld', 'VirtualAddressesReady'],
  ),
  row(
    'has a node that has not applied its network configuration',
    { nodes: instead(node('w-1', { network: network('waiting') })) },
    ['Maintaining', 'NetworkWaiting', 'NetworkApplied'],
  ),
  row('waits for a hook that asked for time', { hooks: { one: held(false) } }, [
    'Maintaining',
    'HookAsksForTime',
    'HookBlocked',
  ]),
  row('waits for a place of its connection', { busy: [busy()], operations: [running('add-nodes', minutesAgo(3))] }, [
    'Maintaining',
    'ConnectionBusy',
    'WaitingForConnection',
  ]),
  row(
    'has a node that its upgrade changes',
    { nodes: instead(node('w-1', { ...away, isBeingChanged: true })), ...upgrade('Running') },
    ['Maintaining', 'NodesChanging', 'NodesReady'],
  ),
  row('is upgraded', upgrade('Running'), ['Maintaining', 'UpgradeRunning', 'Upgrading']),
  row('has an upgrade that waits for it', upgrade('Waiting'), ['Maintaining', 'UpgradeWaiting', 'Upgrading']),
  row('has a plan that waits for an approval', upgrade('Planned'), ['Maintaining', 'AwaitingApproval', 'Upgrading']),
  row('has kubelets of several versions', { nodes: instead(node('w-1', { kubelet: 'v1.33.13' })) }, [
    'Maintaining',
    'MixedVersions',
    'Upgrading',
  ]),
  row(
    'has a node that differs from what is desired of it',
    { nodes: instead(node('w-1', { drift: { since: minutesAgo(2), differences: [DIFFERENCE], message: '' } })) },
    ['Degraded', 'NodesDrifted', 'NodesAsDesired'],
  ),
  row('gets more nodes', { operations: [running('add-nodes', minutesAgo(29))] }, [
    'Maintaining',
    'NodesAdding',
    'Progressing',
  ]),
  row('loses a node', { operations: [running('remove-node', minutesAgo(1))] }, [
    'Maintaining',
    'NodesRemoving',
    'Progressing',
  ]),
  row('has a node replaced', { operations: [running('replace-node', minutesAgo(1))] }, [
    'Maintaining',
    'NodesReplacing',
    'Progressing',
  ]),
  row('has its etcd restored', { etcd: [{ what: 'restore', since: minutesAgo(1) }] }, [
    'Maintaining',
    'EtcdRestoring',
    'Progressing',
  ]),
  row('has its etcd saved', { etcd: [{ what: 'snapshot', since: minutesAgo(1) }] }, [
    'Maintaining',
    'EtcdSnapshot',
    'Progressing',
  ]),
  row('is as requested', {}, ['Running', '', 'Ready']),
];

const read = (facts: Partial<ConditionFacts>): readonly Condition[] => conditionsOf({ ...HEALTHY, ...facts });
const of = (facts: Partial<ConditionFacts>, type: ConditionType): Condition =>
  read(facts).find((condition) => condition.type === type)!;
const stateOf = (facts: Partial<ConditionFacts>): ClusterLifeState => lifeOf(read(facts)).state;

describe('the state of a cluster', () => {
  it.each(TABLE)('that $name is $state, because of $type: $reason [ORBITER 32, azimuth 22]', (one) => {
    const { state, because } = lifeOf(read(one.facts));
    expect(state).toBe(one.state);
    if (one.state !== 'Running')
      expect(because.map(({ type, reason }) => [type, reason])).toContainEqual([one.type, one.reason]);
  });

  it.each(TABLE.slice(1).map((below, index) => ({ above: TABLE[index]!, below })))(
    'that $above.name and $below.name is $above.state [azimuth 22]',
    ({ above, below }) => {
      // Facts of the one above win where both are about the same.
      expect(stateOf({ ...below.facts, ...above.facts })).toBe(above.state);
    },
  );

  it('is not that of what runs in it: a virtual address behind which nothing answers is a condition alone', () => {
    const addresses = [address({ empty: ['https'] })];
    expect(of({ addresses }, 'VirtualAddressesReady')).toMatchObject({
      status: 'False',
      reason: 'UpstreamsDown',
      message: expect.stringContaining('ingress/https'),
    });
    expect(stateOf({ addresses })).toBe('Running');
    expect(of({ addresses: [address()] }, 'VirtualAddressesReady').status).toBe('True');
  });

  it('names the addon that has failed, is that of the upgrade while one is in progress, and of no addon that serves [azimuth 20]', () => {
    const failed = {
      addons: [ADDON, { ...ADDON, name: 'coredns', phase: 'Failed' as const, message: 'has 0 of 2 pods' }],
    };
    expect(of({ addons: failed }, 'AddonsHealthy')).toMatchObject({
      status: 'False',
      message: 'coredns: has 0 of 2 pods',
    });
    expect(stateOf({ addons: failed, ...upgrade('Running') })).toBe('Maintaining');
    expect(stateOf({ addons: failed, ...upgrade('Halted') })).toBe('Degraded');
    expect(read({ addons: { addons: [ADDON] } }).map(({ type }) => type)).not.toContain('AddonsHealthy');
  });

  it.each(['flannel', 'kube-proxy', 'coredns', 'metrics'])(
    'a failed add-on makes the cluster Degraded by its name and never Failed, once it has been Ready: %s [azimuth 20]',
    (name) => {
      const message = `it has 0 of 2 pods`;
      const addons = { addons: [ADDON, { ...ADDON, name, phase: 'Failed' as const, message }] };
      expect(stateOf({ addons })).toBe('Degraded');
      expect(of({ addons }, 'AddonsHealthy').message).toBe(`${name}: ${message}`);
      expect(stateOf({ addons: { addons: [ADDON], releases: addons.addons.slice(1) } })).toBe('Degraded');
    },
  );

  it('says what is wrong with etcd, since when, and what to do, without any upgrade', () => {
    const etcdProblems = { since: '2026-11-21T10:00:00.000Z', problems: [GHOST] };
    expect(of({ etcdProblems }, 'EtcdHealthy')).toMatchObject({
      status: 'False',
      message: `${GHOST.message}. ${GHOST.help}`,
      lastTransitionTime: etcdProblems.since,
    });
    expect(read({}).map(({ type }) => type)).not.toContain('EtcdHealthy');
  });

  it('of what is declared names the pool, what it lacks, why, the attempt and the next one', () => {
    const message = (unmet: ConditionFacts['unmet']) => of({ unmet: unmet! }, 'DeclaredStateApplied').message;
    expect(message([UNMET])).toMatch(
      /^pool web: 2 of 5 declared machines are missing: quota of 3 is used up \(attempt 2, next at 2026-01-01T00:04:00.000Z\)\. /,
    );
    expect(message([{ ...UNMET, nextAttemptAt: null }])).toContain('(attempt 2, asked for again now)');
    expect(message([{ ...UNMET, attempt: 0, nextAttemptAt: null }])).toContain('(asked for again now)');
    expect(of({ unmet: [UNMET] }, 'DeclaredStateApplied').lastTransitionTime).toBe(MADE);
  });

  it('is not that of an end of its lease that was denied: that is a condition alone', () => {
    const denied = { unmet: [{ ...UNMET, ofNodes: false }] };
    expect([of(denied, 'DeclaredStateApplied').status, stateOf(denied)]).toEqual(['False', 'Running']);
  });

  it('has every state in its precedence, and every reason and type in the table or in a stage', () => {
    expect(new Set(TABLE.map(({ state }) => state))).toEqual(new Set(PRECEDENCE));
    const known = new Set(TABLE.map(({ reason }) => reason));
    expect(CONDITION_REASONS.filter((reason) => !known.has(reason))).toEqual([]);
    const health = { since: MADE, suspended: {} };
    const nodes = instead(node('w-1', { network: network('applied') }));
    const unsigned = { since: MADE, hooks: [] };
    const waits = { busy: [busy()], operations: [running('add-nodes', MADE)] };
    const all = {
      health,
      nodes,
      addresses: [address()],
      hooks: {},
      unsigned,
      addons: { addons: [{ ...ADDON, phase: 'Failed' as const }] },
      etcdProblems: { since: MADE, problems: [GHOST] },
      unapplied: { roles: { since: MADE, message: '403' } },
      backups: BACKUPS,
      lease: lease(),
      identity: identity(),
      ...publication(),
      ...waits,
    };
    expect(read(all).map(({ type }) => type)).toEqual(CONDITION_TYPES);
    const types = read({}).map(({ type }) => type);
    expect(types).not.toContain('RemediationAllowed');
    expect(types).not.toContain('NetworkApplied');
    expect(types).not.toContain('VirtualAddressesReady');
    expect(types).not.toContain('HookBlocked');
    expect(types).not.toContain('HookSecretsPresent');
    expect(types).not.toContain('IdentityReady');
    expect(types).not.toContain('EndpointAvailable');
    expect(types).not.toContain('Reserved');
    expect(types).not.toContain('Expiring');
  });

  it('is not that of its client at a realm while it is created: that is a condition alone [azimuth 1, azimuth 2]', () => {
    const creating = { phase: 'Provisioning', marks: {} } as const;
    for (const reason of IDENTITY_BLOCKS) {
      expect(of({ ...creating, identity: identity(reason) }, 'IdentityReady')).toMatchObject({
        status: 'False',
        reason,
        message: 'because of the realm',
      });
      expect(stateOf({ ...creating, identity: identity(reason) })).toBe('Provisioning');
    }
    expect(of({ ...creating, identity: identity() }, 'IdentityReady')).toMatchObject({ status: 'Unknown' });
  });

  it('is not that of the name of its API while it is created: that is a condition alone', () => {
    const creating = { phase: 'Provisioning', marks: {} } as const;
    expect(of({ ...creating, ...publication() }, 'EndpointAvailable')).toMatchObject({ status: 'Unknown' });
    const held = publication({ held: { isAvailable: true, since: MADE } });
    expect(of({ ...creating, ...held }, 'EndpointAvailable')).toMatchObject({ status: 'True' });
    const blocked = publication({ blocked: { reason: 'NameTaken', message: 'taken', since: MADE } });
    expect(stateOf({ ...creating, ...blocked })).toBe('Provisioning');
  });

  it('is not that of its lease, whose end and reservations are conditions alone [azimuth 8, azimuth 9]', () => {
    const reserved = (one: LeaseFacts['reservations'][number], startsAt: string | null = null): Condition =>
      of({ lease: lease({ reservations: [one], startsAt }) }, 'Reserved');
    expect(reserved(reservation('Active')).status).toBe('True');
    expect(reserved(reservation('Pending'), inDays(1))).toMatchObject({
      status: 'Unknown',
      reason: 'ReservationPending',
      message: `the reservation on lab begins at ${inDays(1)}`,
    });
    expect(reserved(reservation('Denied', 'no capacity'))).toMatchObject({
      status: 'False',
      message: expect.stringContaining('no capacity. Retry'),
    });
    expect(reserved(reservation('Active', 'no capacity'))).toMatchObject({
      status: 'True',
      message: 'another end was denied: no capacity',
    });
    const expiring = (change: Partial<LeaseFacts>, facts: Partial<ConditionFacts> = {}): Condition =>
      of({ ...facts, lease: lease(change) }, 'Expiring');
    expect(expiring({})).toMatchObject({ status: 'False', lastTransitionTime: MADE });
    expect(expiring({ warnings: ['24h', '49h'] })).toMatchObject({
      status: 'True',
      reason: 'LeaseEnding',
      message: expect.stringContaining('fairlead cluster extend demo'),
    });
    const pause = { reason: '', since: MADE };
    expect(expiring({ deletionAt: minutesAgo(1) }, { pause })).toMatchObject({
      reason: 'LeaseOver',
      message: expect.stringContaining('the pause holds its deletion'),
    });
    expect(stateOf({ lease: lease({ deletionAt: minutesAgo(1), reservations: [reservation('Pending')] }) })).toBe(
      'Running',
    );
  });

  it('does not become Stalled by the time before the start of its lease [azimuth 9]', () => {
    const operations = [running('create', minutesAgo(600), 'Reserve machines')];
    const stalled = (startsAt: string): string => of({ operations, lease: lease({ startsAt }) }, 'Stalled').status;
    expect([stalled(inDays(1)), stalled(minutesAgo(29)), stalled(minutesAgo(31))]).toEqual(['False', 'False', 'True']);
  });

  it('is not Degraded by a schedule whose run was just missed, or missed while the cluster was paused', () => {
    const backups = { ...BACKUPS, policy: { schedule: '0 * * * *' }, lastGoodAt: minutesAgo(119) };
    expect(stateOf({ backups })).toBe('Running');
    const old = { ...BACKUPS, lastGoodAt: minutesAgo(20 * 60) };
    expect(stateOf({ backups: old, resumedAt: minutesAgo(30) })).toBe('Running');
    expect(stateOf({ backups: old })).toBe('Degraded');
  });

  it('is Maintaining while nodes start again in turn, and Degraded when that ended without them', () => {
    const nodes = instead(node('w-1', away), node('cp-3', away));
    expect(stateOf({ ...upgrade('Running'), nodes })).toBe('Maintaining');
    expect(stateOf({ ...upgrade('Completed'), nodes })).toBe('Degraded');
  });

  it('is not Degraded because of nodes that join or leave', () => {
    const nodes = [...NODES, node('w-3', { ...away, wasReady: false }), node('w-4', { ...away, isRemoving: true })];
    expect(stateOf({ nodes })).toBe('Running');
  });

  it('has drift, and no upgrade, while something else than Fairlead has replaced a kubelet [ORBITER 10]', () => {
    const differences = [{ ...DIFFERENCE, item: 'packages', what: 'kubelet', needsDrain: true as const }];
    const drift = { since: minutesAgo(2), differences, message: '' };
    const facts = { nodes: instead(node('w-1', { kubelet: '1.33.13', drift })) };
    expect(of(facts, 'Upgrading').status).toBe('False');
    expect(of(facts, 'NodesAsDesired').message).toContain(
      'w-1: packages kubelet is 0, not 1 (its repair needs a drain',
    );
  });

  it('is Upgrading while control planes, or workers, have kubelets of several versions [azimuth 23]', () => {
    const older = { kubelet: '1.33.13' };
    const workers = instead(node('w-1', older), node('w-2', older));
    // Workers may be older than control planes: that alone is no upgrade.
    expect(of({ nodes: workers }, 'Upgrading').status).toBe('False');
    for (const name of ['cp-1', 'w-1'])
      expect(of({ nodes: instead(node(name, older)) }, 'Upgrading')).toMatchObject({
        status: 'True',
        reason: 'MixedVersions',
        message: expect.stringContaining('v1.33.13, v1.34.4'),
      });
  });
});

describe('a condition', () => {
  it('that is not as it should be has a reason, a sentence and a time', () => {
    for (const { facts, type, state } of TABLE) {
      if (state === 'Running' || type === 'Ready') continue;
      const { message, lastTransitionTime } = of(facts, type);
      expect(message).not.toBe('');
      expect(Date.parse(lastTransitionTime)).not.toBeNaN();
    }
  });

  it('Available is True while a majority of control planes is Ready, and says when it was lost', () => {
    const first = node('cp-1', { isReady: false, since: minutesAgo(9) });
    const second = node('cp-2', { isReady: false, since: minutesAgo(4) });
    expect(of({ nodes: instead(first) }, 'Available').status).toBe('True');
    expect(of({ nodes: instead(first, second) }, 'Available')).toMatchObject({
      status: 'False',
      lastTransitionTime: minutesAgo(4),
    });
  });

  it('Available of a single control plane that an upgrade restarts does not ask for a restore of etcd', () => {
    const nodes = [node('cp-1', away), node('w-1')];
    const available = (facts: Partial<ConditionFacts>) => {
      const { status, reason, message } = of({ nodes, ...facts }, 'Available');
      return [stateOf({ nodes, ...facts }), status, reason, message];
    };
    expect(available(upgrade('Running'))).toEqual([
      'Maintaining',
      'False',
      'ControlPlanesNotReady',
      'the only control plane restarts during the upgrade: the Kubernetes API may not answer meanwhile',
    ]);
    expect(available(upgrade('Halted')).slice(0, 3)).toEqual(['Degraded', 'False', 'QuorumLost']);
    expect(available({}).slice(0, 3)).toEqual(['Degraded', 'False', 'QuorumLost']);
  });

  it('Available never advises a restore of etcd where only the change of a control plane is not done', () => {
    const nodes = [node('cp-1', { ...away, isBeingChanged: true }), node('w-1')];
    for (const phase of ['Halted', 'Aborted'] as const) {
      const { reason, message } = of({ nodes, ...upgrade(phase) }, 'Available');
      expect([reason, message]).toEqual([
        'ControlPlanesNotReady',
        expect.stringMatching(/^the change of cp-1 is not done: .+ See "fairlead upgrade status \S+"$/),
      ]);
      expect(message).not.toContain('snapshot');
    }
    const lost = [node('cp-1', { ...away, isBeingChanged: true, isLost: true }), node('w-1')];
    expect(of({ nodes: lost, ...upgrade('Halted') }, 'Available').reason).toBe('QuorumLost');
  });

  it('NodesReady of nodes that an upgrade changes names the upgrade, not their hosts', () => {
    const nodes = instead(node('w-1', { ...away, isBeingChanged: true }));
    for (const type of ['NodesReady', 'Ready'] as const)
      expect(of({ nodes, ...upgrade('Running') }, type)).toMatchObject({
        reason: 'NodesChanging',
        message: expect.stringMatching(/^being changed: w-1\. See "fairlead upgrade status/),
      });
  });

  it('Upgrading of an upgrade that was aborted among its nodes names the version to finish with', () => {
    const nodes = instead(node('w-1', { kubelet: 'v1.33.13' }));
    expect(of({ nodes, ...upgrade('Aborted') }, 'Upgrading').message).toMatch(
      /Finish the upgrade with "fairlead upgrade start \S+ --to v\d+\.\d+\.\d+"$/,
    );
  });

  it('CertificatesValid is False while a kubelet has not renewed its certificate in time', () => {
    const kubelet = (days: number) => [{ node: 'w-1', name: 'kubelet', expiresAt: inDays(days) }];
    expect(of({ certificates: kubelet(31) }, 'CertificatesValid').status).toBe('True');
    expect(of({ certificates: kubelet(20) }, 'CertificatesValid')).toMatchObject({
      status: 'False',
      reason: 'CertificatesEnding',
      message: expect.stringContaining('the kubelets of w-1 have not renewed their certificates'),
      lastTransitionTime: inDays(-10),
    });
  });

  it('CertificatesValid says since when certificates have ended, that of Fairlead among them, and the way out', () => {
    const ended = (name: string, days: number) => ({ node: 'cp-1', name, expiresAt: inDays(days) });
    const certificates = [ended('apiserver', -2), ended('admin.conf', -1), ended('ca', 300)];
    expect(of({ certificates }, 'CertificatesValid').message).toBe(
      `apiserver on cp-1 ended at ${inDays(-2)}, 2 days ago, and with admin.conf the client certificate by which Fairlead reaches the API. "fairlead certificates renew" renews them through the agents, without the API`,
    );
    expect(of({ certificates: [ended('apiserver', -1)] }, 'CertificatesValid').message).not.toContain('admin.conf');
  });

  it('CertificatesValid names the nodes whose kubelets cannot reach the API any longer, and how to replace them', () => {
    const certificates = [{ node: 'w-1', name: 'kubelet', expiresAt: inDays(-3) }];
    expect(of({ certificates }, 'CertificatesValid').message).toBe(
      'the client certificates of the kubelets of w-1 have ended, so that the API refuses them. Replace the nodes with "fairlead node replace"',
    );
  });

  it('CertificatesValid says that the kubelets of control planes are renewed with the other certificates', () => {
    const ended = (node: string, name: string) => ({ node, name, expiresAt: inDays(-3) });
    const certificates = [ended('cp-1', 'apiserver'), ended('cp-1', 'kubelet'), ended('w-1', 'kubelet')];
    const { message } = of({ certificates }, 'CertificatesValid');
    expect(message).toContain('the kubelets of cp-1 have ended, so that the API refuses them. "fairlead certificates');
    expect(message).toContain('the kubelets of w-1 have ended, so that the API refuses them. Replace the nodes');
  });

  it('CertificatesValid names an authority that expires, half a year before, and does not send to a renewal that would not help', () => {
    const of3 = (days: number) =>
      ['cp-1', 'cp-2', 'cp-3'].map((one) => ({ node: one, name: 'ca', expiresAt: inDays(days) }));
    expect(of({ certificates: of3(181) }, 'CertificatesValid').status).toBe('True');
    const { status, message } = of({ certificates: of3(100) }, 'CertificatesValid');
    expect([status, message]).toEqual([
      'False',
      expect.stringMatching(/^the certificate authority ca expires at .*no renewal replaces it. Rotate it by hand/),
    ]);
    expect(message).not.toContain('certificates renew');
    expect(of({ certificates: of3(-2) }, 'CertificatesValid').message).toContain('ca ended at');
  });

  it('names a few nodes of many', () => {
    const nodes = Array.from({ length: 500 }, (_, at) => node(`w-${at}`, away));
    expect(of({ nodes }, 'NodesReady').message).toMatch(/^not Ready: w-0, w-1, w-2, w-3, w-4 and 495 more\./u);
  });
});

describe('a step that takes longer than the limit', () => {
  const since = minutesAgo(31);
  const late = { operations: [running('add-nodes', since, 'Join workers')] };

  it('is stalled, with the step, its beginning and the limit [azimuth 24]', () =>
    expect(of(late, 'Stalled')).toMatchObject({
      status: 'True',
      reason: 'StepTimedOut',
      message: expect.stringContaining(`"Join workers" has been in progress since ${since}, longer than 30 min`),
      lastTransitionTime: minutesAgo(1),
    }));

  it('is no longer stalled when it ends, or hands over to another step [azimuth 24]', () => {
    expect(of({}, 'Stalled').status).toBe('False');
    const handedOver = {
      ...running('add-nodes', since),
      steps: [{ title: 'Nodes Ready', startedAt: minutesAgo(2), ofProvider: false }],
    };
    expect(of({ operations: [handedOver] }, 'Stalled').status).toBe('False');
  });

  it('says in its condition that it is paused, why, and how to resume it in its namespace', () => {
    const pause = { reason: 'the racks move', since: minutesAgo(20) };
    const messageOf = (change: object): string => of({ pause, ...change }, 'Paused').message;
    expect(messageOf({})).toBe(
      'no service acts on the cluster: the racks move. Resume it with "fairlead cluster resume demo"',
    );
    expect(messageOf({ namespace: 'shop', pause: { ...pause, reason: '' } })).toBe(
      'no service acts on the cluster. Resume it with "fairlead cluster resume demo -n shop"',
    );
  });

  it('is not stalled while the cluster is paused, and has its whole time again afterwards [azimuth 24]', () => {
    expect(of({ ...late, pause: { reason: '', since: minutesAgo(20) } }, 'Stalled').status).toBe('False');
    expect(of({ ...late, resumedAt: minutesAgo(3) }, 'Stalled').status).toBe('False');
    expect(of({ ...late, resumedAt: minutesAgo(30) }, 'Stalled').status).toBe('True');
  });

  it('is not stalled while a hook holds the cluster, which is shown as the reason, and has its whole time again afterwards', () => {
    const blocked = { ...late, hooks: { one: held(false) } };
    expect([of(blocked, 'Stalled').status, of(blocked, 'HookBlocked').status]).toEqual(['False', 'True']);
    expect(of({ ...late, hooks: {}, hooksLetGoAt: minutesAgo(3) }, 'Stalled').status).toBe('False');
    expect(of({ ...late, hooks: {}, hooksLetGoAt: minutesAgo(30) }, 'Stalled').status).toBe('True');
  });
});

describe('a cluster on a connection whose places are taken', () => {
  const create: Partial<ConditionFacts> = {
    phase: 'Pending',
    marks: {},
    operations: [running('create', minutesAgo(5))],
  };
  const waiting = (facts: Partial<ConditionFacts>): Condition | undefined =>
    conditionsOf({ ...HEALTHY, ...facts }).find(({ type }) => type === 'WaitingForConnection');

  it('says that its step waits, since when and why, while it is one of its provider', () => {
    expect(waiting({ ...create, busy: [busy()] })).toMatchObject({
      status: 'True',
      reason: 'ConnectionBusy',
      lastTransitionTime: minutesAgo(2),
      calls: 'Provisioning',
      message: `12 tasks wait for one of the 40 places of connection lab, and some have been taken since ${minutesAgo(4)}: its provider answers slowly, or not at all. The step "Machines" of the cluster waits for a place or has one, and goes on by itself`,
    });
    expect(waiting({ ...create, phase: 'Deleting', busy: [busy()] })?.calls).toBe('Deleting');
    expect(waiting({ operations: [running('add-nodes', minutesAgo(1))], busy: [busy()] })).toMatchObject({
      calls: 'Maintaining',
      lastTransitionTime: minutesAgo(1),
    });
  });

  it('says nothing of it while it needs nothing of its provider, and no longer than the statement holds', () => {
    expect(waiting({ busy: [busy()] })).toBeUndefined();
    expect(
      waiting({ operations: [running('add-nodes', minutesAgo(1), 'Join workers')], busy: [busy()] }),
    ).toBeUndefined();
    expect(waiting({ ...create, busy: [busy({ until: minutesAgo(1) })] })).toBeUndefined();
    expect(waiting(create)).toBeUndefined();
  });
});

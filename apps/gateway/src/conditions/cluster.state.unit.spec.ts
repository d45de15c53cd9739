import {
  CONDITION_REASONS,
  CONDITION_TYPES,
  IDENTITY_BLOCKS,
  PUBLICATION_BLOCKS,
  type ClusterLifeState,
  type ConditionType,
} from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import type { ConditionFacts } from './condition.facts.js';
import { lifeOf, PRECEDENCE, type Condition } from './conditions.js';
import {
  MADE,
  minutesAgo,
  inDays,
  node,
  network,
  away,
  NODES,
  instead,
  address,
  running,
  upgrade,
  busy,
  identity,
  publication,
  BACKUPS,
  GHOST,
  ADDON,
  type LeaseFacts,
  reservation,
  lease,
  held,
  DIFFERENCE,
  UNMET,
  read,
  of,
  stateOf,
} from './conditions.fixtures.js';

interface Row {
  readonly name: string;
  readonly facts: Partial<ConditionFacts>;
  readonly state: ClusterLifeState;
  readonly reason: string;
  readonly type: ConditionType;
}

const row = (
  name: string,
  facts: Partial<ConditionFacts>,
  [state, reason, type]: readonly [ClusterLifeState, string, ConditionType],
): Row => ({ name, facts, state, reason, type });

/** Control planes that hold the API's own address, each for so many minutes. */
const holdingApi = (...minutes: readonly number[]): Partial<ConditionFacts> => ({
  apiAddress: {
    since: minutesAgo(3),
    holders: minutes.map((ago, at) => ({ name: `cp-${at + 1}`, since: minutesAgo(ago) })),
  },
});

const CLOUD = { provider: 'lab', declared: true };
const FAILED_CONTROLLER = {
  ...{ name: 'cloud-controller', version: '1.0.0', revision: 1 },
  ...{ phase: 'Failed' as const, since: MADE, message: 'no chart' },
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
  row('has a cloud controller that failed', { cloud: CLOUD, addons: { addons: [], releases: [FAILED_CONTROLLER] } }, [
    'Degraded',
    'CloudControllerFailed',
    'CloudController',
  ]),
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
  row("has control planes of which none holds the API's own address", holdingApi(), [
    'Degraded',
    'ApiAddressNotHeld',
    'ApiAddressHeld',
  ]),
  row("has control planes of which two hold the API's own address", holdingApi(9, 3), [
    'Degraded',
    'ApiAddressHeldTwice',
    'ApiAddressHeld',
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

  it("names the control planes that hold the API's own address at once, and says what to look at if none does", () => {
    expect(of(holdingApi(9), 'ApiAddressHeld')).toMatchObject({
      ...{ status: 'True', lastTransitionTime: minutesAgo(9) },
    });
    expect(of(holdingApi(), 'ApiAddressHeld')).toMatchObject({
      lastTransitionTime: minutesAgo(3),
      message: expect.stringContaining('fairlead-keepalived'),
    });
    expect(of(holdingApi(9, 3), 'ApiAddressHeld').message).toContain('cp-2, cp-1 hold the address of the API at once');
  });

  it("waits for a verdict while the API's own address moves, and has none where control planes share none", () => {
    expect(of(holdingApi(9, 1), 'ApiAddressHeld').status).toBe('True');
    expect(read({}).map(({ type }) => type)).not.toContain('ApiAddressHeld');
  });

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
      ...holdingApi(9),
      ...publication(),
      cloud: CLOUD,
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

  it('that is not Running has a condition with a reason, a sentence and a time', () => {
    for (const { facts, type, state } of TABLE) {
      if (state === 'Running' || type === 'Ready') continue;
      const { message, lastTransitionTime } = of(facts, type);
      expect(message).not.toBe('');
      expect(Date.parse(lastTransitionTime)).not.toBeNaN();
    }
  });
});

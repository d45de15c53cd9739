import type { AzimuthPhase } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { azimuthPhaseOf } from './azimuth.parts.js';
import type { ConditionFacts } from './condition.facts.js';
import { conditionsOf } from './conditions.js';
import {
  ADDON,
  away,
  DIFFERENCE,
  GHOST,
  HEALTHY,
  inDays,
  instead,
  lease,
  MADE,
  minutesAgo,
  node,
  NODES,
  reservation,
  running,
  upgrade,
} from './conditions.fixtures.js';

const phaseOf = (facts: Partial<ConditionFacts>): AzimuthPhase => {
  const all = { ...HEALTHY, ...facts };
  return azimuthPhaseOf(all, conditionsOf(all));
};

const creating = { phase: 'Provisioning', marks: { accepted: MADE } } as const;
const joining = {
  phase: 'Provisioning',
  marks: { accepted: MADE, machines: MADE, controlPlane: MADE, network: MADE },
} as const;
const failed = { phase: 'Failed', reason: 'JoinWorkerFailedReason' } as const;
const addon = (phase: (typeof ADDON)['phase'] | 'Failed' | 'Installing' | 'Uninstalling') => ({
  addons: { addons: [ADDON], releases: [{ ...ADDON, name: 'metrics', phase }] },
});
const newcomer = (name: string) => node(name, { ...away, wasReady: false });

const TABLE: readonly (readonly [AzimuthPhase, string, Partial<ConditionFacts>])[] = [
  [
    'Pending',
    'waits for the start of its lease',
    { phase: 'Pending', marks: {}, lease: lease({ startsAt: inDays(1) }) },
  ],
  ['Pending', 'waits for its reservation', { ...creating, lease: lease({ reservations: [reservation('Pending')] }) }],
  ['Failed', 'was denied its reservation', { ...creating, lease: lease({ reservations: [reservation('Denied')] }) }],
  ['Unhealthy', 'is there after the end of its lease', { lease: lease({ endsAt: minutesAgo(1) }) }],
  ['Deleting', 'is deleted before the end of its lease', { phase: 'Deleting', lease: lease() }],
  ['Ready', 'has a lease that is in force', { lease: lease() }],
  ['Reconciling', 'is requested', { phase: 'Pending', marks: {}, nodes: [] }],
  ['Reconciling', 'gets its machines', creating],
  ['Deleting', 'is being deleted', { phase: 'Deleting' }],
  ['Failed', 'was rejected', { phase: 'Failed', marks: {}, nodes: [] }],
  ['Failed', 'has failed while nodes joined', { ...joining, ...failed }],
  ['Reconciling', 'has machines and no control plane', { ...creating, marks: { accepted: MADE, machines: MADE } }],
  ['Reconciling', 'gets its workers', { ...joining, nodes: [...NODES.slice(0, 4), newcomer('w-2')] }],
  ['Reconciling', 'has all nodes, and was not called Ready yet', joining],
  ['Upgrading', 'is upgraded', upgrade('Running')],
  ['Upgrading', 'has an upgrade that waits for a window', upgrade('Waiting')],
  ['Ready', 'has a plan that no one has approved', upgrade('Planned')],
  [
    'Unhealthy',
    'has an upgrade that halted',
    { ...upgrade('Halted'), nodes: instead(node('w-1', { kubelet: '1.33.13' })) },
  ],
  ['Reconciling', 'gets a control plane', { nodes: [...NODES, newcomer('cp-4')] }],
  ['Reconciling', 'loses a control plane', { nodes: instead(node('cp-3', { isRemoving: true })) }],
  [
    'Upgrading',
    'gets a control plane of another version',
    { nodes: [...instead(node('cp-1', { kubelet: '1.33.13' })), newcomer('cp-4')] },
  ],
  ['Reconciling', 'has its etcd restored', { etcd: [{ what: 'restore', since: minutesAgo(1) }] }],
  ['Upgrading', 'has workers of several versions', { nodes: instead(node('w-1', { kubelet: '1.33.13' })) }],
  [
    'Ready',
    'has a kubelet that something else replaced',
    {
      nodes: instead(
        node('w-1', { kubelet: '1.33.13', drift: { since: MADE, differences: [DIFFERENCE], message: '' } }),
      ),
    },
  ],
  ['Reconciling', 'gets a worker', { nodes: [...NODES, newcomer('w-3')] }],
  ['Reconciling', 'loses a worker', { nodes: instead(node('w-1', { isRemoving: true })) }],
  [
    'Reconciling',
    'has a node that is being changed',
    { nodes: instead(node('w-1', { ...away, isBeingChanged: true })) },
  ],
  ['Reconciling', 'installs an add-on', addon('Installing')],
  ['Reconciling', 'uninstalls an add-on', addon('Uninstalling')],
  ['Unhealthy', 'has lost its quorum', { nodes: instead(node('cp-1', away), node('cp-2', away)) }],
  ['Unhealthy', 'has a control plane that is not Ready', { nodes: instead(node('cp-1', away)) }],
  ['Unhealthy', 'has an etcd with a problem', { etcdProblems: { since: MADE, problems: [GHOST] } }],
  ['Unhealthy', 'has a worker that is not Ready', { nodes: instead(node('w-1', away)) }],
  ['Unhealthy', 'has a worker that is lost', { nodes: instead(node('w-1', { ...away, isLost: true })) }],
  ['Unhealthy', 'has a machine that is gone', { nodes: instead(node('w-1', { away: { since: MADE, message: '' } })) }],
  ['Unhealthy', 'has nodes that were given up', { reason: 'AddNodeFailedReason', message: 'no room' }],
  ['Unhealthy', 'has an add-on that failed', addon('Failed')],
  ['Ready', 'is as requested', addon('Deployed')],
];

describe("azimuth's phase of a cluster of Fairlead", () => {
  it.each(TABLE)('is %s of one that %s [azimuth 22]', (phase, _name, facts) => expect(phaseOf(facts)).toBe(phase));

  it('is Unhealthy once a step of the creation takes longer than the limit, and not before [azimuth 24]', () => {
    const created = (minutes: number) => ({ ...creating, operations: [running('create', minutesAgo(minutes))] });
    expect([phaseOf(created(29)), phaseOf(created(31))]).toEqual(['Reconciling', 'Unhealthy']);
  });

  it('stays Pending while a lease has not started, however long that takes [azimuth 9]', () => {
    const operations = [running('create', minutesAgo(600), 'Reserve machines')];
    const waiting = { ...creating, operations, lease: lease({ startsAt: inDays(1) }) };
    expect(phaseOf(waiting)).toBe('Pending');
  });

  it('is not Unhealthy because of a step that was under way when the cluster was paused [azimuth 24]', () => {
    const operations = [running('create', minutesAgo(31))];
    expect(phaseOf({ ...creating, operations, pause: { reason: '', since: minutesAgo(10) } })).toBe('Reconciling');
  });
});

import type { ClusterLifeState, ConditionType, ConditionView } from '@fairlead/contracts';
import { cloudController } from './cloud.conditions.js';
import type { ConditionFacts } from './condition.facts.js';
import { hookBlocked, hookSecretsPresent, paused, progressing, stalled, upgrading } from './changes.conditions.js';
import { after, stage, type Read, type Reading } from './condition.reading.js';
import { busyNow, connectionsVerified, providerStep, waitingForConnection } from './connections.conditions.js';
import { expiring, reserved } from './lifetime.conditions.js';
import { machinesPresent, machinesReady } from './machines.conditions.js';
import { apiAddressHeld, networkApplied, virtualAddressesReady } from './network.conditions.js';
import { available, controlPlaneReady, nodesAsDesired, nodesPresent, nodesReady, whole } from './nodes.conditions.js';
import {
  addonsHealthy,
  backupsHealthy,
  certificatesValid,
  declaredStateApplied,
  endpointAvailable,
  etcdHealthy,
  failedAddons,
  identityReady,
  quarantined,
  remediationAllowed,
} from './services.conditions.js';

interface ConditionDefinition {
  readonly type: ConditionType;
  readonly read: Read;
  /** Absent: always. */
  readonly isShown?: (facts: ConditionFacts) => boolean;
}

/** All conditions of a cluster, in the order in which they are shown. To add one: its type and reasons in the contracts, how it is read in the file of its topic, and an entry here. */
const CONDITIONS: readonly ConditionDefinition[] = [
  { type: 'Accepted', read: stage('accepted') },
  { type: 'InfrastructureReady', read: stage('machines') },
  { type: 'ControlPlaneReady', read: after('controlPlane', controlPlaneReady) },
  { type: 'NetworkReady', read: stage('network') },
  { type: 'Ready', read: whole },
  { type: 'Available', read: after('controlPlane', available) },
  { type: 'NodesReady', read: after('ready', nodesReady) },
  { type: 'MachinesReady', read: after('machines', machinesReady) },
  { type: 'MachinesPresent', read: after('machines', machinesPresent) },
  { type: 'NodesPresent', read: after('ready', nodesPresent) },
  { type: 'NodesAsDesired', read: after('ready', nodesAsDesired) },
  {
    type: 'NetworkApplied',
    read: networkApplied,
    isShown: ({ nodes }) => nodes.some(({ network }) => network !== undefined),
  },
  {
    type: 'VirtualAddressesReady',
    read: after('ready', virtualAddressesReady),
    isShown: ({ addresses }) => addresses.length > 0,
  },
  {
    type: 'ApiAddressHeld',
    read: after('ready', apiAddressHeld),
    isShown: ({ apiAddress }) => apiAddress !== undefined,
  },
  { type: 'HookBlocked', read: hookBlocked, isShown: ({ hooks }) => hooks !== undefined },
  { type: 'HookSecretsPresent', read: hookSecretsPresent, isShown: ({ unsigned }) => unsigned !== undefined },
  { type: 'EtcdHealthy', read: etcdHealthy, isShown: ({ etcdProblems }) => etcdProblems !== undefined },
  { type: 'AddonsHealthy', read: after('ready', addonsHealthy), isShown: (facts) => failedAddons(facts).length > 0 },
  {
    type: 'DeclaredStateApplied',
    read: after('ready', declaredStateApplied),
    isShown: ({ unapplied, unmet = [] }) => unapplied !== undefined || unmet.length > 0,
  },
  { type: 'RemediationAllowed', read: remediationAllowed, isShown: ({ health }) => health !== undefined },
  { type: 'BackupsHealthy', read: backupsHealthy, isShown: ({ backups }) => backups !== undefined },
  { type: 'IdentityReady', read: identityReady, isShown: ({ identity }) => identity !== undefined },
  {
    type: 'EndpointAvailable',
    read: endpointAvailable,
    isShown: ({ publication }) => publication !== undefined,
  },
  { type: 'CloudController', read: cloudController, isShown: ({ cloud }) => cloud !== undefined },
  { type: 'Reserved', read: reserved, isShown: ({ lease }) => (lease?.reservations.length ?? 0) > 0 },
  { type: 'Expiring', read: expiring, isShown: ({ lease }) => lease !== undefined },
  { type: 'Upgrading', read: upgrading },
  { type: 'Progressing', read: progressing },
  { type: 'Paused', read: paused },
  { type: 'Stalled', read: stalled },
  { type: 'CertificatesValid', read: certificatesValid },
  { type: 'ConnectionsVerified', read: connectionsVerified },
  {
    type: 'WaitingForConnection',
    read: waitingForConnection,
    isShown: (facts) => busyNow(facts).length > 0 && providerStep(facts) !== undefined,
  },
  { type: 'Quarantined', read: quarantined },
];

export interface Condition extends Reading {
  readonly type: ConditionType;
}

export const conditionsOf = (facts: ConditionFacts): readonly Condition[] =>
  CONDITIONS.filter(({ isShown }) => isShown?.(facts) ?? true).map(({ type, read }) => ({ type, ...read(facts) }));

/** The first state that a condition calls for is that of the cluster. */
export const PRECEDENCE: readonly ClusterLifeState[] = [
  'Deleting',
  'Paused',
  'Failed',
  'Provisioning',
  'Degraded',
  'Maintaining',
  'Running',
];

/** How the cluster is, and the conditions that make it so. */
export interface Life {
  readonly state: ClusterLifeState;
  readonly because: readonly Condition[];
}

/** A creation that is stuck makes no progress: it is as degraded as a cluster whose change is stuck. */
const isOverruled = (state: ClusterLifeState, conditions: readonly Condition[]): boolean =>
  state === 'Provisioning' && conditions.some(({ reason }) => reason === 'StepTimedOut');

export const lifeOf = (conditions: readonly Condition[]): Life => {
  const called = new Set(conditions.map(({ calls }) => calls));
  const state = PRECEDENCE.find((one) => called.has(one) && !isOverruled(one, conditions)) ?? 'Running';
  return { state, because: conditions.filter(({ calls }) => calls === state) };
};

export const conditionView = ({ calls: _calls, ...view }: Condition): ConditionView => view;

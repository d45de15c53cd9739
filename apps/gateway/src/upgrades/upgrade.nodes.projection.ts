import type { ClusterUid, EventType, StoredEvent, UpgradeId, UpgradeNodePhase } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { nodeKey } from '../common/cluster.address.js';
import { operationStatesAfter, type OperationStates } from './operation.state.js';

/** How far a node is in its operation. */
export type NodeStage = Extract<UpgradeNodePhase, 'Preparing' | 'Draining' | 'Changing' | 'Verifying'>;

/** What one upgrade does to one node. */
export interface NodeUpgrade {
  readonly upgradeId: string;
  readonly operations: OperationStates;
  readonly stage: NodeStage;
  /** What its agent does now. */
  readonly step: string | null;
  /** What it waits for, as an end of "waits for ...". */
  readonly waitsFor: string;
  readonly left: 'Skipped' | 'Quarantined' | null;
  readonly leftBecause: string;
}

/** What the latest upgrades did to a node. */
export interface NodeUpgradesDoc {
  readonly namespace: string;
  readonly cluster: string;
  readonly node: string;
  readonly uid: ClusterUid;
  /** Oldest first. */
  readonly upgrades: readonly NodeUpgrade[];
  /** The upgrade that may change the node now: what its agent says belongs to it. */
  readonly allowed: string | null;
}

/** A node keeps so many upgrades: more are in the log. */
const UPGRADES_MAX = 10;

type Change = (upgrade: NodeUpgrade) => NodeUpgrade;

const fresh = (upgradeId: string): NodeUpgrade => ({
  upgradeId,
  operations: {},
  stage: 'Preparing',
  step: null,
  waitsFor: '',
  left: null,
  leftBecause: '',
});

const withUpgrade = (doc: NodeUpgradesDoc, upgradeId: string, change: Change): NodeUpgradesDoc => {
  const known = doc.upgrades.some((upgrade) => upgrade.upgradeId === upgradeId);
  const upgrades = known ? doc.upgrades : [...doc.upgrades, fresh(upgradeId)].slice(-UPGRADES_MAX);
  return {
    ...doc,
    upgrades: upgrades.map((upgrade) => (upgrade.upgradeId === upgradeId ? change(upgrade) : upgrade)),
  };
};

const at =
  (stage: NodeStage, waitsFor: string): Change =>
  (upgrade) => ({ ...upgrade, stage, waitsFor, step: null });

const waiting =
  (waitsFor: string): Change =>
  (upgrade) => ({ ...upgrade, waitsFor });

/** `name, name and 3 more`. */
const few = (names: readonly string[]): string => {
  const shown = names.slice(0, FEW_MAX).join(', ');
  return names.length > FEW_MAX ? `${shown} and ${names.length - FEW_MAX} more` : shown;
};
const FEW_MAX = 3;

type RolloutEvent = OfUpgrade<
  | 'OperationStarted'
  | 'OperationCompleted'
  | 'OperationFailed'
  | 'OperationPostponed'
  | 'UpgradeAllowed'
  | 'EtcdLeaderMoved'
  | 'NodeCordoned'
  | 'EvictionRefused'
  | 'NodeEmptied'
  | 'DrainTimedOut'
  | 'GatePassed'
  | 'GateFailed'
  | 'NodeUncordoned'
  | 'UpgradeWithdrawn'
  | 'NodeSkipped'
  | 'NodeQuarantined'
>;

type OfUpgrade<Type extends EventType> = StoredEvent<Type> & { readonly data: { readonly upgradeId: UpgradeId } };

const operated = (event: Extract<RolloutEvent, { type: `Operation${string}` }>): Change => {
  const states: Change = (upgrade) => ({ ...upgrade, operations: operationStatesAfter(upgrade.operations, event) });
  switch (event.type) {
    case 'OperationStarted':
      return (upgrade) => at('Preparing', 'the gates before its change')(states(upgrade));
    case 'OperationCompleted':
    case 'OperationPostponed':
      return (upgrade) => waiting('')(states(upgrade));
    case 'OperationFailed': {
      const next = event.data.nextAttemptAt;
      return (upgrade) =>
        waiting(next === null ? 'a person to decide' : `the next attempt at ${next}`)(states(upgrade));
    }
  }
};

const refusedBy = ({ budget, pods, message }: StoredEvent<'EvictionRefused'>['data']): string =>
  `${budget === null ? 'Kubernetes' : `the PodDisruptionBudget ${budget}`}, which keeps ${few(pods)}: ${message}`;

const changeOf = (event: RolloutEvent): Change => {
  switch (event.type) {
    case 'OperationStarted':
    case 'OperationCompleted':
    case 'OperationFailed':
    case 'OperationPostponed':
      return operated(event);
    case 'UpgradeAllowed':
      return at('Preparing', 'Kubernetes to cordon it');
    case 'NodeCordoned':
      return at('Draining', 'its pods to be moved away');
    case 'EtcdLeaderMoved':
      return at('Draining', `its pods to be moved away; ${event.data.to} leads etcd now`);
    case 'EvictionRefused':
      return at('Draining', refusedBy(event.data));
    case 'DrainTimedOut':
      return at('Draining', `${few(event.data.pods)}, for too long: ${event.data.policy}`);
    case 'NodeEmptied':
      return at('Changing', 'its agent to begin');
    case 'GateFailed':
      return at(event.data.stage === 'before' ? 'Preparing' : 'Verifying', `${event.data.gate}: ${event.data.message}`);
    case 'GatePassed':
      return at(event.data.stage === 'before' ? 'Preparing' : 'Verifying', 'its remaining gates');
    case 'NodeUncordoned':
      return at('Verifying', 'its permission to be withdrawn');
    case 'UpgradeWithdrawn':
      return waiting(event.data.leftFailed ? 'a person to decide: it stays cordoned' : '');
    case 'NodeSkipped':
      return (upgrade) => ({ ...upgrade, left: 'Skipped', leftBecause: event.data.reason, waitsFor: '' });
    case 'NodeQuarantined':
      return (upgrade) => ({
        ...upgrade,
        left: 'Quarantined',
        leftBecause: `${few(event.data.pods)} could not be moved`,
        waitsFor: '',
      });
  }
};

type AgentEvent = StoredEvent<
  | 'NodeNotReady'
  | 'NodeChangeProgressed'
  | 'NodeInitialized'
  | 'NodeInitializationFailed'
  | 'NodeReady'
  | 'NodeRebooted'
  | 'NodeLost'
  | 'NodeRecovered'
>;

const progressed = ({ data }: StoredEvent<'NodeChangeProgressed'>): Change => {
  const what = data.command ?? data.phase;
  switch (data.status) {
    case 'started':
      return (upgrade) => ({
        ...at('Changing', `${what}${data.attempt === 1 ? '' : ` (attempt ${data.attempt})`}`)(upgrade),
        step: data.phase,
      });
    case 'done':
      return (upgrade) => ({ ...at('Changing', `the step after ${data.phase}`)(upgrade), step: data.phase });
    case 'failed':
      return (upgrade) => ({
        ...at('Changing', `another attempt: ${what} failed: ${data.message ?? 'it says nothing'}`)(upgrade),
        step: data.phase,
      });
  }
};

const saidByAgent = (event: AgentEvent): Change => {
  switch (event.type) {
    case 'NodeNotReady':
      return at('Changing', 'its agent to change it');
    case 'NodeChangeProgressed':
      return progressed(event);
    case 'NodeInitialized':
      return at('Changing', 'Kubernetes to call it Ready with what it has now');
    case 'NodeInitializationFailed':
      return at('Changing', `another attempt, because ${event.data.item} failed: ${event.data.message}`);
    case 'NodeRebooted':
      return at('Changing', 'its agent to go on after the boot');
    case 'NodeReady':
      return at('Verifying', 'its gates');
    case 'NodeLost':
      return waiting('its agent, which has stopped sending heartbeats');
    case 'NodeRecovered':
      return waiting('its agent to go on');
  }
};

const ROLLOUT: ReadonlySet<string> = new Set<EventType>([
  'OperationStarted',
  'OperationCompleted',
  'OperationFailed',
  'OperationPostponed',
  'UpgradeAllowed',
  'EtcdLeaderMoved',
  'NodeCordoned',
  'EvictionRefused',
  'NodeEmptied',
  'DrainTimedOut',
  'GatePassed',
  'GateFailed',
  'NodeUncordoned',
  'UpgradeWithdrawn',
  'NodeSkipped',
  'NodeQuarantined',
]);
const AGENT: ReadonlySet<string> = new Set<EventType>([
  'NodeNotReady',
  'NodeChangeProgressed',
  'NodeInitialized',
  'NodeInitializationFailed',
  'NodeReady',
  'NodeRebooted',
  'NodeLost',
  'NodeRecovered',
]);
/** The leader of etcd moves also for nodes that are rebooted or removed. */
const isRollout = (event: StoredEvent): event is RolloutEvent =>
  ROLLOUT.has(event.type) && (event.data as { readonly upgradeId?: string | null }).upgradeId !== null;
const isAgent = (event: StoredEvent): event is AgentEvent => AGENT.has(event.type);

const nodeOf = (event: StoredEvent): string | undefined =>
  (isRollout(event) || isAgent(event)) && event.data.node !== null ? event.data.node : undefined;

const none = (event: RolloutEvent, node: string): NodeUpgradesDoc => ({
  namespace: event.meta.namespace,
  cluster: event.meta.cluster,
  node,
  uid: event.data.uid,
  upgrades: [],
  allowed: null,
});

const allowedAfter = (allowed: string | null, event: RolloutEvent): string | null => {
  if (event.type === 'UpgradeAllowed') return event.data.upgradeId;
  return event.type === 'UpgradeWithdrawn' && event.data.upgradeId === allowed ? null : allowed;
};

/** One row per node that an upgrade has touched; it outlives the node, as upgrades do. What its agent says counts while an upgrade may change it. */
export const upgradeNodesProjection: Projection<NodeUpgradesDoc> = {
  name: 'upgrade-nodes',
  table: 'upgrade_nodes',

  keys: (event) => {
    const node = nodeOf(event);
    return node === undefined ? [] : [nodeKey(event.meta.namespace, event.meta.cluster, node)];
  },

  evolve: (doc, event) => {
    if (isRollout(event)) {
      const node = event.data.node;
      if (node === null) return doc;
      const known = doc?.uid === event.data.uid ? doc : none(event, node);
      const changed = withUpgrade(known, event.data.upgradeId, changeOf(event));
      return { ...changed, allowed: allowedAfter(changed.allowed, event) };
    }
    if (doc === undefined || !('uid' in event.data) || event.data.uid !== doc.uid) return doc;
    return isAgent(event) && doc.allowed !== null ? withUpgrade(doc, doc.allowed, saidByAgent(event)) : doc;
  },
};

import { traitsOf, unsignedHooks, type ClusterSpec, type PriceList, type UpgradePhase } from '@fairlead/contracts';
import type { MachineHours } from '@fairlead/domain';
import type { CertificatesDoc } from '../certificates/certificates.projection.js';
import type { ConditionFacts, NodeFacts, OperationFacts } from '../conditions/condition.facts.js';
import { unmetFacts, type UnmetDeclaration } from '../conditions/unmet.facts.js';
import type { EtcdDoc } from '../etcd/etcd.projection.js';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import { isAway, isReady, nodeProgress } from '../nodes/nodes.view.js';
import { kindOf } from '../operations/step.sequence.js';
import { PROVIDER_STEPS } from '../operations/steps.js';
import type { OperationDoc } from '../operations/operation.evolve.js';
import type { OperationsDoc } from '../operations/operations.projection.js';
import { operationView } from '../operations/operations.view.js';
import type { ClusterDoc } from './clusters.projection.js';
import { leaseView, type LeaseDoc } from './lease.evolve.js';
import { addressFacts, addressStatuses } from './virtual-addresses.js';

/** What of its latest upgrade a cluster's conditions depend on, without the plan. */
export interface UpgradeGlimpse {
  readonly uid: string;
  readonly id: string;
  readonly phase: UpgradePhase;
  readonly message: string;
  readonly requestedAt: string;
}

/** Rows of other nouns that the conditions of a cluster depend on. */
export interface AroundCluster {
  readonly upgrade: UpgradeGlimpse | undefined;
  readonly etcd: Pick<EtcdDoc, 'uid' | 'requests'> | undefined;
  readonly certificates: readonly Pick<CertificatesDoc, 'uid' | 'node' | 'certificates'>[];
  readonly quarantined: ConditionFacts['quarantined'];
  /** Connections that could not be verified, of any cluster. */
  readonly unverified: ConditionFacts['unverified'];
  /** Connections of which all places are taken while tasks wait for one, of any cluster. */
  readonly busy: ConditionFacts['busy'];
  /** Names of the hook secrets of its namespace; undefined: not known. */
  readonly hookSecrets: readonly string[] | undefined;
  /** What is declared, where something of it was refused; undefined: nothing was. */
  readonly unmet: UnmetDeclaration | undefined;
  /** How long its machines have run; absent: not counted, or not requested. */
  readonly machineHours?: MachineHours | undefined;
}

export const NOTHING_AROUND: AroundCluster = {
  upgrade: undefined,
  etcd: undefined,
  certificates: [],
  quarantined: [],
  unverified: [],
  busy: [],
  hookSecrets: undefined,
  unmet: undefined,
};

export interface ConditionRows {
  readonly cluster: ClusterDoc;
  readonly nodes: readonly NodeDoc[];
  readonly operations: OperationsDoc | undefined;
  readonly around: AroundCluster;
  readonly now: string;
  readonly stalledAfterMs: number;
  /** Absent: the installation has no price list. */
  readonly prices?: PriceList | undefined;
}

const nodeFacts = (node: NodeDoc): NodeFacts => ({
  name: node.name,
  role: node.role,
  isReady: isReady(node),
  isLost: node.isLost,
  ...(node.isBeingChanged === true ? { isBeingChanged: true as const } : {}),
  ...(node.away === undefined ? {} : { away: { since: node.away.since, message: nodeProgress(node).reason } }),
  ...(node.moved === undefined ? {} : { moved: node.moved }),
  ...(node.drain === undefined ? {} : { drain: node.drain }),
  ...(node.drift === undefined ? {} : { drift: node.drift }),
  ...(node.network === undefined ? {} : { network: node.network }),
  wasReady: node.milestones.ready !== undefined,
  isRemoving: node.isRemoving,
  since: node.readyChangedAt ?? node.changedAt,
  kubelet: node.software['kubelet'],
});

/** People take their time to approve a plan; a rollout has limits of its own for each node, and what is done with etcd has its own, too. */
const UNLIMITED: ReadonlySet<string> = new Set([
  'approve',
  'rollout',
  'replace-nodes',
  'snapshot-etcd',
  'verify-snapshot',
  'prepare-restore',
  'restore-etcd',
]);

const stepsOf = (of: OperationsDoc, operation: OperationDoc, nodes: readonly NodeDoc[]): OperationFacts['steps'] =>
  operationView(of, operation, nodes)
    .steps.flatMap(({ name, title, state, startedAt }) =>
      state !== 'running' || startedAt === null || UNLIMITED.has(name)
        ? []
        : [{ title, startedAt, ofProvider: PROVIDER_STEPS.has(name) }],
    )
    .toSorted((one, other) => (one.startedAt < other.startedAt ? -1 : 1));

const operationFacts = (
  of: OperationsDoc,
  operation: OperationDoc,
  nodes: readonly NodeDoc[],
): readonly OperationFacts[] => {
  const { course, phase, isOver, node, message, startedAt, finishedAt } = operation;
  const kind = kindOf(course);
  if (phase === 'Running')
    return [{ kind, state: 'running', node, message, since: startedAt, steps: stepsOf(of, operation, nodes) }];
  if (phase !== 'Failed' || isOver === true) return [];
  return [{ kind, state: 'failed', node, message, since: finishedAt ?? startedAt, steps: [] }];
};

const leaseFacts = (doc: LeaseDoc): NonNullable<ConditionFacts['lease']> => ({
  ...leaseView(doc),
  since: doc.lifetime.since,
  changedAt: Object.values(doc.reservations).reduce((last, { since }) => (since > last ? since : last), ''),
});

/** Nodes that are away, or leave, hold nothing, whatever they said last. */
const apiAddressFacts = (nodes: readonly NodeDoc[]): Pick<ConditionFacts, 'apiAddress'> => {
  const said = nodes.flatMap((node) =>
    node.apiAddress === undefined
      ? []
      : [{ ...node.apiAddress, name: node.name, counts: !isAway(node) && !node.isRemoving }],
  );
  if (said.length === 0) return {};
  const holders = said.flatMap(({ held, counts, name, since }) => (held && counts ? [{ name, since }] : []));
  return { apiAddress: { since: said.reduce((last, { since }) => (since > last ? since : last), ''), holders } };
};

/** A cluster of several clouds is not expected to have a cloud controller. */
const cloudFacts = (
  { cloudController, serviceType }: ClusterSpec,
  nodes: readonly NodeDoc[],
): Pick<ConditionFacts, 'cloud'> => {
  const provider = nodes.find(({ machine }) => machine !== null)?.machine?.csp;
  if (provider === undefined) return {};
  if (cloudController !== undefined) return { cloud: { provider, declared: true } };
  const isUnsupported = serviceType === 'single' && traitsOf(provider).cloudController === undefined;
  return isUnsupported ? { cloud: { provider, declared: false } } : {};
};

/** What the conditions of a cluster follow from, by its rows. */
export const conditionFacts = ({ cluster, nodes, operations, around, ...at }: ConditionRows): ConditionFacts => {
  const { uid, spec, pause = null, resumedAt = null, signed, lease: leaseDoc, ...others } = cluster;
  const { upgrade, etcd, certificates, quarantined, unverified, busy, hookSecrets, unmet } = around;
  const connections = new Set([spec.controlPlane, ...spec.workers].map(({ connection }) => connection as string));
  for (const { connection } of nodes) connections.add(connection);
  return {
    ...at,
    ...others,
    ...(leaseDoc === undefined ? {} : { lease: leaseFacts(leaseDoc) }),
    ...(unmet?.uid === uid ? { unmet: unmetFacts(unmet, at.now) } : {}),
    pause,
    resumedAt,
    nodes: nodes.map(nodeFacts),
    ...apiAddressFacts(nodes),
    ...cloudFacts(spec, nodes),
    addresses: addressFacts(addressStatuses(cluster.virtualAddresses ?? [], nodes)),
    operations:
      operations === undefined
        ? []
        : operations.operations.flatMap((operation) => operationFacts(operations, operation, nodes)),
    upgrade: upgrade?.uid === uid ? { ...upgrade, since: upgrade.requestedAt } : null,
    etcd:
      etcd?.uid === uid
        ? etcd.requests.flatMap(({ what, phase, requestedAt }) =>
            phase === 'Running' && what !== 'verification' ? [{ what, since: requestedAt }] : [],
          )
        : [],
    certificates: certificates.flatMap(({ uid: of, node, certificates: all }) =>
      of === uid ? all.map(({ name, expiresAt }) => ({ node, name, expiresAt })) : [],
    ),
    quarantined,
    ...(signed === undefined || hookSecrets === undefined
      ? {}
      : { unsigned: { since: signed.since, hooks: unsignedHooks(signed.hooks, hookSecrets) } }),
    unverified: unverified.filter(({ name }) => connections.has(name)),
    busy: busy.filter(({ name }) => connections.has(name)),
  };
};

import type { MachineView, NodePhase, NodePressure, NodeProgressView, NodeStage, NodeView } from '@fairlead/contracts';
import { machineLabels } from '../lifecycle/membership.js';
import type { Selectable } from '../lifecycle/selection.rules.js';
import { qualifiedNameOf } from './qualified.names.js';
import { holdOf, type HoldsDoc } from '../holds/holds.projection.js';
import { MILESTONES, type Away, type Milestone, type NodeDoc } from './nodes.projection.js';

const AWAY: Readonly<Record<Away['what'], string>> = {
  'machine-gone': 'the machine no longer exists at its provider',
  'machine-missing': 'the provider no longer lists the machine',
  'machine-stopped': 'the provider reports that the machine is stopped',
};

/** `the machine no longer exists at its provider since 2026-…`, and why nothing is done about it. */
const awaySentence = ({ what, since, message }: Away): string =>
  `${AWAY[what]} since ${since}${message === '' ? '' : `; not repaired automatically: ${message}`}`;

const silence = ({ silentSince, changedAt }: Pick<NodeDoc, 'silentSince' | 'changedAt'>): string =>
  `its agent has sent no heartbeat since ${silentSince ?? changedAt}`;

/** Its agent is silent, or its machine does not run. */
export const isAway = ({ isLost, away }: Pick<NodeDoc, 'isLost' | 'away'>): boolean => isLost || away !== undefined;

/** What the phase of a node follows from. */
export type NodeCondition = Pick<NodeDoc, 'isRemoving' | 'isLost' | 'isReady'> & {
  readonly wasReady: boolean;
  readonly bootstrapped: boolean;
  readonly hasMachine: boolean;
};

export const nodePhase = (node: NodeCondition): NodePhase => {
  if (node.isRemoving) return 'Removing';
  if (node.isLost) return 'Lost';
  if (node.isReady) return 'Ready';
  if (node.wasReady) return 'NotReady';
  if (node.bootstrapped) return 'Joining';
  return node.hasMachine ? 'Bootstrapping' : 'Planned';
};

const phaseOf = ({ milestones, machine, ...doc }: NodeDoc): NodePhase =>
  nodePhase({
    ...doc,
    isLost: isAway(doc),
    wasReady: milestones.ready !== undefined,
    bootstrapped: milestones.bootstrapped !== undefined,
    hasMachine: machine !== null,
  });

const STAGES: Readonly<Record<Milestone, NodeStage>> = {
  created: 'created',
  reached: 'reached',
  agentStarted: 'agent-started',
  initialized: 'initialized',
  bootstrapped: 'bootstrapped',
  joined: 'joined',
  ready: 'ready',
  drained: 'drained',
  removed: 'removed',
};

const lastMilestone = ({ milestones }: NodeDoc): Milestone | undefined =>
  MILESTONES.findLast((milestone) => milestones[milestone] !== undefined);

const stageOf = (doc: NodeDoc): NodeStage => {
  const last = lastMilestone(doc);
  return last === undefined ? 'planned' : STAGES[last];
};

const stateOf = (doc: NodeDoc): NodeProgressView['state'] => {
  const stage = stageOf(doc);
  if (isAway(doc)) return 'lost';
  if (stage === 'ready') return doc.isReady ? 'ready' : 'not-ready';
  return stage === 'planned' ? 'waiting' : 'running';
};

/** Kubernetes calls it Ready, and keeps pods away from it. */
const pressed = (pressures: readonly NodePressure[]): string =>
  pressures.length === 0 ? '' : `${pressures.join(', ')}: Kubernetes schedules no pods on it`;

const reasonOf = (doc: NodeDoc): string => {
  const { away, isLost, isReady, reason, drain, pressures = [] } = doc;
  if (away !== undefined) return awaySentence(away);
  if (isLost) return isReady || reason === '' ? silence(doc) : `${silence(doc)}; ${reason}`;
  if (reason !== '') return reason;
  return drain?.message ?? (isReady ? pressed(pressures) : '');
};

const sinceOf = (doc: NodeDoc): string => {
  const last = lastMilestone(doc);
  const reached = (last && doc.milestones[last]) ?? doc.plannedAt;
  if (doc.isLost && doc.away === undefined) return doc.silentSince ?? doc.changedAt;
  return isAway(doc) || stateOf(doc) === 'not-ready' ? doc.changedAt : reached;
};

/** Of its kubelet, as Kubernetes writes it; empty: not reported yet. */
export const versionOf = ({ software: { kubelet } }: Pick<NodeDoc, 'software'>): string =>
  kubelet === undefined ? '' : `v${kubelet.replace(/^v/, '')}`;

/** Whether Kubernetes calls it Ready, as far as anything shows. A node that is drained or leaves may still be Ready. */
export const isReady = (doc: Pick<NodeDoc, 'isReady' | 'isLost' | 'away'>): boolean => doc.isReady && !isAway(doc);

/** How far a node is. */
export const nodeProgress = (doc: NodeDoc): NodeProgressView => {
  const state = stateOf(doc);
  const ready = isReady(doc);
  return {
    name: doc.name,
    role: doc.role,
    stage: stageOf(doc),
    since: sinceOf(doc),
    state,
    ...(ready === (state === 'ready') ? {} : { ready }),
    reason: reasonOf(doc),
    version: versionOf(doc),
  };
};

const label = (key: string, value: string | undefined): string => (value === undefined ? '' : `${key}=${value}`);

/** By pool, why none of its nodes is remediated. */
export type Suspended = Readonly<Record<string, { readonly message: string }>>;

/** What its health check led to, or why it leads to nothing. */
const remediationOf = (doc: NodeDoc, suspended: Suspended): string | undefined => {
  const isWell = (doc.isReady && !doc.isLost) || doc.isRemoving || doc.milestones.ready === undefined;
  return doc.remediation ?? (isWell ? undefined : suspended[doc.pool]?.message);
};

/** What of a cluster shows in each of its nodes. */
export interface AroundNodes {
  readonly holds?: HoldsDoc | undefined;
  readonly suspended?: Suspended | undefined;
  /** Those that are declared. */
  readonly virtualAddresses?: readonly { readonly name: string; readonly address: string }[] | undefined;
}

/** In the order and with the types of Kubernetes: the private one first, then those of its other interfaces; after them the virtual addresses that it holds. */
const addressesOf = (
  { machine, addresses, hostAddresses = [], isRemoving }: NodeDoc,
  declared: NonNullable<AroundNodes['virtualAddresses']>,
): NodeView['addresses'] => {
  const { privateIp = '', publicIp = '' } = machine ?? {};
  const held = (addresses?.reports ?? []).filter((report) => report.held && !isRemoving).map(({ name }) => name);
  const known = new Set([privateIp, publicIp, ...declared.map(({ address }) => address)]);
  const others = hostAddresses.filter((address) => !known.has(address));
  return [
    ...(privateIp === '' ? [] : [{ type: 'InternalIP' as const, address: privateIp }]),
    ...others.map((address) => ({ type: 'InternalIP' as const, address })),
    ...(publicIp === '' || publicIp === privateIp ? [] : [{ type: 'ExternalIP' as const, address: publicIp }]),
    ...declared
      .filter(({ name }) => held.includes(name))
      .map(({ address }) => ({ type: 'VirtualIP' as const, address })),
  ];
};

const remediationPart = (remediation: string | undefined): Pick<NodeView, 'remediation'> =>
  remediation === undefined ? {} : { remediation };

const cordonPart = ({ cordon }: NodeDoc): Pick<NodeView, 'cordon'> => {
  if (cordon === undefined) return {};
  const { reason, actor, since } = cordon;
  return { cordon: { reason, actor, since } };
};

const networkPart = ({ network }: NodeDoc): Pick<NodeView, 'network'> => {
  if (network === undefined) return {};
  const { attempt: _attempt, ...view } = network;
  return { network: view };
};

/** `cspLabel` and the two after it are CB-Ladybug's. */
export const nodeView = (
  doc: NodeDoc,
  { holds, suspended = {}, virtualAddresses = [] }: AroundNodes = {},
): NodeView => ({
  name: doc.name,
  kind: 'Node',
  qualifiedName: qualifiedNameOf(doc),
  publicIp: doc.machine?.publicIp ?? '',
  privateIp: doc.machine?.privateIp ?? '',
  addresses: addressesOf(doc, virtualAddresses),
  role: doc.role,
  spec: doc.spec,
  csp: doc.machine?.csp ?? '',
  createdTime: doc.milestones.created ?? '',
  cspLabel: label('topology.cloud-barista.github.io/csp', doc.machine?.csp),
  regionLabel: label('topology.kubernetes.io/region', doc.machine?.region),
  zoneLabel: label('topology.kubernetes.io/zone', doc.machine?.zone),
  labels: { ...selectable(doc).labels },
  phase: phaseOf(doc),
  stage: stageOf(doc),
  leader: doc.leader,
  connection: doc.connection,
  ready: isReady(doc),
  reason: reasonOf(doc),
  software: doc.software,
  pool: doc.pool,
  ...(doc.surge === undefined ? {} : { extraFor: doc.surge }),
  updatesDisabled: holdOf(holds, doc)?.reason ?? null,
  ...remediationPart(remediationOf(doc, suspended)),
  ...(doc.drift === undefined ? {} : { drift: doc.drift }),
  ...cordonPart(doc),
  ...networkPart(doc),
  changedAt: doc.changedAt,
});

/** What a selection of nodes depends on, as for requests: see selectable.nodes.ts. */
export const selectable = ({ name, role, pool, machine, metadata }: NodeDoc): Selectable => ({
  role,
  pool,
  labels: {
    'kubernetes.io/hostname': name,
    ...(machine === null ? {} : machineLabels(machine)),
    ...metadata?.labels,
  },
});

export const machineView = (doc: NodeDoc): MachineView => ({
  name: doc.name,
  role: doc.role,
  pool: doc.pool,
  leader: doc.leader,
  connection: doc.connection,
  spec: doc.spec,
  status: doc.machine === null ? 'planned' : 'running',
  providerId: doc.machine?.providerId ?? null,
  publicIp: doc.machine?.publicIp ?? null,
  privateIp: doc.machine?.privateIp ?? null,
  sshPort: doc.machine?.ssh.port ?? null,
  csp: doc.machine?.csp ?? null,
  region: doc.machine?.region ?? null,
  zone: doc.machine?.zone ?? null,
  plannedAt: doc.plannedAt,
  createdAt: doc.milestones.created ?? null,
});

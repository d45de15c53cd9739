import {
  reasonCodeOf,
  sentenceOf,
  suspensionSentence,
  type ClusterPhase,
  type ClusterSpec,
  type ClusterUid,
  type DeclaredSpec,
  type StoredEvent,
  type SuspensionReason,
  type VirtualAddress,
} from '@fairlead/contracts';
import { attemptWords, publishedServer, replacementIn, pauseAfter, type ClusterPause } from '@fairlead/domain';
import type { Projection } from '@fairlead/event-sourcing';
import { clusterKey } from '../common/cluster.address.js';
import type { ConditionFacts } from '../conditions/condition.facts.js';
import { phaseAfter } from '../lifecycle/cluster.phase.js';
import { HELD_EVENTS, heldAfter, type HeldHooks } from '../lifecycle/held.hooks.js';
import { addonsAfter, addonsOf, isAboutAddons, type AddonsDoc } from './addons.evolve.js';
import { identityDocAfter, type IdentityDoc } from './identity.evolve.js';
import { publicationDocAfter, type PublicationDoc } from './publication.evolve.js';
import { leaseDocAfter, type LeaseDoc } from './lease.evolve.js';
import { backupsAfter, isAboutBackups, type BackupsDoc } from './backups.evolve.js';

/** What is true of a cluster, with the time since when. */
export const MARKS = ['accepted', 'machines', 'controlPlane', 'network', 'ready'] as const;
export type Mark = (typeof MARKS)[number];

/** A cluster, without its nodes: they are rows of their own, so that this one stays small. */
export interface ClusterDoc {
  readonly namespace: string;
  readonly name: string;
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
  readonly phase: ClusterPhase;
  readonly reason: string;
  readonly message: string;
  readonly leader: string;
  readonly endpoint: string;
  readonly createdAt: string;
  readonly changedAt: string;
  readonly marks: { readonly [M in Mark]?: string };
  /** Absent or null: it is not paused. */
  readonly pause?: ClusterPause | null;
  /** When it was last resumed; absent: never. */
  readonly resumedAt?: string;
  /** Absent: no pool has a health check. */
  readonly health?: Health;
  /** Absent: no snapshots of etcd are taken by schedule. */
  readonly backups?: BackupsDoc;
  /** Absent: nothing was ever amiss. */
  readonly presence?: Presence;
  /** What is wrong with etcd, and since when; absent: nothing. */
  readonly etcdProblems?: NonNullable<ConditionFacts['etcdProblems']>;
  /** What is declared and could not be applied in Kubernetes; absent: nothing. */
  readonly unapplied?: NonNullable<ConditionFacts['unapplied']>;
  /** Absent: its request is from an earlier release. */
  readonly addons?: AddonsDoc;
  /** Declared; absent: none. */
  readonly virtualAddresses?: readonly VirtualAddress[];
  /** Its limited lifetime; absent: it has no end. */
  readonly lease?: LeaseDoc;
  /** Its client at an identity realm; absent: it has nothing to do with one. */
  readonly identity?: IdentityDoc;
  /** Its names at the tunnel; absent: it is not published. */
  readonly publication?: PublicationDoc;
  /** Hooks that hold a step, by point, node and name; absent: none is declared. */
  readonly hooks?: NonNullable<HeldHooks>;
  /** The hooks that name a secret, since they were declared; absent: none does. */
  readonly signed?: { readonly since: string; readonly hooks: readonly SignedHook[] };
  /** RFC 3339: when a hook last let go; absent: none has. */
  readonly hooksLetGoAt?: string;
  /** Its creation failed, and what was created is being deleted, or is gone: only this record is left. Absent: neither. */
  readonly cleanup?: 'running' | 'done';
}

/** A hook that names a secret. */
export interface SignedHook {
  readonly name: string;
  readonly secretName: string;
}

/** Pools of which no node is remediated, although one is unhealthy. */
export interface Health {
  readonly since: string;
  readonly suspended: Readonly<
    Record<string, { readonly reason: SuspensionReason; readonly message: string; readonly since: string }>
  >;
}

/** Nodes that Kubernetes lacks, and Nodes that it has without a machine: since when, by name. */
export interface Presence {
  readonly missing: Readonly<Record<string, string>>;
  readonly strangers: Readonly<Record<string, string>>;
  /** When that last changed. */
  readonly since: string;
}

const begin = (event: StoredEvent<'ClusterRequested'>): ClusterDoc => ({
  namespace: event.meta.namespace,
  name: event.meta.cluster,
  uid: event.data.uid,
  spec: event.data.spec,
  phase: 'Pending',
  reason: '',
  message: '',
  leader: '',
  endpoint: '',
  createdAt: event.meta.time,
  changedAt: event.meta.time,
  marks: {},
  addons: addonsOf(event.data.spec, event.meta.time),
});

/** What stays of a cluster whose creation failed once all that was created is deleted: what was requested, and why it failed. */
const recordOf = (
  { namespace, name, uid, spec, reason, message, createdAt }: ClusterDoc,
  changedAt: string,
): ClusterDoc => ({
  ...{ namespace, name, uid, spec, reason, message, createdAt, changedAt },
  ...{ phase: 'Failed', leader: '', endpoint: '', marks: {}, cleanup: 'done' },
});

const withoutRecord = ({ cleanup, ...doc }: ClusterDoc): ClusterDoc | undefined =>
  cleanup === 'running' ? doc : undefined;

type StepFailed = StoredEvent<'InfrastructureStepFailed' | 'BootstrapStepFailed'>;

const attemptSentence = ({ data }: StepFailed): string => `${sentenceOf(data.cause)} (${attemptWords(data)})`;

const DELETION_REASON = 'MachineDeletionFailed';
const STORAGE_REASON = 'StorageClassFailed';

const deletionSentence = ({ data }: StoredEvent<'VmDeletionFailed'>): string => {
  const what = data.machines.length === 0 ? 'the load balancer' : data.machines.join(', ');
  const attempts = attemptWords({ ...data, attemptsMax: data.attempt });
  return `${what} could not be deleted: ${sentenceOf(data.cause)} (${attempts})`;
};

const marked = (doc: ClusterDoc, mark: Mark, time: string): ClusterDoc => ({
  ...doc,
  // What moves on has got over its latest failed attempt.
  message: '',
  marks: { ...doc.marks, [mark]: time },
});

const leaderOf = (event: StoredEvent<'VmsPlanned'>): string | undefined =>
  event.data.machines.find((machine) => machine.leader)?.name;

const withoutMark = ({ marks: { ready: _ready, ...marks }, ...doc }: ClusterDoc): ClusterDoc => ({ ...doc, marks });

const withChecks = (doc: ClusterDoc, { controlPlane, pools }: DeclaredSpec, since: string): ClusterDoc => {
  const { health = { since, suspended: {} }, ...others } = doc;
  return [controlPlane, ...pools].some((pool) => pool.health !== undefined) ? { ...others, health } : others;
};

const withAddresses = (doc: ClusterDoc, { virtualAddresses }: DeclaredSpec): ClusterDoc => {
  const { virtualAddresses: _before, ...others } = doc;
  return virtualAddresses === undefined ? others : { ...others, virtualAddresses };
};

const withOnFailure = (doc: ClusterDoc, { onFailure }: DeclaredSpec): ClusterDoc => {
  const { onFailure: before, ...spec } = doc.spec;
  return before === onFailure ? doc : { ...doc, spec: { ...spec, ...(onFailure === undefined ? {} : { onFailure }) } };
};

const without = <T>(times: Readonly<Record<string, T>>, name: string): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(times).filter(([key]) => key !== name));

/** What the looks at Kubernetes have found. A node that is removed is not missing. */
const changePresence = (doc: ClusterDoc, event: StoredEvent): ClusterDoc => {
  const { time: since } = event.meta;
  const { presence = { missing: {}, strangers: {}, since } } = doc;
  const { missing, strangers } = presence;
  switch (event.type) {
    case 'NodeMissing':
      return { ...doc, presence: { strangers, missing: { ...missing, [event.data.node]: since }, since } };
    case 'NodeReturned':
    case 'NodeRemoved': {
      const { node } = event.data;
      return missing[node] === undefined
        ? doc
        : { ...doc, presence: { strangers, missing: without(missing, node), since } };
    }
    case 'NodeWithoutMachineFound':
      return { ...doc, presence: { missing, strangers: { ...strangers, [event.data.name]: since }, since } };
    case 'NodeWithoutMachineGone':
      return { ...doc, presence: { missing, strangers: without(strangers, event.data.name), since } };
    default:
      return doc;
  }
};

/** What the looks at etcd have found: one that changes began with the first of it. */
const changeEtcd = ({ etcdProblems: before, ...doc }: ClusterDoc, event: StoredEvent): ClusterDoc => {
  switch (event.type) {
    case 'EtcdDegraded': {
      const { problems } = event.data;
      return { ...doc, etcdProblems: { since: before?.since ?? event.meta.time, problems } };
    }
    case 'EtcdRecovered':
    case 'EtcdRestored':
      return doc;
    default:
      return before === undefined ? doc : { ...doc, etcdProblems: before };
  }
};

/** What a step applies that is tried again after a restore and after a change of the manifest; undefined: it applies something else. */
const declaredBy = ({ step, node }: StoredEvent<'BootstrapStepFailed'>['data']): string | undefined =>
  step === 'AuthorizeUsers' ? USERS_ROLES : step === 'SetNodeLabels' && node !== undefined ? labelsOf(node) : undefined;

const USERS_ROLES = 'roles of users';
const labelsOf = (node: string): string => `labels and taints of ${node}`;

const withApplied = (doc: ClusterDoc, what: string): ClusterDoc => {
  const { unapplied: before = {}, ...others } = doc;
  if (before[what] === undefined) return doc;
  const unapplied = without(before, what);
  return Object.keys(unapplied).length === 0 ? others : { ...others, unapplied };
};

/** What is declared, and Kubernetes did not take: the last attempt of each; a retry tries all of it again. */
const withUnapplied = (doc: ClusterDoc, event: StoredEvent): ClusterDoc => {
  switch (event.type) {
    case 'BootstrapStepFailed': {
      const what = declaredBy(event.data);
      if (what === undefined || event.data.nextAttemptAt !== null) return doc;
      const failure = { since: event.meta.time, message: attemptSentence(event) };
      return { ...doc, unapplied: { ...doc.unapplied, [what]: failure } };
    }
    case 'UsersAuthorized':
      return withApplied(doc, USERS_ROLES);
    case 'NodeLabelsSet':
    case 'NodeRemoved':
      return withApplied(doc, labelsOf(event.data.node));
    case 'ClusterRetryRequested': {
      const { unapplied: _tried, ...others } = doc;
      return others;
    }
    default:
      return doc;
  }
};

/** Hooks that hold a step. The time that a step takes does not run meanwhile. */
const withHeld = (doc: ClusterDoc, event: StoredEvent): ClusterDoc => {
  const { hooks: before, ...others } = doc;
  const hooks = heldAfter(before, event);
  if (hooks === before) return doc;
  const count = (held: HeldHooks = {}): number => Object.keys(held).length;
  const letGo = count(hooks) < count(before) ? { hooksLetGoAt: event.meta.time } : {};
  return { ...others, ...letGo, ...(hooks === undefined ? {} : { hooks }) };
};

const withSigned = (
  { signed: before, ...doc }: ClusterDoc,
  { hooks = [] }: DeclaredSpec,
  since: string,
): ClusterDoc => {
  const signed = hooks.flatMap(({ name, secretName }) => (secretName === undefined ? [] : [{ name, secretName }]));
  if (signed.length === 0) return doc;
  const words = (hooksOf: readonly SignedHook[]): string =>
    hooksOf.map((one) => `${one.name} ${one.secretName}`).join();
  const isSame = before !== undefined && words(before.hooks) === words(signed);
  return { ...doc, signed: isSame ? before : { since, hooks: signed } };
};

const specChanged = (doc: ClusterDoc, spec: DeclaredSpec, time: string): ClusterDoc =>
  withOnFailure(withSigned(withAddresses(withChecks(doc, spec, time), spec), spec, time), spec);

const changeHealth = (doc: ClusterDoc, event: StoredEvent): ClusterDoc => {
  const { time } = event.meta;
  const { health = { since: time, suspended: {} } } = doc;
  switch (event.type) {
    case 'ClusterSpecChanged':
      return specChanged(doc, event.data.spec, time);
    case 'RemediationSuspended': {
      const { pool, reason } = event.data;
      const suspension = { reason, message: suspensionSentence(pool, event.data), since: time };
      return { ...doc, health: { ...health, suspended: { ...health.suspended, [pool]: suspension } } };
    }
    case 'RemediationResumed': {
      const { [event.data.pool]: _over, ...suspended } = health.suspended;
      return doc.health === undefined ? doc : { ...doc, health: { since: time, suspended } };
    }
    default:
      return doc;
  }
};

const withLease = (doc: ClusterDoc, event: StoredEvent): ClusterDoc => {
  const { lease: before, ...others } = doc;
  const lease = leaseDocAfter(before, event);
  if (lease === before) return doc;
  return lease === undefined ? others : { ...others, lease };
};

const withIdentity = (doc: ClusterDoc, event: StoredEvent): ClusterDoc => {
  const { identity: before, ...others } = doc;
  const identity = identityDocAfter(before, event);
  if (identity === before) return doc;
  return identity === undefined ? others : { ...others, identity };
};

const withPublication = (doc: ClusterDoc, event: StoredEvent): ClusterDoc => {
  const publication = publicationDocAfter(doc.publication, event);
  return publication === undefined || publication === doc.publication ? doc : { ...doc, publication };
};

const withBackups = (doc: ClusterDoc, event: StoredEvent): ClusterDoc => {
  const { backups: before, ...others } = doc;
  const backups = backupsAfter(before, event);
  if (backups === before) return doc;
  return backups === undefined ? others : { ...others, backups };
};

const withAddons = (doc: ClusterDoc, event: StoredEvent): ClusterDoc => {
  if (doc.addons === undefined) return doc;
  const addons = addonsAfter(doc.addons, event);
  return addons === doc.addons ? doc : { ...doc, addons };
};

/** What is only about addons leaves the rest as it is, but for a storage class: that a cluster lacks it is why it is not whole. */
const addonsChanged = (doc: ClusterDoc, event: StoredEvent): ClusterDoc => {
  const changed = withAddons(doc, event);
  if (event.type !== 'AddonInstalled' || reasonCodeOf(doc.reason) !== STORAGE_REASON) return changed;
  return { ...changed, reason: '', message: '' };
};

const change = (doc: ClusterDoc, event: StoredEvent): ClusterDoc => {
  const { time } = event.meta;
  switch (event.type) {
    case 'ClusterAccepted':
      return marked(doc, 'accepted', time);
    case 'ClusterRejected':
      return { ...doc, reason: event.data.code, message: event.data.message };
    case 'VmsPlanned':
      return { ...doc, leader: leaderOf(event) ?? doc.leader };
    case 'InitialControlPlaneChanged':
      return { ...doc, leader: event.data.to };
    case 'VmsCreated':
      return marked(doc, 'machines', time);
    case 'LoadBalancerReady':
      return doc.publication?.has.reserved === undefined
        ? { ...doc, endpoint: `https://${event.data.host}:${event.data.port}` }
        : doc;
    case 'EndpointReserved':
      return { ...doc, endpoint: publishedServer(event.data) };
    case 'ControlPlaneReady':
      return marked(doc, 'controlPlane', time);
    case 'NetworkReady':
      return marked(doc, 'network', time);
    case 'ClusterReady':
      return { ...marked(doc, 'ready', time), reason: '' };
    case 'InfrastructureStepFailed':
      return { ...doc, message: attemptSentence(event) };
    case 'BootstrapStepFailed': {
      const reason = event.data.step === 'InstallStorage' ? STORAGE_REASON : doc.reason;
      return { ...doc, reason, message: attemptSentence(event) };
    }
    case 'InfrastructureFailed':
      return { ...doc, reason: event.data.reason, message: sentenceOf(event.data.cause) };
    case 'ClusterFailed':
      return { ...withoutMark(doc), reason: event.data.reason, message: sentenceOf(event.data.cause) };
    case 'VmsFailed':
    case 'NodesFailed':
      return { ...doc, reason: event.data.reason, message: sentenceOf(event.data.cause) };
    case 'VmDeletionFailed':
      return { ...doc, reason: event.data.reason, message: deletionSentence(event) };
    case 'PoolRolloutFailed':
      return { ...doc, message: `the rollout of pool ${event.data.pool} has stopped: ${sentenceOf(event.data.cause)}` };
    case 'NodesRequested':
    case 'PoolRolloutRequested':
    case 'NodesAbandoned':
      return { ...doc, reason: '', message: '' };
    case 'VmDeleted':
      return reasonCodeOf(doc.reason) === DELETION_REASON ? { ...doc, reason: '', message: '' } : doc;
    case 'ClusterRetryRequested': {
      const { spec = doc.spec } = event.data.correction ?? {};
      return { ...(doc.phase === 'Provisioned' ? doc : withoutMark(doc)), spec, reason: '', message: '' };
    }
    case 'ClusterPaused':
      return { ...doc, pause: pauseAfter(doc.pause ?? null, event) };
    case 'ClusterResumed':
      return { ...doc, pause: null, resumedAt: time };
    case 'ClusterDeletionRequested':
      // Why the creation failed is shown until the cluster is gone.
      return event.data.failure === undefined
        ? { ...withoutMark(doc), reason: '', message: '' }
        : { ...withoutMark(doc), ...event.data.failure, cleanup: 'running' };
    default:
      return replacementIn(event) === undefined
        ? changeEtcd(changePresence(changeHealth(withBackups(doc, event), event), event), event)
        : { ...doc, reason: '', message: '' };
  }
};

const CHANGING: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ClusterRequested',
  'ClusterAccepted',
  'ClusterRejected',
  'VmsPlanned',
  'InitialControlPlaneChanged',
  'VmsCreated',
  'LoadBalancerReady',
  'ControlPlaneReady',
  'NetworkReady',
  'ClusterReady',
  'InfrastructureStepFailed',
  'BootstrapStepFailed',
  'InfrastructureFailed',
  'ClusterFailed',
  'VmsFailed',
  'NodesFailed',
  'VmDeletionFailed',
  'NodesRequested',
  'PoolRolloutRequested',
  'PoolRolloutFailed',
  'NodesAbandoned',
  'ClusterRetryRequested',
  'UsersAuthorized',
  'NodeLabelsSet',
  'ClusterPaused',
  'ClusterResumed',
  'RemediationSuspended',
  'RemediationResumed',
  ...HELD_EVENTS,
  'NodeMissing',
  'NodeReturned',
  'NodeWithoutMachineFound',
  'NodeWithoutMachineGone',
  'EtcdDegraded',
  'EtcdRecovered',
  'EtcdRestored',
  'ClusterDeleted',
  'ClusterRecordDeleted',
  'ClusterExpiring',
  'ReservationConfirmed',
  'ReservationActivated',
  'ReservationDenied',
  'ReservationReleased',
  'IdentityBlocked',
  'IdentityRequested',
  'IdentityReady',
  'IdentityReleased',
  'EndpointBlocked',
  'EndpointReserved',
  'EndpointAvailable',
  'EndpointUnavailable',
  'EndpointReleased',
  'PublishedServicesFound',
  'ServicesPublished',
  'PublishedServiceAvailable',
  'PublishedServiceUnavailable',
]);

/** Facts about single nodes, most of which change nothing of the cluster. */
const SELDOM_CHANGING: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'VmDeleted',
  'NodeRemoved',
  'NodeRemovalCancelled',
  'UsersAuthorized',
  'NodeLabelsSet',
  'NodeActionCordoned',
  'NodeActionSucceeded',
  'NodeActionFailed',
  'NodeActionVoided',
]);

const isChanging = (event: StoredEvent): boolean =>
  CHANGING.has(event.type) || isAboutBackups(event) || isAboutAddons(event) || replacementIn(event) !== undefined;

/** One row per cluster that exists. Facts about single nodes do not touch it. */
export const clustersProjection: Projection<ClusterDoc> = {
  name: 'clusters',
  table: 'clusters',

  keys: (event) => (isChanging(event) ? [clusterKey(event.meta.namespace, event.meta.cluster)] : []),

  evolve: (doc, event) => {
    if (event.type === 'ClusterRequested') return withLease(begin(event), event);
    if (doc === undefined || !('uid' in event.data) || event.data.uid !== doc.uid) return doc;
    if (event.type === 'ClusterRecordDeleted') return withoutRecord(doc);
    if (doc.cleanup === 'done') return doc;
    if (event.type === 'ClusterDeleted') return doc.cleanup === undefined ? undefined : recordOf(doc, event.meta.time);
    if (isAboutBackups(event)) return withBackups(doc, event);
    if (isAboutAddons(event)) return addonsChanged(doc, event);
    const changed = change(
      withUnapplied(
        withAddons(withPublication(withIdentity(withLease(withHeld(doc, event), event), event), event), event),
        event,
      ),
      event,
    );
    if (SELDOM_CHANGING.has(event.type) && changed === doc) return doc;
    return { ...changed, phase: phaseAfter(doc.phase, event), changedAt: event.meta.time };
  },
};

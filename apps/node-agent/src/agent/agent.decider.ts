import type { ClusterUid, NodeName, SoftwareVersions } from '@fairlead/contracts';
import type { AgentFact } from '../node/agent.facts.js';
import type { Difference } from '../node/difference.js';

/** The status of the node, derived from the agent's own facts. */
export type Standing =
  /** Nothing was stated yet: the agent may make any change. */
  | { readonly status: 'new' }
  /** In the desired state; Kubernetes has not reported it Ready since. */
  | { readonly status: 'initialized'; readonly revision: number }
  | { readonly status: 'ready'; readonly revision: number }
  /** In the desired state, but Kubernetes reports that it is not Ready. */
  | { readonly status: 'not-ready'; readonly revision: number }
  /** NodeNotReady announced a change of its software, which is not complete. */
  | { readonly status: 'changing'; readonly revision: number };

export interface Reported {
  readonly standing: Standing;
  readonly software: SoftwareVersions | null;
  readonly bootId: string | null;
  /** The last reported failure. */
  readonly failure: { readonly item: string; readonly message: string; readonly attempt: number } | null;
  /** The differences of the last NodeDiverged, as text to compare. */
  readonly divergence: string | null;
}

export const NOTHING_REPORTED: Reported = {
  standing: { status: 'new' },
  software: null,
  bootId: null,
  failure: null,
  divergence: null,
};

export interface ItemFailure {
  readonly item: string;
  readonly command: string;
  readonly message: string;
  /** Consecutive failures, including this one. */
  readonly attempt: number;
}

export interface DesiredState {
  readonly revision: number;
  readonly software: SoftwareVersions;
  readonly changesAllowed: boolean;
  /** The fact of the agent that ends this permission; absent: it lasts until withdrawn. */
  readonly changesAllowedUntil?: 'NodeReady' | undefined;
  /** The request that permits repairs without a drain; absent: none. */
  readonly repair?: string | undefined;
}

/** Everything that a decision depends on, as observed by the shell. */
export interface Observation {
  readonly uid: ClusterUid;
  readonly node: NodeName;
  readonly desired: DesiredState;
  readonly differences: readonly Difference[];
  /**
   * Whether the differences follow from a new revision or have lasted; if false, they are checked again before they are
   * reported.
   */
  readonly confirmed: boolean;
  /** The installed versions of the desired packages. */
  readonly software: SoftwareVersions;
  readonly os: string;
  readonly kernel: string;
  readonly bootId: string;
  /** When that boot began, by the clock of the host. */
  readonly bootedAt: string;
  /** What the agent changed since its last NodeInitialized. */
  readonly changed: readonly string[];
  readonly failure: ItemFailure | undefined;
  readonly kubernetes:
    { readonly ready: boolean; readonly message: string; readonly kubeletVersion: string } | undefined;
  /** Whether Kubernetes has reported the node Ready for long enough; false if it may change again. */
  readonly steady: boolean;
}

const sameVersions = (a: SoftwareVersions, b: SoftwareVersions): boolean => {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
};

const divergenceOf = (revision: number, differences: readonly Difference[]): string =>
  [
    revision,
    ...differences.map(({ item, what, observed, desired }) => `${item}/${what}: ${observed} -> ${desired}`),
  ].join('\n');

/** Lists the changes by package; the ID of a change is omitted unless nothing else is known. */
const sentence = (differences: readonly Difference[]): string => {
  const named = differences.filter(({ item }) => item !== 'change');
  if (named.length === 0) return 'a change of the node begins';
  const words = named.map(
    ({ item, what, observed, desired }) => `${what === 'service' ? item : what} ${observed} to ${desired}`,
  );
  return `changing ${words.join(', ')}`;
};

export const revisionOf = (standing: Standing): number => (standing.status === 'new' ? 0 : standing.revision);

/** Whether the node is neither changing its software nor waiting to. */
export const isAgentReady = ({ standing }: Reported): boolean =>
  standing.status === 'initialized' || standing.status === 'ready' || standing.status === 'not-ready';

const hasBeenReady = ({ standing }: Reported): boolean =>
  standing.status === 'ready' || standing.status === 'not-ready';

/** Whether the agent is permitted to change the node. */
export const mayChange = (
  reported: Reported,
  { changesAllowed, changesAllowedUntil }: Pick<DesiredState, 'changesAllowed' | 'changesAllowedUntil'>,
): boolean => changesAllowed && !(changesAllowedUntil === 'NodeReady' && hasBeenReady(reported));

/**
 * Whether the agent may repair differences while the node stays Ready. The permission ends with the NodeReady of its
 * revision.
 */
export const mayRepair = ({ standing }: Reported, { desired, differences }: Observation): boolean =>
  desired.repair !== undefined &&
  standing.status !== 'new' &&
  standing.status !== 'changing' &&
  standing.revision !== desired.revision &&
  differences.every(({ needsDrain }) => needsDrain !== true);

/** A persistent failure is reported at attempts 1, 2, 4, 8, ...; a different failure at once. */
const isWorthReporting = ({ failure: last }: Reported, { item, message, attempt }: ItemFailure): boolean => {
  if (last === null || last.item !== item || last.message !== message) return true;
  return attempt > last.attempt && Number.isInteger(Math.log2(attempt));
};

/** Whether the next fact announces a change of the node, so that the node must not become Ready briefly before it. */
const isAboutToChange = (reported: Reported, seen: Observation): boolean =>
  seen.differences.length > 0 && seen.failure === undefined && seen.confirmed && mayChange(reported, seen.desired);

const whenDiverged = (reported: Reported, seen: Observation): readonly AgentFact[] => {
  const { uid, node, desired, differences } = seen;
  const { revision } = desired;
  // A restarting service or a booting host differs briefly, which must not take the node down.
  if (!seen.confirmed && isAgentReady(reported)) return [];
  if (!mayChange(reported, desired)) {
    if (mayRepair(reported, seen)) return [];
    if (reported.divergence === divergenceOf(revision, differences)) return [];
    return [{ type: 'NodeDiverged', data: { uid, node, revision, differences: [...differences] } }];
  }
  // A node that has reported must be stated as not ready before it is changed; a new one runs no workloads yet.
  if (!isAgentReady(reported)) return [];
  return [
    { type: 'NodeNotReady', data: { uid, node, revision, reason: 'SoftwareChange', message: sentence(differences) } },
  ];
};

const isReadyAtVersion = ({ kubernetes, desired }: Observation): boolean => {
  if (kubernetes?.ready !== true) return false;
  const kubelet = desired.software['kubelet'];
  return kubelet === undefined || kubernetes.kubeletVersion === `v${kubelet}`;
};

/** A version was changed that is not reported yet. */
const versionsChanged = ({ software: before }: Reported, { uid, node, software }: Observation): readonly AgentFact[] =>
  before === null || sameVersions(before, software)
    ? []
    : [{ type: 'VersionChanged', data: { uid, node, before, after: software } }];

/**
 * Kubernetes' readiness counts regardless of other differences and failures: problems of the host neither hide a node
 * that is down nor keep down one that is back. A node that is back has reached the same revision as before, unless it
 * is in the desired state now.
 */
const readinessChanged = (reported: Reported, seen: Observation): readonly AgentFact[] => {
  const { uid, node, software, kubernetes } = seen;
  const { standing } = reported;
  if (standing.status === 'ready' && kubernetes?.ready === false) {
    const { revision } = seen.desired;
    const { message } = kubernetes;
    return [{ type: 'NodeNotReady', data: { uid, node, revision, reason: 'KubernetesNotReady', message } }];
  }
  if (standing.status !== 'not-ready' || kubernetes?.ready !== true || !seen.steady) return [];
  if (isAboutToChange(reported, seen)) return [];
  const changed = versionsChanged(reported, seen);
  if (changed.length > 0) return changed;
  const isReached = seen.differences.length === 0 && seen.failure === undefined && isReadyAtVersion(seen);
  const revision = isReached ? seen.desired.revision : standing.revision;
  return [{ type: 'NodeReady', data: { uid, node, revision, software } }];
};

const whenAsDesired = ({ standing, divergence }: Reported, seen: Observation): readonly AgentFact[] => {
  const { uid, node, software, os, kernel, bootId } = seen;
  const { revision } = seen.desired;
  const initialized: AgentFact = {
    type: 'NodeInitialized',
    data: { uid, node, revision, software, os, kernel, bootId, changed: [...seen.changed] },
  };
  const ready: AgentFact = { type: 'NodeReady', data: { uid, node, revision, software } };
  switch (standing.status) {
    case 'new':
    case 'changing':
      return [initialized];
    case 'initialized':
      if (standing.revision !== revision) return [initialized];
      return isReadyAtVersion(seen) ? [ready] : [];
    // Ends only when Kubernetes reports Ready.
    case 'not-ready':
      return [];
    case 'ready':
      // A new revision is stated even if it changes nothing, so that upgrade-svc sees that it is reached. So is the end
      // of a difference, whoever resolved it.
      return (standing.revision !== revision || divergence !== null) && isReadyAtVersion(seen) ? [ready] : [];
  }
};

/** States a boot since the last boot that the agent stated. */
export const booted = (
  reported: Reported,
  { uid, node, bootId, bootedAt }: Pick<Observation, 'uid' | 'node' | 'bootId' | 'bootedAt'>,
): readonly AgentFact[] =>
  reported.bootId === null || reported.bootId === bootId
    ? []
    : [{ type: 'NodeRebooted', data: { uid, node, bootIdBefore: reported.bootId, bootId, bootedAt } }];

/**
 * Returns the facts that the agent must state now. Idempotent: once they are stated, the same observation yields none.
 */
export const decide = (reported: Reported, seen: Observation): readonly AgentFact[] => {
  const { uid, node } = seen;
  const boot = booted(reported, seen);
  if (boot.length > 0) return boot;
  const readiness = readinessChanged(reported, seen);
  if (readiness.length > 0) return readiness;
  if (seen.failure !== undefined) {
    if (!isWorthReporting(reported, seen.failure)) return [];
    const { revision } = seen.desired;
    return [{ type: 'NodeInitializationFailed', data: { uid, node, revision, ...seen.failure } }];
  }
  const changed = versionsChanged(reported, seen);
  if (changed.length > 0) return changed;
  return seen.differences.length > 0 ? whenDiverged(reported, seen) : whenAsDesired(reported, seen);
};

const reportedFailure = ({ item, message, attempt }: ItemFailure): NonNullable<Reported['failure']> => ({
  item,
  message,
  attempt,
});

export const evolve = (reported: Reported, fact: AgentFact): Reported => {
  switch (fact.type) {
    case 'NodeInitialized': {
      const { revision, software, bootId } = fact.data;
      return { standing: { status: 'initialized', revision }, software, bootId, failure: null, divergence: null };
    }
    case 'NodeReady': {
      const { revision, software } = fact.data;
      return { ...reported, standing: { status: 'ready', revision }, software, failure: null, divergence: null };
    }
    case 'NodeNotReady': {
      const revision = revisionOf(reported.standing);
      const status = fact.data.reason === 'SoftwareChange' ? 'changing' : 'not-ready';
      return { ...reported, standing: { status, revision } };
    }
    case 'NodeInitializationFailed':
      return { ...reported, failure: reportedFailure(fact.data) };
    case 'NodeDiverged':
      return { ...reported, divergence: divergenceOf(fact.data.revision, fact.data.differences) };
    case 'VersionChanged':
      return { ...reported, software: fact.data.after };
    case 'NodeRebooted':
      return { ...reported, bootId: fact.data.bootId };
    // Other parts of the agent state these; they do not affect the node's standing.
    case 'NodeChangeProgressed':
    case 'CertificatesReported':
    case 'ProbeFailed':
    case 'ProbeRecovered':
    case 'NodeAddressesReported':
    case 'VirtualAddressesProbed':
    case 'ApiAddressProbed':
    case 'NodeNetworkApplied':
    case 'NodeNetworkFailed':
      return reported;
  }
};

import {
  compareVersions,
  durationMs,
  type Finding,
  type FindingCode,
  isMinorChange,
  minorOf,
  minorsAhead,
  newestVersion,
  parseVersion,
  SNAPSHOT_MAX_AGE_DEFAULT,
  type NodeName,
} from '@fairlead/contracts';
import type { ClusterFacts, EtcdFacts, EtcdMemberFacts, NodeFacts } from './cluster.facts.js';
import { finding, when as whenFound } from './finding.js';

/** A member that does not respond has none. */
export const hasVersion = (text: string): boolean => parseVersion(text) !== undefined;

const DB_SHARE_MAX = 0.8;
/** Log entries; a healthy follower is only a few behind while requests arrive. */
const BEHIND_MAX = 1_000;

const troubleOf = ({ started, healthy, learner, behind }: EtcdMemberFacts): string | undefined => {
  if (!started) return 'has not started';
  if (!healthy) return 'is not healthy';
  if (learner) return 'is still a learner';
  if (behind > BEHIND_MAX) return `is ${behind} entries behind its leader`;
  return undefined;
};

/** A finding with its code, which identifies it within its rule. */
export interface EtcdFound {
  readonly code: Extract<FindingCode, `B3.${string}`>;
  readonly finding: Finding;
}

const when = (holds: boolean, code: EtcdFound['code'], found: () => Finding): readonly EtcdFound[] =>
  holds ? [{ code, finding: found() }] : [];

const b3Orphans = ({ members }: EtcdFacts, controlPlanes: readonly NodeName[]): readonly EtcdFound[] => {
  // A member that has not started is a separate finding.
  const orphans = members
    .filter(({ node, started }) => started && (node === null || !controlPlanes.includes(node)))
    .map(({ name }) => name);
  const without = controlPlanes.filter((name) => !members.some(({ node }) => node === name));
  return [
    ...when(orphans.length > 0, 'B3.orphans', () => finding('B3.orphans', { orphans })),
    ...when(without.length > 0, 'B3.without-member', () => finding('B3.without-member', { nodes: without })),
  ];
};

/** Every member with an older version is on a control plane that the plan upgrades. */
const isCompletedBy = ({ members }: EtcdFacts, upgraded: readonly NodeName[]): boolean => {
  const newest = newestVersion(members.map(({ version }) => version));
  return members.every(
    ({ node, version }) => !hasVersion(version) || version === newest || (node !== null && upgraded.includes(node)),
  );
};

interface EtcdAndNodes {
  readonly etcd: EtcdFacts | null;
  readonly nodes: readonly Pick<NodeFacts, 'name' | 'role'>[];
}

/**
 * `upgraded`: control planes whose version the plan changes. B3: all members started, healthy, no learner, no alarm,
 * same version, free space in the database, not exactly two members, no orphans.
 */
export const b3EtcdHealthy = (facts: EtcdAndNodes, upgraded: readonly NodeName[] = []): readonly Finding[] =>
  b3Found(facts, upgraded).map(({ finding: found }) => found);

/** The same findings with their codes. */
export const b3Found = (facts: EtcdAndNodes, upgraded: readonly NodeName[] = []): readonly EtcdFound[] => {
  const { etcd } = facts;
  if (etcd === null) return [];
  const ghosts = etcd.members.filter(({ started, node }) => !started && node === null);
  const sick = etcd.members.flatMap((member) => {
    if (ghosts.includes(member)) return [];
    const trouble = troubleOf(member);
    return trouble === undefined ? [] : [`${member.name} ${trouble}`];
  });
  // A member that does not respond has no version to compare. After an upgrade that ended early, the next one upgrades
  // the remaining members.
  const versions = [...new Set(etcd.members.flatMap(({ version }) => (hasVersion(version) ? [version] : [])))];
  const largest = Math.max(0, ...etcd.members.map(({ dbBytes }) => dbBytes));
  const share = largest / etcd.quotaBytes;
  const controlPlanes = facts.nodes.filter(({ role }) => role === 'control-plane').map(({ name }) => name);
  const alarms = etcd.alarms.map(({ alarm, member }) => `${alarm} on ${member}`);
  return [
    ...when(sick.length > 0, 'B3.members', () => finding('B3.members', { members: sick })),
    ...ghosts.flatMap(({ name, id }) =>
      when(true, 'B3.not-started', () => finding('B3.not-started', { member: name, id })),
    ),
    ...when(alarms.length > 0, 'B3.alarms', () => finding('B3.alarms', { alarms })),
    ...when(versions.length > 1 && !isCompletedBy(etcd, upgraded), 'B3.versions', () =>
      finding('B3.versions', { versions }),
    ),
    ...when(share > DB_SHARE_MAX, 'B3.space', () =>
      finding(
        'B3.space',
        { dbBytes: largest, quotaBytes: etcd.quotaBytes, shareMax: DB_SHARE_MAX },
        { percent: Math.round(share * 100) },
      ),
    ),
    ...when(etcd.members.length === 2, 'B3.two-members', () => finding('B3.two-members', { members: 2 })),
    ...b3Orphans(etcd, controlPlanes),
  ];
};

const SNAPSHOT_AGE_MAX_MS = durationMs(SNAPSHOT_MAX_AGE_DEFAULT);

/**
 * B4: a snapshot younger than 15 minutes is stored outside the node. A plan that starts with a snapshot satisfies it.
 */
export const b4FreshSnapshot = (facts: ClusterFacts, planTakesOne: boolean): readonly Finding[] => {
  const age = facts.snapshot === null ? null : Date.parse(facts.at) - Date.parse(facts.snapshot.at);
  const seen = { snapshot: facts.snapshot?.name ?? null, ageMs: age, ageMaxMs: SNAPSHOT_AGE_MAX_MS };
  return whenFound(!planTakesOne && (age === null || age > SNAPSHOT_AGE_MAX_MS), () =>
    age === null ? finding('B4.none', seen) : finding('B4.old', seen, { minutes: Math.round(age / 60_000) }),
  );
};

interface EtcdMinorStep {
  readonly to: string;
  /** The minimum version of every member. */
  readonly memberMin: string;
  readonly v2StoreClean: boolean;
}

/** etcd.io, upgrade guides to 3.6 and 3.7. */
const ETCD_STEPS: readonly EtcdMinorStep[] = [
  { to: '3.6', memberMin: '3.5.32', v2StoreClean: true },
  { to: '3.7', memberMin: '3.6.11', v2StoreClean: false },
];

/** B10: etcd is upgraded one minor at a time, and only from a version listed in its upgrade guide. */
export const b10EtcdMinor = (etcd: EtcdFacts | null, from: string, to: string): readonly Finding[] => {
  if (!isMinorChange(from, to)) return [];
  const ahead = minorsAhead(from, to);
  if (ahead !== 1) return [finding('B10.minors', { from, to })];
  const step = ETCD_STEPS.find((one) => one.to === minorOf(to));
  if (step === undefined || etcd === null) return [];
  // Members that an earlier step of the path upgrades are checked with the release of that step, not with their current
  // version.
  const old = etcd.members.filter(
    ({ version }) =>
      hasVersion(version) && minorOf(version) === minorOf(from) && compareVersions(version, step.memberMin) < 0,
  );
  return [
    ...whenFound(old.length > 0, () =>
      finding(
        'B10.member-version',
        { members: old.map(({ name, version }) => ({ name, version })), memberMin: step.memberMin },
        { to: step.to, older: old.map(({ name, version }) => `${name} ${version}`).join(', ') },
      ),
    ),
  ];
};

/** B10: the etcd minor without a v2 store loses v2 data, whichever step of the path installs it. */
export const b10V2Store = (etcd: EtcdFacts | null, from: string, to: string): readonly Finding[] => {
  const step = isMinorChange(from, to) ? ETCD_STEPS.find((one) => one.to === minorOf(to)) : undefined;
  if (etcd === null || step?.v2StoreClean !== true) return [];
  const dirty = etcd.members.filter(({ v2StoreClean }) => v2StoreClean === false);
  return [...whenFound(dirty.length > 0, () => finding('B10.v2-store', { members: dirty.map(({ name }) => name) }))];
};

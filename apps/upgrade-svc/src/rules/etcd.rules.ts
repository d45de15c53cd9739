import { compareVersions, type Finding, isMinorChange, minorOf, minorsAhead, type NodeName } from '@fairlead/contracts';
import type { ClusterFacts, EtcdFacts, EtcdMemberFacts, NodeFacts } from './cluster.facts.js';
import { refusing, when } from './finding.js';

const DB_SHARE_MAX = 0.8;
/** Log entries; a member that follows the leader is a handful behind while requests come in. */
const BEHIND_MAX = 1_000;

const troubleOf = ({ started, healthy, learner, behind }: EtcdMemberFacts): string | undefined => {
  if (!started) return 'has not started';
  if (!healthy) return 'is not healthy';
  if (learner) return 'is still learning';
  if (behind > BEHIND_MAX) return `is ${behind} entries behind its leader`;
  return undefined;
};

const b3Refusal = (sentence: string, facts: Readonly<Record<string, unknown>>, help: string): Finding =>
  refusing('B3', { sentence, facts, help });

const b3Orphans = ({ members }: EtcdFacts, controlPlanes: readonly NodeName[]): readonly Finding[] => {
  const orphans = members.filter(({ node }) => node === null || !controlPlanes.includes(node)).map(({ name }) => name);
  const without = controlPlanes.filter((name) => !members.some(({ node }) => node === name));
  return [
    ...when(orphans.length > 0, () =>
      b3Refusal(
        `members of etcd without a control plane: ${orphans.join(', ')}`,
        { orphans },
        'Remove them from etcd ("etcdctl member remove"), after a look at what they were.',
      ),
    ),
    ...when(without.length > 0, () =>
      b3Refusal(
        `control planes without a member of etcd: ${without.join(', ')}`,
        { nodes: without },
        'Remove these nodes, or let them join again.',
      ),
    ),
  ];
};

/** B3: all members started, healthy, no learner, no alarm, same version, room in the database, not two of them, no orphans. */
export const b3EtcdHealthy = (facts: {
  readonly etcd: EtcdFacts | null;
  readonly nodes: readonly Pick<NodeFacts, 'name' | 'role'>[];
}): readonly Finding[] => {
  const { etcd } = facts;
  if (etcd === null) return [];
  const sick = etcd.members.flatMap((member) => {
    const trouble = troubleOf(member);
    return trouble === undefined ? [] : [`${member.name} ${trouble}`];
  });
  const versions = [...new Set(etcd.members.map(({ version }) => version))];
  const largest = Math.max(0, ...etcd.members.map(({ dbBytes }) => dbBytes));
  const share = largest / etcd.quotaBytes;
  const controlPlanes = facts.nodes.filter(({ role }) => role === 'control-plane').map(({ name }) => name);
  const alarms = etcd.alarms.map(({ alarm, member }) => `${alarm} on ${member}`);
  return [
    ...when(sick.length > 0, () => b3Refusal(`etcd: ${sick.join('; ')}`, { members: sick }, 'Repair etcd first.')),
    ...when(alarms.length > 0, () =>
      b3Refusal(
        `etcd has alarms: ${alarms.join(', ')}`,
        { alarms },
        'Repair their cause, then "etcdctl alarm disarm"; NOSPACE: compact and defragment.',
      ),
    ),
    ...when(versions.length > 1, () =>
      b3Refusal(`members of etcd run ${versions.join(' and ')}`, { versions }, 'End the upgrade of etcd that began.'),
    ),
    ...when(share > DB_SHARE_MAX, () =>
      b3Refusal(
        `etcd's data takes ${Math.round(share * 100)} % of its quota`,
        { dbBytes: largest, quotaBytes: etcd.quotaBytes, shareMax: DB_SHARE_MAX },
        'Compact and defragment etcd, or raise its quota.',
      ),
    ),
    ...when(etcd.members.length === 2, () =>
      b3Refusal(
        'etcd has two members: without either it stands still',
        { members: 2 },
        'Add a control plane, or remove one.',
      ),
    ),
    ...b3Orphans(etcd, controlPlanes),
  ];
};

/** B3: an etcd that no one here can ask is not known to be healthy, and kubeadm exchanges none but its own. */
export const b3ExternalEtcd = ({ externalEtcd }: Pick<ClusterFacts, 'externalEtcd'>): readonly Finding[] =>
  when(externalEtcd, () =>
    b3Refusal(
      'etcd is external: its members run as units of their hosts, where neither their health nor their leader is asked for yet',
      { etcd: 'external' },
      'A cluster with external etcd cannot be changed node by node yet; build a new one of the desired version beside it.',
    ),
  );

const SNAPSHOT_AGE_MAX_MS = 15 * 60_000;

/** B4: a snapshot younger than 15 minutes lies off the node. A plan that begins with taking one satisfies it. */
export const b4FreshSnapshot = (facts: ClusterFacts, planTakesOne: boolean): readonly Finding[] => {
  const age = facts.snapshot === null ? null : Date.parse(facts.at) - Date.parse(facts.snapshot.at);
  return when(!planTakesOne && (age === null || age > SNAPSHOT_AGE_MAX_MS), () =>
    refusing('B4', {
      sentence:
        age === null
          ? 'there is no snapshot of etcd'
          : `the last snapshot of etcd is ${Math.round(age / 60_000)} minutes old`,
      facts: { snapshot: facts.snapshot?.name ?? null, ageMs: age, ageMaxMs: SNAPSHOT_AGE_MAX_MS },
      help: 'Take one: "fairlead etcd snapshot".',
    }),
  );
};

interface EtcdMinorStep {
  readonly to: string;
  /** Every member must run at least this. */
  readonly memberMin: string;
  readonly v2StoreClean: boolean;
}

/** etcd.io, upgrade guides to 3.6 and 3.7. */
const ETCD_STEPS: readonly EtcdMinorStep[] = [
  { to: '3.6', memberMin: '3.5.32', v2StoreClean: true },
  { to: '3.7', memberMin: '3.6.11', v2StoreClean: false },
];

const b10Refusal = (sentence: string, facts: Readonly<Record<string, unknown>>, help: string): Finding =>
  refusing('B10', { sentence, facts, help });

/** B10: etcd goes one minor at a time, and only from a version that its upgrade guide names. */
export const b10EtcdMinor = (etcd: EtcdFacts | null, from: string, to: string): readonly Finding[] => {
  if (!isMinorChange(from, to)) return [];
  const ahead = minorsAhead(from, to);
  if (ahead !== 1)
    return [
      b10Refusal(`etcd would go from ${minorOf(from)} to ${minorOf(to)}`, { from, to }, 'One minor of etcd at a time.'),
    ];
  const step = ETCD_STEPS.find((one) => one.to === minorOf(to));
  if (step === undefined || etcd === null) return [];
  // Members that will be exchanged by an earlier step of the path are judged by that step's release, not by what runs now.
  const old = etcd.members.filter(
    ({ version }) => minorOf(version) === minorOf(from) && compareVersions(version, step.memberMin) < 0,
  );
  return [
    ...when(old.length > 0, () =>
      b10Refusal(
        `etcd ${step.to} needs every member at ${step.memberMin} first: ${old.map(({ name, version }) => `${name} ${version}`).join(', ')}`,
        { members: old.map(({ name, version }) => ({ name, version })), memberMin: step.memberMin },
        'Go to the latest patch of the present Kubernetes minor first, or set a newer etcd image.',
      ),
    ),
  ];
};

/** B10: data of the v2 store are lost by the minor of etcd that has none, whichever step of the path brings it. */
export const b10V2Store = (etcd: EtcdFacts | null, from: string, to: string): readonly Finding[] => {
  const step = isMinorChange(from, to) ? ETCD_STEPS.find((one) => one.to === minorOf(to)) : undefined;
  if (etcd === null || step?.v2StoreClean !== true) return [];
  const dirty = etcd.members.filter(({ v2StoreClean }) => v2StoreClean === false);
  return [
    ...when(dirty.length > 0, () =>
      b10Refusal(
        `etcd still holds data of its v2 store: ${dirty.map(({ name }) => name).join(', ')}`,
        { members: dirty.map(({ name }) => name) },
        'See "etcdutl check v2store" and move that data.',
      ),
    ),
  ];
};

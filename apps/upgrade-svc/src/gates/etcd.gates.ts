import type { EtcdFacts } from '../rules/cluster.facts.js';
import { c8QuorumWithout, quorumOf } from '../rules/control-plane.rules.js';
import { b3EtcdHealthy } from '../rules/etcd.rules.js';
import type { NodeName } from '@fairlead/contracts';
import type { Gate } from './gate.js';
import { byFindings, fails, holds, nodeOf } from './verdict.js';

/**
 * A follower constantly receives entries; a thousand entries behind counts as not caught up (the same limit as in B3).
 */
const BEHIND_MAX = 1_000;

/**
 * While control planes are changed one after the other, their members run two versions, which B3 rejects only at rest.
 * Members on excused nodes are checked by separate gates, and count for the quorum as they are.
 */
const asAtRest = ({ members, ...etcd }: EtcdFacts, excused: readonly NodeName[]): EtcdFacts => ({
  ...etcd,
  members: members
    .filter(({ node }) => node === null || !excused.includes(node))
    .map((member) => ({ ...member, version: '' })),
});

export const etcdHealthy: Gate = async (look) => {
  const etcd = await look.etcd();
  const { excused } = look;
  const nodes = Object.values(look.known.nodes).filter(({ name }) => !excused.includes(name));
  const facts = { nodes, etcd: asAtRest(etcd, excused) };
  const versions = Object.fromEntries(etcd.members.map(({ name, version }) => [name, version]));
  // Two of three members are not an etcd of two: the third is only excused.
  const findings = b3EtcdHealthy(facts).filter(
    (finding) => finding.facts['members'] !== 2 || etcd.members.length === 2,
  );
  return byFindings(findings, { versions, ...quorumOf(etcd) });
};

export const etcdQuorum: Gate = async (look) => {
  const etcd = await look.etcd();
  return byFindings(c8QuorumWithout(etcd, nodeOf(look) as NodeName), { ...quorumOf(etcd) });
};

export const etcdLeader: Gate = async (look) => {
  const leader = (await look.etcd()).members.find((member) => member.leader);
  return leader?.node === undefined || leader.node === null
    ? fails('etcd has no leader among the nodes of the cluster', { leader: leader?.name ?? null })
    : holds({ leader: leader.node });
};

export const etcdMember: Gate = async (look) => {
  const node = nodeOf(look);
  const member = (await look.etcd()).members.find((one) => one.node === node);
  if (member === undefined) return fails(`etcd has no member on ${node}`);
  const { healthy, learner, behind, version } = member;
  const facts = { version, behind };
  if (!healthy) return fails(`the member on ${node} is not healthy`, facts);
  if (learner) return fails(`the member on ${node} is still a learner`, facts);
  return behind > BEHIND_MAX
    ? fails(`the member on ${node} is ${behind} entries behind the leader`, facts)
    : holds(facts);
};

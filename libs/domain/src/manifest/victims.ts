import type { DeclaredPool } from '@fairlead/contracts';
import type { MachineTemplate } from './machine.template.js';

/** A node that a pool counts: not one that leaves, nor a surge node. */
export interface PoolMember {
  readonly name: string;
  readonly pool: string;
  /** Ready, and not lost. */
  readonly ready: boolean;
  /** It was Ready once. */
  readonly joined: boolean;
  /** Empty: the provider chose, and has not said which yet. */
  readonly zone: string;
  /** It is the initial control plane. */
  readonly leader?: boolean;
  /** What its machine was made like. */
  readonly machine: MachineTemplate;
}

/** A node that is removed, and why it is this one. */
export interface Victim {
  readonly name: string;
  readonly reason: string;
}

export interface Choice {
  readonly deletePolicy?: DeclaredPool['deletePolicy'];
  /** Nodes that were named to be removed. */
  readonly named?: readonly string[];
}

/** The zone with the most of these nodes; of several, that of the first node. */
const fullestZone = (members: readonly PoolMember[]): string => {
  const counts = new Map<string, number>();
  for (const { zone } of members) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return members.find(({ zone }) => counts.get(zone) === most)?.zone ?? '';
};

/** One after the other from the zone that is then the fullest, so that the zones that stay differ by as little as possible. */
const fromFullestZones = (ordered: readonly PoolMember[], count: number, policy: string): readonly Victim[] => {
  const zones = new Set(ordered.map(({ zone }) => zone)).size;
  const victims: Victim[] = [];
  let left = ordered;
  while (victims.length < count && left.length > 0) {
    const zone = fullestZone(left);
    const victim = left.find((member) => member.zone === zone)!;
    const reason = zones > 1 ? `${policy} in ${zone}, the zone with the most nodes` : policy;
    victims.push({ name: victim.name, reason });
    left = left.filter((member) => member !== victim);
  }
  return victims;
};

/**
 * The nodes of a pool that are removed: those that were named, then those that have not joined yet, then those that are not Ready or
 * lost, then by zone and age. `members` are in the order in which they were planned.
 */
export const victimsOf = (
  members: readonly PoolMember[],
  count: number,
  { deletePolicy = 'Newest', named = [] }: Choice = {},
): readonly Victim[] => {
  const ordered = deletePolicy === 'Oldest' ? members : members.toReversed();
  const isNamed = ({ name }: PoolMember): boolean => named.includes(name);
  const because = (which: (member: PoolMember) => boolean, reason: string): readonly Victim[] =>
    ordered.filter(which).map(({ name }) => ({ name, reason }));
  const first = [
    ...because(isNamed, 'named to be removed'),
    ...because((member) => !isNamed(member) && !member.joined, 'it has not joined yet'),
    ...because((member) => !isNamed(member) && member.joined && !member.ready, 'not Ready'),
  ];
  const healthy = ordered.filter((member) => !isNamed(member) && member.ready);
  const policy = deletePolicy === 'Oldest' ? 'the oldest' : 'the newest';
  return [...first, ...fromFullestZones(healthy, count - first.length, policy)].slice(0, count);
};

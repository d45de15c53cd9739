import type { DeclaredPool } from '@fairlead/contracts';
import type { MachineTemplate } from './machine.template.js';

/** A node that its pool counts: neither leaving nor a surge node. */
export interface PoolMember {
  readonly name: string;
  readonly pool: string;
  /** Ready, and not lost. */
  readonly ready: boolean;
  /** Whether it was ever Ready. */
  readonly joined: boolean;
  /** Empty: the provider chose it, and has not reported it yet. */
  readonly zone: string;
  /** Whether it is the initial control plane. */
  readonly leader?: boolean;
  /** The settings with which its machine was created. */
  readonly machine: MachineTemplate;
}

/** A node to remove, and why it was selected. */
export interface Victim {
  readonly name: string;
  readonly reason: string;
}

export interface Choice {
  readonly deletePolicy?: DeclaredPool['deletePolicy'];
  /** Nodes whose removal was requested by name. */
  readonly named?: readonly string[];
}

/** The zone with the most of these nodes; on a tie, that of the first node. */
const fullestZone = (members: readonly PoolMember[]): string => {
  const counts = new Map<string, number>();
  for (const { zone } of members) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return members.find(({ zone }) => counts.get(zone) === most)?.zone ?? '';
};

/** Repeatedly takes a node of the zone with the most nodes left, so that the remaining zones are balanced. */
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
 * The nodes of a pool to remove: those named first, then those that have not joined, then those that are NotReady or
 * lost, then by zone and age. `members` are in planning order.
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

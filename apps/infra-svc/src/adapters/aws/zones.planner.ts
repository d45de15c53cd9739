/** A machine with the zone that it is in, or must be in. */
export interface ZonedMachine {
  readonly name: string;
  readonly role: string;
  /** Absent: any. */
  readonly zone?: string | undefined;
}

/**
 * The zones in which each new machine may be created, the best first: where the fewest machines of its role are. The
 * same machines always get the same answer, so that a repeated request is recognized.
 */
export const spread = (
  created: readonly ZonedMachine[],
  existing: readonly ZonedMachine[],
  zones: readonly string[],
): ReadonlyMap<string, readonly string[]> => {
  const counts = new Map<string, number>();
  const keyOf = (role: string, zone: string): string => `${role}/${zone}`;
  const countOf = (role: string, zone: string): number => counts.get(keyOf(role, zone)) ?? 0;
  const count = ({ role, zone = '' }: ZonedMachine): void => {
    counts.set(keyOf(role, zone), countOf(role, zone) + 1);
  };
  existing.forEach(count);
  const chosen = new Map<string, readonly string[]>();
  for (const machine of [...created].sort((one, other) => one.name.localeCompare(other.name))) {
    const { name, role, zone } = machine;
    const order = [...zones].sort(
      (one, other) => countOf(role, one) - countOf(role, other) || one.localeCompare(other),
    );
    const preferred = zone === undefined || zone === '' ? order : [zone];
    chosen.set(name, preferred);
    count({ name, role, zone: preferred[0] });
  }
  return chosen;
};

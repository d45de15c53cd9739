interface TakenSlots {
  readonly all: number;
  /** Slots taken by tasks that belong to other groups, too. */
  readonly shared: number;
}

const FREE: TakenSlots = { all: 0, shared: 0 };

/**
 * Limits the concurrent tasks of a group, so that a group whose tasks hang blocks only its own slots. Tasks of several
 * groups get at most half of each group's slots: if one of their groups hangs, half of the others remains available.
 */
export class ConcurrencyGroups {
  private readonly taken = new Map<string, TakenSlots>();
  private readonly sharedMax: number;
  private readonly listeners: (() => void)[] = [];

  constructor(readonly limit: number) {
    this.sharedMax = Math.max(1, Math.floor(limit / 2));
  }

  /** The group that is full; undefined: none. */
  full(groups: readonly string[]): string | undefined {
    const isShared = groups.length > 1;
    return groups.find((group) => {
      const { all, shared } = this.taken.get(group) ?? FREE;
      return all >= this.limit || (isShared && shared >= this.sharedMax);
    });
  }

  enter(groups: readonly string[]): void {
    this.add(groups, 1);
  }

  leave(groups: readonly string[]): void {
    this.add(groups, -1);
    if (groups.length > 0) for (const listener of this.listeners) listener();
  }

  /** Called whenever a group may have a free slot again. */
  onPlace(listener: () => void): void {
    this.listeners.push(listener);
  }

  private add(groups: readonly string[], change: 1 | -1): void {
    for (const group of groups) {
      const { all, shared } = this.taken.get(group) ?? FREE;
      const after = { all: all + change, shared: groups.length > 1 ? shared + change : shared };
      if (after.all === 0) this.taken.delete(group);
      else this.taken.set(group, after);
    }
  }
}

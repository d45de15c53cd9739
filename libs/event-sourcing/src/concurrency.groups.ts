interface Taken {
  readonly all: number;
  /** By tasks that belong to other groups, too. */
  readonly shared: number;
}

const FREE: Taken = { all: 0, shared: 0 };

/**
 * Limits how many tasks of a group run at a time, so that a group whose tasks hang takes at most its own places from the others. Tasks of several groups get at most half of each one: where one of their groups hangs, the other half of the others goes on.
 */
export class ConcurrencyGroups {
  private readonly taken = new Map<string, Taken>();
  private readonly sharedMax: number;
  private readonly listeners: (() => void)[] = [];

  constructor(readonly limit: number) {
    this.sharedMax = Math.max(1, Math.floor(limit / 2));
  }

  /** The group that is full; undefined: none of them is. */
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

  /** Called whenever there may be a place in a group again. */
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

import type { JsonObject } from './process.js';

/** What tasks occupy while they run, e.g. `connection lab`. */
export const lanesOf = ({ data }: { readonly data: JsonObject }): readonly string[] => {
  const lanes = data['lanes'];
  return Array.isArray(lanes) ? lanes.filter((lane): lane is string => typeof lane === 'string') : [];
};

interface Taken {
  readonly all: number;
  /** By tasks that occupy other lanes, too. */
  readonly shared: number;
}

const FREE: Taken = { all: 0, shared: 0 };

/**
 * Limits how many of the tasks that run at a time occupy the same lane, so that a lane whose tasks hang takes at most its own places from the
 * others. Tasks of several lanes get at most half of each one: where one of their lanes hangs, the other half of the others goes on.
 */
export class Lanes {
  private readonly taken = new Map<string, Taken>();
  private readonly sharedMax: number;

  constructor(readonly limit: number) {
    this.sharedMax = Math.max(1, Math.floor(limit / 2));
  }

  /** The lane that is full; undefined: none of them is. */
  full(lanes: readonly string[]): string | undefined {
    const isShared = lanes.length > 1;
    return lanes.find((lane) => {
      const { all, shared } = this.taken.get(lane) ?? FREE;
      return all >= this.limit || (isShared && shared >= this.sharedMax);
    });
  }

  enter(lanes: readonly string[]): void {
    this.add(lanes, 1);
  }

  leave(lanes: readonly string[]): void {
    this.add(lanes, -1);
  }

  private add(lanes: readonly string[], change: 1 | -1): void {
    for (const lane of lanes) {
      const { all, shared } = this.taken.get(lane) ?? FREE;
      const after = { all: all + change, shared: lanes.length > 1 ? shared + change : shared };
      if (after.all === 0) this.taken.delete(lane);
      else this.taken.set(lane, after);
    }
  }
}

/** Members of etcd, and how many of them are healthy. */
export interface Quorum {
  readonly members: number;
  readonly healthy: number;
}

/** How many members of etcd must agree. */
export const majorityOf = (members: number): number => Math.floor(members / 2) + 1;

/** C8, removal for good: a majority is healthy now, and is one among those that are left. */
export const c8MayRemove = ({ members, healthy }: Quorum, itIsHealthy: boolean): boolean =>
  healthy >= majorityOf(members) && healthy - (itIsHealthy ? 1 : 0) >= majorityOf(members - 1);

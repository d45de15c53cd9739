/** The members of etcd, and how many are healthy. */
export interface Quorum {
  readonly members: number;
  readonly healthy: number;
}

/** The number of etcd members required for a quorum. */
export const majorityOf = (members: number): number => Math.floor(members / 2) + 1;

/** C8, permanent removal: a majority is healthy now, and will be among the remaining members. */
export const c8MayRemove = ({ members, healthy }: Quorum, itIsHealthy: boolean): boolean =>
  healthy >= majorityOf(members) && healthy - (itIsHealthy ? 1 : 0) >= majorityOf(members - 1);

/** The exclusive right to work on something, across all replicas. */
export interface Lease {
  /** Aborts when the lease is no longer guaranteed: another replica may hold it from then on. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

/** Leases of running work. A lease that is not renewed expires, so a dead replica does not hold it for long. */
export interface TaskLeases {
  /** undefined: another holder has it. */
  acquire(scope: string, name: string): Promise<Lease | undefined>;
  /** Leased names in a scope, by any replica. */
  held(scope: string): Promise<readonly string[]>;
}

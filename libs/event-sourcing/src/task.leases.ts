/** The right to work on something alone, over all replicas. */
export interface Lease {
  /** Aborts when the lease cannot be vouched for any longer: another replica may hold it from then on. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

/** Who works on what now. A lease that is not renewed expires, so a replica that dies holds nothing for long. */
export interface TaskLeases {
  /** undefined: another holder has it. */
  acquire(scope: string, name: string): Promise<Lease | undefined>;
  /** Names that are leased in a scope, by any replica. */
  held(scope: string): Promise<readonly string[]>;
}

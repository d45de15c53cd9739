import type { SecretRef } from '@fairlead/contracts';

/** A sealed snapshot, stored outside the cluster's nodes. */
export interface KeptSnapshot {
  readonly sha256: string;
  readonly bytes: number;
}

/** Storage for etcd snapshots: sealed, outside the nodes, readable by every replica. */
export interface SnapshotStore {
  /**
   * Writes a snapshot in chunks; it exists completely once `seal` has resolved, or not at all. `owner` is the uid of
   * its cluster. Replaces a snapshot of the same name.
   */
  open(name: string, owner: string): Promise<SnapshotWriter>;
  /** Passes the chunks in order; rejects after the last one if they differ from what was stored. */
  read(name: string, take: (chunk: Buffer) => Promise<void>): Promise<KeptSnapshot>;
  delete(name: string): Promise<void>;
}

export interface SnapshotWriter {
  write(chunk: Buffer): Promise<void>;
  seal(): Promise<KeptSnapshot>;
  discard(): Promise<void>;
}

/** The secret with the key of a snapshot. */
export const snapshotKeyRef = (name: string): SecretRef => `upgrade-svc.snapshot.${name}` as SecretRef;

import type { SecretRef } from '@fairlead/contracts';

/** A snapshot that lies off the cluster's nodes, sealed. */
export interface KeptSnapshot {
  readonly sha256: string;
  readonly bytes: number;
}

/** Where snapshots of etcd lie: sealed, off the nodes, readable by every replica. */
export interface SnapshotStore {
  /**
   * Takes a snapshot piece by piece; it is there as a whole once `seal` has resolved, or not at all. `owner` is the uid of its
   * cluster. A snapshot of that name is replaced.
   */
  open(name: string, owner: string): Promise<SnapshotWriter>;
  /** Hands over the pieces in order; rejects after the last one if they are not what was stored. */
  read(name: string, take: (chunk: Buffer) => Promise<void>): Promise<KeptSnapshot>;
  delete(name: string): Promise<void>;
}

export interface SnapshotWriter {
  write(chunk: Buffer): Promise<void>;
  seal(): Promise<KeptSnapshot>;
  discard(): Promise<void>;
}

/** Where the key of a snapshot is sealed. */
export const snapshotKeyRef = (name: string): SecretRef => `upgrade-svc.snapshot.${name}` as SecretRef;

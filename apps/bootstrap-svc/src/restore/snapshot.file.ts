import { ExternalFailure } from '@fairlead/contracts';
import type { SnapshotStore } from '@fairlead/service-kit/snapshots';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const PRIVATE = 0o600;

const anotherOne = (target: string): ExternalFailure =>
  new ExternalFailure({
    operation: 'read a snapshot of etcd',
    target,
    message: 'it is not the one that was taken under this name',
    retryable: false,
  });

/** It may be larger than memory, so it is unsealed into a private folder of this process while it is copied. */
export const withSnapshotFile = async (
  snapshots: Pick<SnapshotStore, 'read'>,
  { snapshot, sha256 }: { readonly snapshot: string; readonly sha256: string },
  use: (path: string) => Promise<void>,
): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-snapshot-'));
  try {
    const path = join(folder, 'snapshot.db');
    const file = await open(path, 'wx', PRIVATE);
    try {
      const kept = await snapshots.read(snapshot, (chunk) => file.appendFile(chunk));
      if (kept.sha256 !== sha256) throw anotherOne(snapshot);
    } finally {
      await file.close();
    }
    await use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

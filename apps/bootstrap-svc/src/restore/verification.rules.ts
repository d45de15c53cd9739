import type { EventData } from '@fairlead/contracts';
import type { VerifySnapshotResult } from '@fairlead/node-scripts';
import type { DesiredVerification, Host } from '../bootstrap/bootstrap.state.js';

/** The result of a temporary etcd for a snapshot. */
export type Verdict =
  | {
      readonly kind: 'valid';
      readonly said: Pick<EventData<'EtcdSnapshotVerified'>, 'revision' | 'keys' | 'objects' | 'hash'>;
    }
  /** etcd cannot be restored from it, or would differ from the saved state. */
  | { readonly kind: 'invalid'; readonly message: string }
  /** The state of the snapshot is unknown. */
  | { readonly kind: 'unknown'; readonly message: string };

/** Messages of etcdutl and etcd about a damaged database; a lack of space, memory or time does not match. */
const DAMAGED =
  /expected sha256|checksum|invalid database|corrupt|not a valid|unexpected fault address|page \d+: invalid/i;

const compared = ({ revision, keys }: DesiredVerification, said: VerifySnapshotResult): Verdict => {
  const { status, revision: at, objects } = said;
  if (status === null || at === null || objects === null)
    return { kind: 'unknown', message: 'the scratch etcd did not say what it has' };
  const { hash, totalKey } = status;
  const differences = [
    ...(status.revision === revision ? [] : [`revision ${status.revision}, and it was saved at ${revision}`]),
    ...(totalKey === keys ? [] : [`${totalKey} keys, and ${keys} were saved`]),
    ...(at >= revision ? [] : [`revision ${at} after its restore`]),
    ...(objects > 0 ? [] : ['no objects of Kubernetes']),
  ];
  if (differences.length > 0) return { kind: 'invalid', message: `it has ${differences.join('; ')}` };
  return { kind: 'valid', said: { revision: at, keys: totalKey, objects, hash } };
};

export const verdictOf = (desired: DesiredVerification, said: VerifySnapshotResult): Verdict => {
  if (said.problem === null) return compared(desired, said);
  return { kind: DAMAGED.test(said.problem) ? 'invalid' : 'unknown', message: said.problem };
};

/** The control planes that could run a temporary etcd; each attempt uses the next one, those with heartbeats first. */
export const verifierOf = (hosts: readonly Host[], attempt: number): Host | undefined => {
  const able = hosts.filter(({ joinedAt, removal, failed }) => joinedAt !== null && removal === 'none' && !failed);
  const inTurn = [
    ...able.filter(({ silence }) => silence === undefined),
    ...able.filter(({ silence }) => silence !== undefined),
  ];
  return inTurn[(attempt - 1) % Math.max(1, inTurn.length)];
};

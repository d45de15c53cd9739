import type {
  StoredEvent,
  Cause,
  ConnectionName,
  SecretRef,
  RotationHost,
  SshKeyGeneration,
} from '@fairlead/contracts';

/** A rotation in progress. */
export interface SshKeyRotation {
  /**
   * requested: the provider does not have the new key yet; failed: it stopped until an administrator requests the
   * rotation again.
   */
  readonly status: 'requested' | 'replacing' | 'failed';
  readonly requestedAt: string;
  /** null: the new key has not been created. */
  readonly former: SshKeyGeneration | null;
  /** The former key is destroyed even if hosts still need it. */
  readonly forced: boolean;
  /** Hosts that accept only the new key. */
  readonly replaced: number;
  /** Hosts that still need the former key. */
  readonly pending: number;
  /** The first of them. */
  readonly hosts: readonly RotationHost[];
  /** The last failure; null: none. */
  readonly cause: Cause | null;
}

/** The last completed rotation. */
export interface RotatedSshKey {
  readonly rotatedAt: string;
  readonly replaced: number;
  readonly leftOut: number;
  readonly hosts: readonly RotationHost[];
}

/** The SSH key of a connection. */
export interface ConnectionSshKey {
  /** The key for new machines; null: no machine has been created. */
  readonly current: SshKeyGeneration | null;
  /** Sequence at which it became current: machines planned earlier may have the former key. */
  readonly since: number;
  readonly rotation: SshKeyRotation | null;
  readonly rotated: RotatedSshKey | null;
}

export const NO_SSH_KEY: ConnectionSshKey = { current: null, since: 0, rotation: null, rotated: null };

/** The first generation is named after the connection alone; connection names have no underscore. */
const GENERATION = /^(.+)_(\d{1,9})$/;

interface Generation {
  /** The part of the name that all generations of a connection share. */
  readonly base: string;
  readonly number: number;
}

const generationOf = (keyRef: string): Generation => {
  const [, base, number] = GENERATION.exec(keyRef) ?? [];
  return base === undefined ? { base: keyRef, number: 1 } : { base, number: Number(number) };
};

export const generationNumberOf = (keyRef: SecretRef): number => generationOf(keyRef).number;

/** The name of a generation. */
export const generationRef = (base: string, number: number): SecretRef =>
  (number === 1 ? base : `${base}_${number}`) as SecretRef;

/** The connection whose SSH key an event concerns; undefined: none. */
export const connectionOfSshKey = (event: StoredEvent): ConnectionName | undefined => {
  switch (event.type) {
    case 'SshKeyRotationRequested':
    case 'SshKeyRotationForced':
    case 'ConnectionRemoved':
      return event.data.name;
    case 'SshKeyEnsured':
    case 'SshKeyRotationStarted':
    case 'SshKeyRotationProgressed':
    case 'SshKeyRotationFailed':
    case 'SshKeyRotated':
      return event.data.connection;
    default:
      return undefined;
  }
};

/** Continues a rotation in progress, otherwise starts a new one. */
const requested = ({ rotation }: ConnectionSshKey, requestedAt: string): SshKeyRotation =>
  rotation === null
    ? {
        status: 'requested',
        requestedAt,
        former: null,
        forced: false,
        replaced: 0,
        pending: 0,
        hosts: [],
        cause: null,
      }
    : { ...rotation, status: rotation.former === null ? 'requested' : 'replacing' };

const withRotation = (before: ConnectionSshKey, part: Partial<SshKeyRotation>): ConnectionSshKey =>
  before.rotation === null ? before : { ...before, rotation: { ...before.rotation, ...part } };

/** A slow replica may report an earlier generation late. */
const ensured = (before: ConnectionSshKey, event: StoredEvent<'SshKeyEnsured'>): ConnectionSshKey => {
  const { sshKey, publicKey, secretRef: keyRef } = event.data;
  const [known, stated] = [before.current?.keyRef ?? keyRef, keyRef].map(generationOf) as [Generation, Generation];
  if (known.base === stated.base && known.number > stated.number) return before;
  const since = before.current?.keyRef === keyRef ? before.since : event.meta.seq;
  return { ...before, current: { sshKey, publicKey, keyRef }, since };
};

/** The SSH key of a connection after an event about it. */
export const sshKeyAfter = (before: ConnectionSshKey, event: StoredEvent): ConnectionSshKey => {
  switch (event.type) {
    case 'SshKeyEnsured':
      return ensured(before, event);
    case 'ConnectionRemoved':
      return before.rotation === null ? before : { ...before, rotation: null };
    case 'SshKeyRotationRequested':
      return { ...before, rotation: requested(before, event.meta.time) };
    case 'SshKeyRotationForced':
      return withRotation(before, { status: 'replacing', forced: true });
    case 'SshKeyRotationStarted': {
      const { key, former } = event.data;
      const started = { ...before, current: key, since: event.meta.seq };
      return withRotation(started, { status: 'replacing', former, cause: null });
    }
    case 'SshKeyRotationProgressed': {
      const { replaced, pending, hosts } = event.data;
      return withRotation(before, { replaced, pending, hosts, cause: null });
    }
    case 'SshKeyRotationFailed': {
      const { cause, nextAttemptAt } = event.data;
      return withRotation(before, nextAttemptAt === null ? { status: 'failed', cause } : { cause });
    }
    case 'SshKeyRotated': {
      const { replaced, leftOut, hosts } = event.data;
      return { ...before, rotation: null, rotated: { rotatedAt: event.meta.time, replaced, leftOut, hosts } };
    }
    default:
      return before;
  }
};

import {
  ROTATION_HOSTS_MAX,
  type ConnectionName,
  type Fact,
  type RotationHost,
  type SshKeyGeneration,
  type StoredEvent,
} from '@fairlead/contracts';
import {
  connectionOfSshKey,
  NO_SSH_KEY,
  sshKeyAfter,
  type ConnectionSshKey,
  type SshKeyRotation,
} from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

/** By connection. */
export type SshKeysState = Readonly<Record<string, ConnectionSshKey>>;

export const NO_SSH_KEYS: SshKeysState = {};

export type SshKeysFact = Fact<
  'SshKeyRotationStarted' | 'SshKeyRotationProgressed' | 'SshKeyRotationFailed' | 'SshKeyRotated'
>;

interface Counted {
  readonly connection: ConnectionName;
  /** The key that the rotation replaces, so that an attempt of an earlier rotation records nothing. */
  readonly former: SshKeyGeneration;
  readonly replaced: number;
  /** Hosts that still need it. */
  readonly pending: readonly RotationHost[];
}

export type SshKeysCommand =
  | Command<'RecordStart', { connection: ConnectionName; key: SshKeyGeneration; former: SshKeyGeneration }>
  | Command<'RecordProgress', Counted>
  | Command<'RecordEnd', Counted>;

/** The rotation that replaces this key, or undefined. */
const replacing = (state: SshKeysState, { connection, former }: Counted): SshKeyRotation | undefined => {
  const rotation = state[connection]?.rotation ?? undefined;
  return rotation?.former?.keyRef === former.keyRef ? rotation : undefined;
};

const listed = (hosts: readonly RotationHost[]): RotationHost[] =>
  hosts.slice(0, ROTATION_HOSTS_MAX).map(({ namespace, cluster, node }) => ({ namespace, cluster, node }));

const nameOf = ({ namespace, cluster, node }: RotationHost): string => `${namespace}/${cluster}/${node}`;

const sameHosts = (one: readonly RotationHost[], other: readonly RotationHost[]): boolean =>
  one.map(nameOf).join() === other.map(nameOf).join();

const progressed = (state: SshKeysState, counted: Counted): readonly SshKeysFact[] => {
  const rotation = replacing(state, counted);
  if (rotation === undefined) return nothing;
  const { connection, replaced, pending } = counted;
  const hosts = listed(pending);
  const isSame = rotation.replaced === replaced && rotation.pending === pending.length && rotation.cause === null;
  if (isSame && sameHosts(rotation.hosts, hosts)) return nothing;
  return [{ type: 'SshKeyRotationProgressed', data: { connection, replaced, pending: pending.length, hosts } }];
};

const ended = (state: SshKeysState, counted: Counted): readonly SshKeysFact[] => {
  const rotation = replacing(state, counted);
  const keyRef = state[counted.connection]?.current?.keyRef;
  if (rotation === undefined || keyRef === undefined) return nothing;
  const { connection, former, replaced, pending } = counted;
  // Unless it was forced in the meantime, all hosts must be done.
  if (pending.length > 0 && !rotation.forced) return nothing;
  const hosts = listed(pending);
  const data = { connection, keyRef, formerKeyRef: former.keyRef, replaced, leftOut: pending.length, hosts };
  return [{ type: 'SshKeyRotated', data }];
};

const evolve = (state: SshKeysState, event: StoredEvent): SshKeysState => {
  const connection = connectionOfSshKey(event);
  if (connection === undefined) return state;
  const before = state[connection] ?? NO_SSH_KEY;
  const after = sshKeyAfter(before, event);
  return after === before ? state : { ...state, [connection]: after };
};

/** The SSH keys of all connections: the one for new machines, and rotations in progress. */
export const sshKeys: Decider<SshKeysState, SshKeysCommand, SshKeysFact> = {
  initial: NO_SSH_KEYS,
  reads: 'cluster',
  evolve,
  decide: (state, { type, data }) => {
    switch (type) {
      case 'RecordStart': {
        const { current, rotation } = state[data.connection] ?? NO_SSH_KEY;
        const isDesired = rotation?.status === 'requested' && current?.keyRef === data.former.keyRef;
        return isDesired ? [{ type: 'SshKeyRotationStarted', data }] : nothing;
      }
      case 'RecordProgress':
        return progressed(state, data);
      case 'RecordEnd':
        return ended(state, data);
    }
  },
};

import { refuse, traitsOf, type ConnectionName, type Fact, type Refusal, type StoredEvent } from '@fairlead/contracts';
import { connectionOfSshKey, NO_SSH_KEY, sshKeyAfter, type ConnectionSshKey } from '@fairlead/domain';
import type { Command, Decider } from '@fairlead/event-sourcing';

interface KeyOwner {
  readonly provider: string;
  readonly sshKey: ConnectionSshKey;
}

/** By connection; registered ones have a provider. */
export type SshKeysState = Readonly<Record<string, Partial<KeyOwner>>>;

/** `force`: the rotation that is under way ends although hosts still need the former key. */
export type RotateSshKey = Command<'RotateSshKey', { readonly name: ConnectionName; readonly force: boolean }>;

type SshKeysFact = Fact<'SshKeyRotationRequested' | 'SshKeyRotationForced'>;

const INITIAL: SshKeysState = {};

const rotate = (
  name: ConnectionName,
  { current, rotation }: ConnectionSshKey,
  force: boolean,
): readonly SshKeysFact[] | Refusal => {
  if (current === null) return refuse('connection.ssh-key-none', { connection: name });
  if (force) {
    if (rotation === null || rotation.former === null)
      return refuse('connection.ssh-key-not-rotating', { connection: name });
    return [{ type: 'SshKeyRotationForced', data: { name } }];
  }
  if (rotation !== null && rotation.status !== 'failed')
    return refuse('connection.ssh-key-rotating', { connection: name, pending: rotation.pending });
  return [{ type: 'SshKeyRotationRequested', data: { name } }];
};

const evolve = (state: SshKeysState, event: StoredEvent): SshKeysState => {
  if (event.type === 'ConnectionRegistered') {
    const { name, provider } = event.data;
    return { ...state, [name]: { ...state[name], provider } };
  }
  const name = connectionOfSshKey(event);
  if (name === undefined) return state;
  const { sshKey = NO_SSH_KEY, provider } = state[name] ?? {};
  const after = { sshKey: sshKeyAfter(sshKey, event) };
  const isGone = event.type === 'ConnectionRemoved' || provider === undefined;
  return { ...state, [name]: isGone ? after : { ...after, provider } };
};

/** Requests to rotate SSH keys: one rotation of a connection at a time. It reads what infra-svc has recorded of the keys. */
export const sshKeys: Decider<SshKeysState, RotateSshKey, SshKeysFact> = {
  initial: INITIAL,
  reads: 'cluster',
  evolve,
  decide: (state, { data: { name, force } }) => {
    const { provider, sshKey = NO_SSH_KEY } = state[name] ?? {};
    if (provider === undefined) return refuse('connection.not-found', { connection: name });
    if (traitsOf(provider).hasInventory) return refuse('connection.ssh-key-own', { connection: name });
    return rotate(name, sshKey, force);
  },
};

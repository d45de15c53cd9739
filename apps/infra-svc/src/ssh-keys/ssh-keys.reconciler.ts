import type { ConnectionName } from '@fairlead/contracts';
import type { Reconciler, Task } from '@fairlead/event-sourcing';
import { connectionGroup } from '../connections/connection.group.js';
import { sshKeys, type SshKeysCommand, type SshKeysFact, type SshKeysState } from './ssh-keys.decider.js';

export interface RotationData {
  readonly [key: string]: unknown;
  readonly connection: ConnectionName;
}

export const CREATE_KEY = 'CreateSshKey';
export const REPLACE_KEY = 'ReplaceSshKey';

const REASONS = {
  [CREATE_KEY]: 'its rotation was requested',
  [REPLACE_KEY]: 'hosts may still need the former key',
} as const;

const taskOf = (type: keyof typeof REASONS, connection: string): Task => {
  const data: RotationData = { connection: connection as ConnectionName };
  return {
    type,
    key: `${type}/${connection}`,
    reason: REASONS[type],
    data,
    groups: [connectionGroup(data.connection)],
  };
};

const tasksOf = (state: SshKeysState): readonly Task[] =>
  Object.entries(state).flatMap(([connection, { rotation }]): readonly Task[] => {
    if (rotation === null || rotation.status === 'failed') return [];
    return [taskOf(rotation.status === 'requested' ? CREATE_KEY : REPLACE_KEY, connection)];
  });

/** A requested rotation creates a new key, which replaces the former one on every host. */
export const sshKeysReconciler: Reconciler<SshKeysState, SshKeysCommand, SshKeysFact> = {
  name: 'ssh-keys',
  version: 2,
  context: 'ssh-keys',
  decider: sshKeys,
  generation: () => 'rotations',
  tasks: tasksOf,
  failed: (_state, { data }, { cause, attempt, attemptsMax, nextAttemptAt }) => {
    const { connection } = data as RotationData;
    return [{ type: 'SshKeyRotationFailed', data: { connection, cause, attempt, attemptsMax, nextAttemptAt } }];
  },
};

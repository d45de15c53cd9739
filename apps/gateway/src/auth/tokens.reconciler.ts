import type { StoredEvent } from '@fairlead/contracts';
import { stateOnly, type Reconciler, type Task } from '@fairlead/event-sourcing';

/** Data of the task: what the log says of a token. */
export type TokenTask =
  | {
      readonly [key: string]: unknown;
      readonly id: string;
      readonly name: string;
      readonly roles: StoredEvent<'ApiTokenCreated'>['data']['roles'];
      readonly sha256: string;
      readonly createdAt: string;
      readonly expiresAt?: string | undefined;
    }
  | { readonly [key: string]: unknown; readonly id: string; readonly revokedAt: string };

const keep = (data: TokenTask, reason: string): readonly Task[] => [
  { type: 'KeepToken', key: `KeepToken/${data.id}`, reason, data },
];

const followUpsOf = ({ type, data, meta: { time } }: StoredEvent): readonly Task[] => {
  switch (type) {
    case 'ApiTokenCreated': {
      const { sha256, ...token } = data;
      return sha256 === undefined ? [] : keep({ ...token, sha256, createdAt: time }, 'it is on record');
    }
    case 'ApiTokenRevoked':
      return keep({ id: data.id, revokedAt: time }, 'it was revoked');
    default:
      return [];
  }
};

/** API tokens are as the log says, also after the loss of the database or a handover. */
export const tokensReconciler: Reconciler<null> = {
  name: 'tokens',
  version: 1,
  context: 'audit',
  decider: stateOnly(null, (state) => state),
  generation: () => '',
  tasks: () => [],
  followUps: (_state, { event }) => (event === undefined ? [] : followUpsOf(event)),
};

import { fnv1a32 } from '@fairlead/contracts';
import { isIdentityCurrent } from '@fairlead/domain';
import type { Reconciler, Task } from '@fairlead/event-sourcing';
import { identity, type IdentityCommand, type IdentityFact } from './identity.decider.js';
import { unneededIn, type Identity } from './identity.state.js';

export const ENSURE_IDENTITY = 'EnsureIdentity';
export const FOLLOW_IDENTITY = 'FollowIdentity';
export const DELETE_IDENTITY = 'DeleteIdentity';

/** One group for all identity providers: if they hang, they use no more workers than one connection. */
const GROUPS = ['identity providers'];

export interface IdentityData {
  readonly [key: string]: unknown;
  /** The realm whose client is deleted. */
  readonly realm?: string;
}

const tasksOf = (state: Identity): readonly Task[] => {
  if (state.stage === 'absent') return [];
  const { stage, selection, identity: has } = state;
  const deletions = unneededIn(state).map((realm): Task => {
    const reason =
      stage === 'dismantled' ? 'the cluster is dismantled' : 'its manifest asks for another realm, or none';
    const data: IdentityData = { realm };
    return { type: DELETE_IDENTITY, key: `${DELETE_IDENTITY}/${realm}`, reason, data, groups: GROUPS };
  });
  if (stage !== 'accepted' || selection === null) return deletions;
  if (isIdentityCurrent(has, selection)) {
    const why = 'what someone changes at the identity provider is put right';
    return [...deletions, { type: FOLLOW_IDENTITY, key: FOLLOW_IDENTITY, reason: why, data: {}, groups: GROUPS }];
  }
  const services = selection.services === undefined ? '' : `/${fnv1a32(JSON.stringify(selection.services))}`;
  const key = `${ENSURE_IDENTITY}/${selection.realm ?? 'first'}/${selection.groupsClaim}${services}`;
  const reason = `users are to sign in at ${selection.realm === null ? 'a realm of the namespace' : `realm ${selection.realm}`}`;
  return [...deletions, { type: ENSURE_IDENTITY, key, reason, data: {}, groups: GROUPS }];
};

/** A cluster has its client at a realm before its machines are requested, until it is deleted. */
export const identityReconciler: Reconciler<Identity, IdentityCommand, IdentityFact> = {
  name: 'identity',
  version: 3,
  context: 'identity',
  decider: identity,
  generation: (state) => (state.stage === 'absent' ? '' : state.uid),
  tasks: tasksOf,
};

import {
  clientFor,
  identityAfter,
  isIdentityAwaited,
  NO_IDENTITY,
  realmWishOf,
  withoutBlock,
  type ClusterIdentity,
  type ClusterUid,
  type RealmWish,
  type StoredEvent,
} from '@fairlead/contracts';

/** What one incarnation of a cluster has at identity providers, and is to have. */
export interface PresentIdentity {
  readonly stage: 'requested' | 'accepted' | 'leaving' | 'dismantled';
  readonly uid: ClusterUid;
  /** null: its manifest asks for no realm. */
  readonly wish: RealmWish | null;
  readonly identity: ClusterIdentity;
}

export type Identity = { readonly stage: 'absent' } | PresentIdentity;

export const ABSENT: Identity = { stage: 'absent' };

const fresh = ({ data: { uid } }: StoredEvent<'ClusterRequested'>): Identity => ({
  stage: 'requested',
  uid,
  wish: null,
  identity: NO_IDENTITY,
});

const at = (state: PresentIdentity, stage: PresentIdentity['stage']): PresentIdentity => ({ ...state, stage });

const sameWish = (one: RealmWish | null, other: RealmWish | null): boolean =>
  one === other || (one !== null && other !== null && JSON.stringify(one) === JSON.stringify(other));

const evolvePresent = (state: PresentIdentity, event: StoredEvent): Identity => {
  switch (event.type) {
    case 'ClusterSpecChanged': {
      const wish = realmWishOf(event.data.spec.authentication?.oidc);
      return sameWish(state.wish, wish) ? state : { ...state, wish, identity: withoutBlock(state.identity) };
    }
    case 'ClusterRetryRequested': // A request that was corrected is checked again.
      return event.data.correction === undefined ? state : at(state, 'requested');
    case 'ClusterAccepted':
      return at(state, 'accepted');
    case 'ClusterDeletionRequested':
      return at(state, 'leaving');
    case 'ClusterDismantled':
      return at(state, 'dismantled');
    case 'ClusterDeleted':
      return ABSENT;
    default: {
      const identity = identityAfter(state.identity, event);
      return identity === state.identity ? state : { ...state, identity };
    }
  }
};

/** Events of another incarnation change nothing. */
export const evolve = (state: Identity, event: StoredEvent): Identity => {
  if (event.type === 'ClusterRequested') return state.stage === 'absent' ? fresh(event) : state;
  if (state.stage === 'absent' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  return evolvePresent(state, event);
};

/** Realms that may have a client of the cluster which nobody needs. A client that is replaced stays until the other one is there. */
export const unneededIn = ({ stage, wish, identity }: PresentIdentity): readonly string[] => {
  const held = Object.keys(identity.held);
  if (stage === 'dismantled') return held;
  if (stage !== 'accepted' || isIdentityAwaited(identity, wish)) return [];
  const needed = wish === null ? undefined : clientFor(identity, wish)?.realm;
  return held.filter((realm) => realm !== needed);
};

import type { ClusterUid, StoredEvent } from '@fairlead/contracts';
import {
  clientFor,
  identityAfter,
  isIdentityAwaited,
  NO_IDENTITY,
  NO_PUBLICATION,
  publicationAfter,
  realmServicesOf,
  realmSelectionOf,
  withoutBlock,
  withPublished,
  type ClusterIdentity,
  type Publication,
  type RealmSelection,
} from '@fairlead/domain';

/** The current and the desired identity resources of one incarnation of a cluster. */
export interface PresentIdentity {
  readonly stage: 'requested' | 'accepted' | 'leaving' | 'dismantled';
  readonly uid: ClusterUid;
  /** With its published services. null: its manifest requests no realm. */
  readonly selection: RealmSelection | null;
  /** By its manifest alone. */
  readonly declared: RealmSelection | null;
  /** What it publishes. */
  readonly publication: Publication;
  readonly identity: ClusterIdentity;
}

export type Identity = { readonly stage: 'absent' } | PresentIdentity;

export const ABSENT: Identity = { stage: 'absent' };

const fresh = ({ data: { uid } }: StoredEvent<'ClusterRequested'>): Identity => ({
  stage: 'requested',
  uid,
  selection: null,
  declared: null,
  publication: NO_PUBLICATION,
  identity: NO_IDENTITY,
});

const at = (state: PresentIdentity, stage: PresentIdentity['stage']): PresentIdentity => ({ ...state, stage });

const sameSelection = (one: RealmSelection | null, other: RealmSelection | null): boolean =>
  one === other || (one !== null && other !== null && JSON.stringify(one) === JSON.stringify(other));

const selecting = (state: PresentIdentity): PresentIdentity => {
  const selection = withPublished(state.declared, realmServicesOf(state.publication));
  return sameSelection(state.selection, selection)
    ? state
    : { ...state, selection, identity: withoutBlock(state.identity) };
};

const evolvePresent = (state: PresentIdentity, event: StoredEvent): Identity => {
  switch (event.type) {
    case 'ClusterSpecChanged':
      return selecting({ ...state, declared: realmSelectionOf(event.data.spec.authentication?.oidc) });
    case 'EndpointReserved':
    case 'PublishedServicesFound':
      return selecting({ ...state, publication: publicationAfter(state.publication, event) });
    case 'ClusterRetryRequested': // A corrected request is validated again.
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

/** Events of another incarnation are ignored. */
export const evolve = (state: Identity, event: StoredEvent): Identity => {
  if (event.type === 'ClusterRequested') return state.stage === 'absent' ? fresh(event) : state;
  if (state.stage === 'absent' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  return evolvePresent(state, event);
};

/**
 * Realms that may have an unneeded client of the cluster. A client that is replaced is kept until the other one exists.
 */
export const unneededIn = ({ stage, selection, identity }: PresentIdentity): readonly string[] => {
  const held = Object.keys(identity.held);
  if (stage === 'dismantled') return held;
  if (stage !== 'accepted' || isIdentityAwaited(identity, selection)) return [];
  const needed = selection === null ? undefined : clientFor(identity, selection)?.realm;
  return held.filter((realm) => realm !== needed);
};

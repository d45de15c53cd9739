import type { ClusterUid, RealmClient, StoredEvent } from '@fairlead/contracts';
import { isPublished, NO_PUBLICATION, publicationAfter, type Publication } from '@fairlead/domain';

/** What one incarnation of a cluster has at the tunnel, and is to have. */
export interface PresentNames {
  readonly stage: 'requested' | 'accepted' | 'leaving' | 'dismantled';
  readonly uid: ClusterUid;
  /** Its manifest asks for it. */
  readonly isDesired: boolean;
  readonly publication: Publication;
  /** Its client at the realm, with those of its services; absent: it has none. */
  readonly client?: RealmClient;
}

export type Names = { readonly stage: 'absent' } | PresentNames;

export const ABSENT: Names = { stage: 'absent' };

const at = (state: PresentNames, stage: PresentNames['stage']): PresentNames => ({ ...state, stage });

const evolvePresent = (state: PresentNames, event: StoredEvent): Names => {
  switch (event.type) {
    case 'ClusterSpecChanged': {
      const isDesired = isPublished(event.data.spec);
      return isDesired === state.isDesired ? state : { ...state, isDesired };
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
    case 'IdentityReady': {
      const { uid: _uid, ...client } = event.data;
      return { ...state, client };
    }
    case 'IdentityReleased': {
      const { client, ...others } = state;
      return client?.realm === event.data.realm ? others : state;
    }
    default: {
      const publication = publicationAfter(state.publication, event);
      return publication === state.publication ? state : { ...state, publication };
    }
  }
};

/** Events of another incarnation change nothing. */
export const evolve = (state: Names, event: StoredEvent): Names => {
  if (event.type === 'ClusterRequested') {
    if (state.stage !== 'absent') return state;
    return { stage: 'requested', uid: event.data.uid, isDesired: false, publication: NO_PUBLICATION };
  }
  if (state.stage === 'absent' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  return evolvePresent(state, event);
};

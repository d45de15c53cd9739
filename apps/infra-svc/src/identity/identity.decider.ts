import type { ClusterUid, EventData, Fact, RealmClient, RealmName } from '@fairlead/contracts';
import { isIdentityCurrent } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { ABSENT, evolve, type Identity, type PresentIdentity } from './identity.state.js';

type OfCluster<Data> = { readonly uid: ClusterUid } & Data;

export type IdentityCommand =
  | Command<'Block', EventData<'IdentityBlocked'>>
  | Command<'Request', OfCluster<RealmClient>>
  | Command<'RecordReady', OfCluster<RealmClient>>
  | Command<'RecordRelease', OfCluster<{ readonly realm: RealmName; readonly left?: true }>>;

export type IdentityFact = Fact<'IdentityBlocked' | 'IdentityRequested' | 'IdentityReady' | 'IdentityReleased'>;

export const sameClient = (one: RealmClient | undefined, other: RealmClient): boolean =>
  one !== undefined && JSON.stringify(one) === JSON.stringify(other);

/** A task that began before the manifest changed must not request again what the manifest asked for then. */
const isSelected = ({ selection }: PresentIdentity, ready: RealmClient): boolean =>
  selection !== null && isIdentityCurrent({ held: {}, ready }, selection);

const decide = (state: Identity, command: IdentityCommand): readonly IdentityFact[] => {
  if (state.stage === 'absent' || state.uid !== command.data.uid) return nothing;
  const { stage, identity } = state;
  switch (command.type) {
    case 'Block': {
      // The message may differ at each check; only a different reason is recorded.
      const { reason, realm } = command.data;
      const isKnown = identity.blocked?.reason === reason && identity.blocked.realm === realm;
      return isKnown ? nothing : [{ type: 'IdentityBlocked', data: command.data }];
    }
    case 'Request': {
      const { uid, ...client } = command.data;
      if (stage !== 'accepted' || !isSelected(state, client) || sameClient(identity.held[client.realm], client))
        return nothing;
      return [{ type: 'IdentityRequested', data: { uid, ...client } }];
    }
    case 'RecordReady': {
      const { uid, ...client } = command.data;
      // It is recorded again when what blocked it has ended.
      const isKnown = sameClient(identity.ready, client) && identity.blocked?.realm !== client.realm;
      if (stage !== 'accepted' || !sameClient(identity.held[client.realm], client) || isKnown) return nothing;
      return [{ type: 'IdentityReady', data: { uid, ...client } }];
    }
    case 'RecordRelease':
      return identity.held[command.data.realm] === undefined
        ? nothing
        : [{ type: 'IdentityReleased', data: command.data }];
  }
};

/** The client and the group of a cluster at a realm of its namespace, with which its users sign in. */
export const identity: Decider<Identity, IdentityCommand, IdentityFact> = {
  initial: ABSENT,
  reads: 'cluster',
  decide,
  evolve,
};

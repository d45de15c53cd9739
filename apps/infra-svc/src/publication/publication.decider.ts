import type { ClusterUid, EventData, Fact } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { ABSENT, evolve, type Names } from './publication.state.js';

interface NamedPublication {
  readonly uid: ClusterUid;
  readonly name: string;
}

export type PublicationCommand =
  | Command<'Block', EventData<'EndpointBlocked'>>
  | Command<'RecordReservation', EventData<'EndpointReserved'>>
  | Command<'RecordHeld', NamedPublication & { readonly isAvailable: boolean }>
  | Command<'RecordRelease', EventData<'EndpointReleased'>>;

export type PublicationFact = Fact<
  'EndpointBlocked' | 'EndpointReserved' | 'EndpointAvailable' | 'EndpointUnavailable' | 'EndpointReleased'
>;

const decide = (state: Names, command: PublicationCommand): readonly PublicationFact[] => {
  if (state.stage === 'absent' || state.uid !== command.data.uid) return nothing;
  const { stage, publication } = state;
  switch (command.type) {
    case 'Block': // The words may differ at each look: only another reason is news.
      return stage !== 'accepted' || publication.blocked?.reason === command.data.reason
        ? nothing
        : [{ type: 'EndpointBlocked', data: command.data }];
    case 'RecordReservation':
      return stage !== 'accepted' || publication.reserved !== undefined
        ? nothing
        : [{ type: 'EndpointReserved', data: command.data }];
    case 'RecordHeld': {
      const { isAvailable, ...data } = command.data;
      if (publication.reserved?.name !== data.name || (publication.held?.isAvailable ?? false) === isAvailable)
        return nothing;
      return [{ type: isAvailable ? 'EndpointAvailable' : 'EndpointUnavailable', data }];
    }
    case 'RecordRelease':
      return stage !== 'dismantled' || publication.released === true
        ? nothing
        : [{ type: 'EndpointReleased', data: command.data }];
  }
};

/** The name under which the API of a cluster is reached: reserved for one key as long as the cluster is there. */
export const publication: Decider<Names, PublicationCommand, PublicationFact> = {
  initial: ABSENT,
  reads: 'cluster',
  decide,
  evolve,
};

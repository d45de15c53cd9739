import { PublishedService, type ClusterUid, type EventData, type Fact } from '@fairlead/contracts';
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
  | Command<'RecordServices', EventData<'ServicesPublished'>>
  | Command<'RecordServiceHeld', NamedPublication & { readonly isAvailable: boolean }>
  | Command<'RecordRelease', EventData<'EndpointReleased'>>;

export type PublicationFact = Fact<
  | 'EndpointBlocked'
  | 'EndpointReserved'
  | 'EndpointAvailable'
  | 'EndpointUnavailable'
  | 'ServicesPublished'
  | 'PublishedServiceAvailable'
  | 'PublishedServiceUnavailable'
  | 'EndpointReleased'
>;

const FIELDS = Object.keys(PublishedService.shape);

/** Rows have their keys in the order of the database. */
const isSame = (one: readonly PublishedService[], other: readonly PublishedService[]): boolean =>
  JSON.stringify(one, FIELDS) === JSON.stringify(other, FIELDS);

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
    case 'RecordServices':
      return stage !== 'accepted' || isSame(publication.services ?? [], command.data.services)
        ? nothing
        : [{ type: 'ServicesPublished', data: command.data }];
    case 'RecordServiceHeld': {
      const { isAvailable, ...data } = command.data;
      const isPublished = publication.services?.some(({ fqdn }) => fqdn === data.name) === true;
      const was = publication.heldServices?.[data.name]?.isAvailable ?? false;
      if (!isPublished || was === isAvailable) return nothing;
      return [{ type: isAvailable ? 'PublishedServiceAvailable' : 'PublishedServiceUnavailable', data }];
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

import type { DeclaredSpec, EventData, StoredEvent } from '@fairlead/contracts';

/** What a cluster has at the tunnel. */
export interface Publication {
  /** The name that is reserved for its key, and what is needed to hold it; absent: none is. */
  readonly reserved?: Omit<EventData<'EndpointReserved'>, 'uid'>;
  /** Whether a control plane holds it, and since when; absent: none ever did. */
  readonly held?: { readonly isAvailable: boolean; readonly since: string };
  /** The cluster is dismantled, and neither its name nor its key is left. */
  readonly released?: true;
  /** Why there is no progress, and since when; absent: nothing is in the way. */
  readonly blocked?: Omit<EventData<'EndpointBlocked'>, 'uid'> & { readonly since: string };
}

export const NO_PUBLICATION: Publication = {};

export const isPublished = (spec: Pick<DeclaredSpec, 'endpoint'> | undefined): boolean =>
  spec?.endpoint?.publish === true;

export const publicationAfter = (before: Publication, event: StoredEvent): Publication => {
  switch (event.type) {
    case 'EndpointBlocked': {
      const { uid: _uid, ...blocked } = event.data;
      return { ...before, blocked: { ...blocked, since: event.meta.time } };
    }
    case 'EndpointReserved': {
      const { uid: _uid, ...reserved } = event.data;
      return { reserved };
    }
    case 'EndpointAvailable':
    case 'EndpointUnavailable':
      return { ...before, held: { isAvailable: event.type === 'EndpointAvailable', since: event.meta.time } };
    case 'EndpointReleased':
      return { released: true };
    default:
      return before;
  }
};

/** No machine is requested before the name of the API is known. */
export const isNameAwaited = ({ reserved }: Publication, isDesired: boolean): boolean =>
  isDesired && reserved === undefined;

/** Something of it may be left: the deletion does not end before it is released. */
export const isPublicationHeld = ({ reserved, released }: Publication, isDesired: boolean): boolean =>
  released !== true && (isDesired || reserved !== undefined);

/** Where clients reach the API. */
export const publishedServer = ({ name, port }: Pick<EventData<'EndpointReserved'>, 'name' | 'port'>): string =>
  `https://${name}:${port}`;

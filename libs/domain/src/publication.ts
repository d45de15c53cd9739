import {
  serviceClientOf,
  serviceNameOf,
  serviceUrlOf,
  without,
  type DeclaredSpec,
  type EventData,
  type NameSignIn,
  type PublishedService,
  type RealmClient,
  type RealmService,
  type StoredEvent,
} from '@fairlead/contracts';

/** Whether a control plane holds a name, and since when. */
export interface HeldSince {
  readonly isAvailable: boolean;
  readonly since: string;
}

/** What a cluster has at the tunnel. */
export interface Publication {
  /** The name that is reserved for its key, and what is needed to hold it; absent: none is. */
  readonly reserved?: Omit<EventData<'EndpointReserved'>, 'uid'>;
  /** Whether a control plane holds it, and since when; absent: none ever did. */
  readonly held?: HeldSince;
  /** Services of the cluster that ask to be published, and those that cannot be; absent: none ever asked. */
  readonly found?: Omit<EventData<'PublishedServicesFound'>, 'uid'>;
  /** Services whose names are for its key; absent: none. */
  readonly services?: readonly PublishedService[];
  /** Of the names of services; absent: none ever was held. */
  readonly heldServices?: Readonly<Record<string, HeldSince>>;
  /** The cluster is dismantled, and neither its name nor its key is left. */
  readonly released?: true;
  /** Why there is no progress, and since when; absent: nothing is in the way. */
  readonly blocked?: Omit<EventData<'EndpointBlocked'>, 'uid'> & { readonly since: string };
}

export const NO_PUBLICATION: Publication = {};

export const isPublished = (spec: Pick<DeclaredSpec, 'endpoint'> | undefined): boolean =>
  spec?.endpoint?.publish === true;

const servicesAfter = (
  before: Publication,
  event: StoredEvent<
    'PublishedServicesFound' | 'ServicesPublished' | 'PublishedServiceAvailable' | 'PublishedServiceUnavailable'
  >,
): Publication => {
  switch (event.type) {
    case 'PublishedServicesFound': {
      const { uid: _uid, ...found } = event.data;
      return { ...before, found };
    }
    case 'ServicesPublished': {
      const { services } = event.data;
      const names = new Set<string>(services.map(({ fqdn }) => fqdn));
      const held = Object.keys(before.heldServices ?? {}).filter((name) => !names.has(name));
      return {
        ...before,
        services,
        heldServices: held.reduce((left, name) => without(left, name), before.heldServices ?? {}),
      };
    }
    case 'PublishedServiceAvailable':
    case 'PublishedServiceUnavailable': {
      const isAvailable = event.type === 'PublishedServiceAvailable';
      const held = { isAvailable, since: event.meta.time };
      return { ...before, heldServices: { ...before.heldServices, [event.data.name]: held } };
    }
  }
};

export const publicationAfter = (before: Publication, event: StoredEvent): Publication => {
  switch (event.type) {
    case 'EndpointBlocked': {
      const { uid: _uid, ...blocked } = event.data;
      return { ...before, blocked: { ...blocked, since: event.meta.time } };
    }
    case 'EndpointReserved': {
      const { uid: _uid, ...reserved } = event.data;
      return { ...(before.found === undefined ? {} : { found: before.found }), reserved };
    }
    case 'EndpointAvailable':
    case 'EndpointUnavailable':
      return { ...before, held: { isAvailable: event.type === 'EndpointAvailable', since: event.meta.time } };
    case 'PublishedServicesFound':
    case 'ServicesPublished':
    case 'PublishedServiceAvailable':
    case 'PublishedServiceUnavailable':
      return servicesAfter(before, event);
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

type WithServices = Pick<Publication, 'reserved' | 'found'>;

/** Services that ask to be published, with their names; none before the cluster has a name itself. */
const namedServices = ({ reserved, found }: WithServices): readonly PublishedService[] =>
  reserved === undefined
    ? []
    : (found?.services ?? []).flatMap((service) => {
        const fqdn = serviceNameOf(service.subdomain, reserved.name);
        return fqdn === undefined ? [] : [{ ...service, fqdn }];
      });

/** The clients that they need at the realm of the cluster. */
export const realmServicesOf = (publication: WithServices): readonly RealmService[] =>
  namedServices(publication).map(({ subdomain, fqdn }) => ({
    name: subdomain,
    url: serviceUrlOf(fqdn, publication.reserved?.port ?? 0),
  }));

const hasClient = (client: RealmClient, { name, url }: RealmService): boolean =>
  client.services?.some((service) => service.name === name && service.url === url) === true;

/** Services that can be published: the realm has their clients. */
export const publishableServices = (
  publication: WithServices,
  client: RealmClient | undefined,
): readonly PublishedService[] => {
  const { reserved } = publication;
  if (client === undefined || reserved === undefined) return [];
  return namedServices(publication).filter(({ subdomain, fqdn }) =>
    hasClient(client, { name: subdomain, url: serviceUrlOf(fqdn, reserved.port) }),
  );
};

/** How users sign in at a service: its own group always may use it. */
export const signInOf = (
  { subdomain, fqdn, groups }: PublishedService,
  client: RealmClient,
  port: number,
): NameSignIn => {
  const { issuerUrl, ca, groupsClaim, group, usersGroup } = client;
  const others = groups ?? [group, ...(usersGroup === undefined ? [] : [usersGroup])];
  return {
    url: serviceUrlOf(fqdn, port),
    issuerUrl,
    ...(ca === undefined ? {} : { ca }),
    clientId: serviceClientOf(client, subdomain),
    groupsClaim,
    groups: [...new Set([`${group}/${subdomain}`, ...others])],
  };
};

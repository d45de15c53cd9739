import {
  serviceKeyOf,
  serviceNameOf,
  serviceUrlOf,
  type FoundService,
  type PublishedServiceView,
} from '@fairlead/contracts';
import type { Publication, RealmSelection } from '@fairlead/domain';

interface Rows {
  readonly publication: Publication;
  /** null: users of the cluster sign in at no realm. */
  readonly selection: RealmSelection | null;
}

const NONE = { subdomain: '', fqdn: '', url: '', label: '', icon: '', description: '', groups: [] };

const whyPending = (selection: RealmSelection | null): string =>
  selection === null
    ? 'users sign in to services at a realm, and the manifest declares none (spec.authentication.oidc)'
    : 'it waits for its name, and for its client at the realm';

const viewOf = (service: FoundService, { publication, selection }: Rows): PublishedServiceView => {
  const { reserved, services = [], heldServices = {} } = publication;
  const { namespace, name, subdomain, label, icon = '', description = '', groups = [] } = service;
  const fqdn = (reserved === undefined ? undefined : serviceNameOf(subdomain, reserved.name)) ?? '';
  const isPublished = fqdn !== '' && services.some((one) => one.fqdn === fqdn);
  return {
    ...{ key: serviceKeyOf(service), namespace, name },
    state: isPublished ? 'Published' : 'Pending',
    available: isPublished && heldServices[fqdn]?.isAvailable === true,
    ...{ subdomain, fqdn },
    url: reserved === undefined || fqdn === '' ? '' : serviceUrlOf(fqdn, reserved.port),
    ...{ label, icon, description, groups: [...groups] },
    message: isPublished ? '' : whyPending(selection),
  };
};

/** The Services of a cluster that ask to be published; undefined: none ever did. */
export const serviceViews = (rows: Rows): PublishedServiceView[] | undefined => {
  const { found } = rows.publication;
  if (found === undefined) return undefined;
  return [
    ...found.services.map((service) => viewOf(service, rows)),
    ...found.refused.map(({ namespace, name, reason, message }) => ({
      ...{ key: serviceKeyOf({ namespace, name }), namespace, name },
      ...{ state: 'Refused' as const, available: false, ...NONE },
      message: `${reason}: ${message}`,
    })),
  ];
};

import * as z from 'zod';
import { DnsName, isDnsName } from './published.names.js';
import { RealmService } from './authentication.js';

/** A Service of the cluster with this label, and the value `true`, asks to be published. */
export const PUBLISH_LABEL = 'fairlead.dev/publish';
/** Annotations of such a Service. */
export const PUBLISH_ANNOTATIONS = {
  name: 'fairlead.dev/publish-name',
  label: 'fairlead.dev/publish-label',
  icon: 'fairlead.dev/publish-icon',
  description: 'fairlead.dev/publish-description',
  port: 'fairlead.dev/publish-port',
  groups: 'fairlead.dev/publish-groups',
} as const;
export type PublishAnnotation = keyof typeof PUBLISH_ANNOTATIONS;

/** Of one cluster. */
export const PUBLISHED_SERVICES_MAX = 16;
export const REFUSED_SERVICES_MAX = 16;
export const SERVICE_GROUPS_MAX = 8;
export const SERVICE_LABEL_MAX = 64;
export const SERVICE_DESCRIPTION_MAX = 300;
export const SERVICE_ICON_MAX = 512;
export const SERVICE_GROUP_MAX = 253;
export const SERVICE_MESSAGE_MAX = 300;
const OBJECT_NAME_MAX = 63;

/** No control characters, and no spaces at its ends. */
const PLAIN = /^[^\x00-\x1f\x7f-\x9f\s]([^\x00-\x1f\x7f-\x9f]*[^\x00-\x1f\x7f-\x9f\s])?$/u;
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const ICON = /^https:\/\/[A-Za-z0-9.-]+(:\d{1,5})?(\/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?$/;
const GROUP_PATH = /^\/[^\x00-\x1f\x7f-\x9f,]+$/;

const objectName = z.string().max(OBJECT_NAME_MAX).regex(OBJECT_NAME);
const port = z.int().min(1).max(65_535);

/** The fields of a published Service that its annotations give, each as it must be. */
export const SERVICE_FIELDS = {
  subdomain: RealmService.shape.name.describe('The first label of its name'),
  label: z.string().max(SERVICE_LABEL_MAX).regex(PLAIN).describe('What it is called'),
  icon: z.string().max(SERVICE_ICON_MAX).regex(ICON).describe('Address of a picture'),
  description: z.string().max(SERVICE_DESCRIPTION_MAX).regex(PLAIN),
  groups: z.array(z.string().max(SERVICE_GROUP_MAX).regex(GROUP_PATH)).min(1).max(SERVICE_GROUPS_MAX),
} as const;

const ofService = {
  namespace: objectName.describe('Of the Service, in the cluster'),
  name: objectName.describe('Of the Service'),
  subdomain: SERVICE_FIELDS.subdomain,
  label: SERVICE_FIELDS.label,
  icon: SERVICE_FIELDS.icon.optional(),
  description: SERVICE_FIELDS.description.optional(),
  address: z.union([z.ipv4(), z.ipv6()]).describe('Its address in the cluster'),
  port: port.describe('Where it answers by HTTP there'),
  groups: SERVICE_FIELDS.groups
    .optional()
    .describe(
      'Groups of the realm that may use it, besides its own. Absent: the group of the cluster, and that of its users',
    ),
};

/** A Service of a cluster that asks to be published, and can be. */
export const FoundService = z.strictObject(ofService);
export type FoundService = z.infer<typeof FoundService>;

export const SERVICE_REFUSALS = ['Invalid', 'NameTaken', 'NoAddress', 'LimitReached'] as const;
export type ServiceRefusal = (typeof SERVICE_REFUSALS)[number];

/** A Service that asks to be published, and cannot be. */
export const RefusedService = z.strictObject({
  namespace: objectName,
  name: objectName,
  reason: z.enum(SERVICE_REFUSALS),
  message: z.string().max(SERVICE_MESSAGE_MAX),
});
export type RefusedService = z.infer<typeof RefusedService>;

/** A Service that is published. */
export const PublishedService = z.strictObject({ ...ofService, fqdn: DnsName });
export type PublishedService = z.infer<typeof PublishedService>;

/** A name that control planes hold for a service, and where it answers in the cluster. */
export const HeldService = z.strictObject({ name: DnsName, address: ofService.address, port });
export type HeldService = z.infer<typeof HeldService>;

/** What a service is known by: `<namespace>-<name>`. */
export const serviceKeyOf = ({ namespace, name }: Pick<FoundService, 'namespace' | 'name'>): string =>
  `${namespace}-${name}`;

/** The label of the API itself. */
export const API_SUBDOMAIN = 'api';
const API = `${API_SUBDOMAIN}.`;

/** `<subdomain>.<cluster>.<domain>`, beside the name of the API; undefined: it would be too long. */
export const serviceNameOf = (subdomain: string, apiName: string): string | undefined => {
  const name = `${subdomain}.${apiName.slice(API.length)}`;
  return apiName.startsWith(API) && isDnsName(name) ? name : undefined;
};

const HTTPS_PORT = 443;

/** Where browsers find it. */
export const serviceUrlOf = (fqdn: string, atPort: number): string =>
  `https://${fqdn}${atPort === HTTPS_PORT ? '' : `:${atPort}`}`;

export const SERVICE_STATES = ['Published', 'Pending', 'Refused'] as const;

export const PublishedServiceView = z
  .strictObject({
    key: z.string().describe('<namespace>-<name> of the Service'),
    namespace: z.string(),
    name: z.string(),
    state: z
      .enum(SERVICE_STATES)
      .describe('Pending: its name is not reserved yet, or its client at the realm is not made yet'),
    available: z.boolean().describe('A control plane holds its name'),
    subdomain: z.string().describe('Empty: it is refused'),
    fqdn: z.string().describe('Empty: it is refused'),
    url: z.string().describe('Where browsers find it; empty: it is refused'),
    label: z.string(),
    icon: z.string().describe('Empty: none'),
    description: z.string().describe('Empty: none'),
    groups: z.array(z.string()).describe('Groups of the realm that may use it, besides its own; empty: none is named'),
    message: z.string().describe('Why it is not published; empty: it is'),
  })
  .meta({ id: 'PublishedService', description: 'A Service of a cluster that asks to be published' });
export type PublishedServiceView = z.infer<typeof PublishedServiceView>;

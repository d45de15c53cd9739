import {
  API_SUBDOMAIN,
  FoundService,
  PUBLISH_ANNOTATIONS,
  PUBLISHED_SERVICES_MAX,
  REALM_SERVICES_MAX,
  REFUSED_SERVICES_MAX,
  SERVICE_FIELDS,
  SERVICE_GROUPS_MAX,
  SERVICE_LABEL_MAX,
  type PublishAnnotation,
  type RefusedService,
  type ServiceRefusal,
} from '@fairlead/contracts';

/** A Service that asks to be published, as Kubernetes lists it. Its annotations are anyone's text. */
export interface ListedService {
  readonly namespace: string;
  readonly name: string;
  /** By the clock of the API server: no user chooses it. */
  readonly createdMs: number;
  readonly type: string;
  /** Its address in the cluster; empty, or `None`: it has none. */
  readonly address: string;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
  /** Absent: it has no such annotation. */
  readonly annotations: Readonly<Partial<Record<PublishAnnotation, string>>>;
}

/** What the Services of a cluster ask for, as it is recorded. */
export interface ServiceFindings {
  readonly services: readonly FoundService[];
  readonly refused: readonly RefusedService[];
}

export const NO_SERVICES: ServiceFindings = { services: [], refused: [] };

type Judged = { readonly service: FoundService } | { readonly reason: ServiceRefusal; readonly message: string };

const invalid = (message: string): Judged => ({ reason: 'Invalid', message });

/** The port that is named, or that has the number; without either, the only one. */
const portOf = ({ ports, annotations }: ListedService): number | undefined => {
  const tcp = ports.filter(({ protocol }) => protocol === 'TCP');
  const asked = annotations.port;
  if (asked === undefined) return tcp.length === 1 ? tcp[0]?.port : undefined;
  return tcp.find(({ name, port }) => name === asked || String(port) === asked)?.port;
};

const groupsIn = (text: string): readonly string[] => {
  // Longer lists are refused, and not taken apart.
  const groups = text.split(',', SERVICE_GROUPS_MAX + 1).map((group) => group.trim());
  return [...new Set(groups)].toSorted();
};

const FIELDS = ['label', 'icon', 'description'] as const;

const judged = (listed: ListedService): Judged => {
  const { name, namespace, address, annotations, type } = listed;
  const fault = (field: PublishAnnotation, words: string): Judged =>
    invalid(`the annotation ${PUBLISH_ANNOTATIONS[field]} ${words}`);
  const subdomain = annotations.name ?? name;
  if (!SERVICE_FIELDS.subdomain.safeParse(subdomain).success)
    return fault('name', 'must be at most 40 lowercase letters, digits and -, beginning with a letter');
  for (const field of FIELDS)
    if (annotations[field] !== undefined && !SERVICE_FIELDS[field].safeParse(annotations[field]).success)
      return fault(field, field === 'icon' ? 'must be an https URL' : 'is too long, or has control characters');
  const groups = annotations.groups === undefined ? undefined : groupsIn(annotations.groups);
  if (groups !== undefined && !SERVICE_FIELDS.groups.safeParse(groups).success)
    return fault(
      'groups',
      `must be at most ${SERVICE_GROUPS_MAX} paths of groups, such as /team-a, separated by commas`,
    );
  const port = portOf(listed);
  if (port === undefined) return fault('port', 'must name one of its TCP ports, if there are several');
  const { label = name.slice(0, SERVICE_LABEL_MAX), icon, description } = annotations;
  const found = FoundService.safeParse({
    ...{ namespace, name, subdomain, label },
    ...(icon === undefined ? {} : { icon }),
    ...(description === undefined ? {} : { description }),
    ...{ address, port },
    ...(groups === undefined ? {} : { groups }),
  });
  if (found.success) return { service: found.data };
  return type === 'ExternalName' || address === '' || address === 'None'
    ? { reason: 'NoAddress', message: 'it has no address in the cluster (clusterIP)' }
    : invalid('its name or its address is not as Kubernetes has them');
};

/** Whether its name and namespace can be recorded: they are labels of DNS in Kubernetes. */
const isNameable = ({ namespace, name }: ListedService): boolean =>
  FoundService.shape.namespace.safeParse(namespace).success && FoundService.shape.name.safeParse(name).success;

const byKey = (one: ListedService, other: ListedService): number =>
  `${one.namespace}/${one.name}` < `${other.namespace}/${other.name}` ? -1 : 1;

/** The oldest first: whoever comes later takes no name, and no place. */
const byAge = (one: ListedService, other: ListedService): number =>
  one.createdMs === other.createdMs ? byKey(one, other) : one.createdMs - other.createdMs;

/** What is published of a list of Services. `taken`: names that the cluster uses already. */
export const serviceFindings = (listed: readonly ListedService[], taken: readonly string[]): ServiceFindings => {
  const services: FoundService[] = [];
  const refused: RefusedService[] = [];
  const max = Math.min(PUBLISHED_SERVICES_MAX, REALM_SERVICES_MAX - taken.length);
  const names = new Map([API_SUBDOMAIN, ...taken].map((name) => [name, 'the cluster itself']));
  for (const one of listed.filter(isNameable).toSorted(byAge)) {
    const { namespace, name } = one;
    const refuse = (reason: ServiceRefusal, message: string): void => {
      if (refused.length < REFUSED_SERVICES_MAX) refused.push({ namespace, name, reason, message });
    };
    const answer = judged(one);
    if (!('service' in answer)) {
      refuse(answer.reason, answer.message);
      continue;
    }
    const holder = names.get(answer.service.subdomain);
    if (holder !== undefined) refuse('NameTaken', `the name ${answer.service.subdomain} is used by ${holder}`);
    else if (services.length >= max)
      refuse('LimitReached', `${max} services of the cluster are published, and no more can be`);
    else {
      names.set(answer.service.subdomain, `${namespace}/${name}`);
      services.push(answer.service);
    }
  }
  return { services, refused };
};

const NAMES = [...Object.keys(FoundService.shape), 'reason', 'message', 'services', 'refused'];

/** Equal findings have equal texts, whatever the order of their fields is. */
export const findingsText = ({ services, refused }: ServiceFindings): string =>
  services.length + refused.length === 0 ? '' : JSON.stringify({ services, refused }, NAMES);

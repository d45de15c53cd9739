import { groupVersion, versionsOf, type ResourceDefinition, type Subresource } from '../resources/resource.js';

/** The discovery documents of the API server, generated from the resources that it serves. */

const SCALE = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
const EVICTION = { group: 'policy', version: 'v1', kind: 'Eviction' };

const SUBRESOURCE_KINDS: Partial<
  Record<Subresource, { readonly group: string; readonly version: string; readonly kind: string }>
> = {
  scale: SCALE,
  eviction: EVICTION,
  binding: { group: '', version: 'v1', kind: 'Binding' },
  exec: { group: '', version: 'v1', kind: 'PodExecOptions' },
  proxy: { group: '', version: 'v1', kind: 'PodProxyOptions' },
};

const SUBRESOURCE_VERBS: Partial<Record<Subresource, readonly string[]>> = {
  eviction: ['create'],
  binding: ['create'],
  log: ['get'],
  exec: ['create', 'get'],
  proxy: ['create', 'delete', 'get', 'patch', 'update'],
  finalize: ['update'],
};
const DEFAULT_SUBRESOURCE_VERBS = ['get', 'patch', 'update'];

export const groupsOf = (resources: readonly ResourceDefinition[]): readonly string[] => [
  ...new Set(resources.map(({ group }) => group).filter((group) => group !== '')),
];

export const versionsOfGroup = (resources: readonly ResourceDefinition[], group: string): readonly string[] => [
  ...new Set(resources.filter((resource) => resource.group === group).flatMap(versionsOf)),
];

export const apiVersions = (address: string): object => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
});

export const apiGroup = (resources: readonly ResourceDefinition[], group: string): object => {
  const versions = versionsOfGroup(resources, group).map((version) => ({
    groupVersion: `${group}/${version}`,
    version,
  }));
  return { name: group, versions, preferredVersion: versions[0] };
};

export const apiGroupList = (resources: readonly ResourceDefinition[]): object => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groupsOf(resources).map((group) => apiGroup(resources, group)),
});

const servedIn = (
  resources: readonly ResourceDefinition[],
  group: string,
  version: string,
): readonly ResourceDefinition[] =>
  resources.filter((resource) => resource.group === group && versionsOf(resource).includes(version));

export const apiResourceList = (resources: readonly ResourceDefinition[], group: string, version: string): object => ({
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: groupVersion(group, version),
  resources: servedIn(resources, group, version).flatMap((resource) => [
    {
      name: resource.plural,
      singularName: resource.singular,
      namespaced: resource.namespaced,
      kind: resource.kind,
      verbs: resource.verbs,
      ...(resource.shortNames.length === 0 ? {} : { shortNames: resource.shortNames }),
      ...(resource.categories.length === 0 ? {} : { categories: resource.categories }),
    },
    ...resource.subresources.map((subresource) => {
      const kind = SUBRESOURCE_KINDS[subresource];
      return {
        name: `${resource.plural}/${subresource}`,
        singularName: '',
        namespaced: resource.namespaced,
        ...(kind ?? { kind: resource.kind }),
        verbs: SUBRESOURCE_VERBS[subresource] ?? DEFAULT_SUBRESOURCE_VERBS,
      };
    }),
  ]),
});

/** Aggregated discovery (apidiscovery.k8s.io): all groups of one root in one response. */
export const aggregatedDiscovery = (
  resources: readonly ResourceDefinition[],
  groups: readonly string[],
  version: string,
): object => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: `apidiscovery.k8s.io/${version}`,
  metadata: {},
  items: groups.map((group) => ({
    metadata: { name: group, creationTimestamp: null },
    versions: versionsOfGroup(resources, group).map((groupVersionName) => ({
      version: groupVersionName,
      freshness: 'Current',
      resources: servedIn(resources, group, groupVersionName).map((resource) => aggregated(resource, groupVersionName)),
    })),
  })),
});

const aggregated = (resource: ResourceDefinition, version: string): object => ({
  resource: resource.plural,
  responseKind: { group: resource.group, version, kind: resource.kind },
  scope: resource.namespaced ? 'Namespaced' : 'Cluster',
  singularResource: resource.singular,
  verbs: resource.verbs,
  shortNames: resource.shortNames,
  categories: resource.categories,
  subresources: resource.subresources.map((subresource) => ({
    subresource,
    responseKind: SUBRESOURCE_KINDS[subresource] ?? { group: resource.group, version, kind: resource.kind },
    verbs: SUBRESOURCE_VERBS[subresource] ?? DEFAULT_SUBRESOURCE_VERBS,
  })),
});

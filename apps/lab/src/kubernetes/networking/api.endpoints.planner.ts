import { create, replace, type Operation } from '../operations/operation.js';
import { internalAddress } from '../nodes/node.planner.js';
import type { Endpoints, EndpointSlice, Node } from '../objects/core.types.js';
import type { Draft } from '../objects/kube.object.js';
import { ENDPOINT_SLICES, ENDPOINTS } from '../resources/builtin.resources.js';

export interface ApiEndpointsWorld {
  readonly controlPlanes: readonly Node[];
  readonly endpoints: Endpoints | undefined;
  readonly slice: EndpointSlice | undefined;
}

const PORTS = [{ name: 'https', port: 6443, protocol: 'TCP' }];
const CHANGED = 'the control planes have changed';
const FIRST = 'the API servers register themselves';
const NAMED = { name: 'kubernetes', namespace: 'default' };

/**
 * The endpoints of the service `kubernetes`: the API servers of the control planes, as Endpoints and as an
 * EndpointSlice.
 */
export const planApiEndpoints = (world: ApiEndpointsWorld): readonly Operation[] => {
  const addresses = world.controlPlanes.map(internalAddress);
  return [planObject(world, addresses), planSlice(world, addresses)];
};

const planObject = ({ endpoints }: ApiEndpointsWorld, addresses: readonly string[]): Operation => {
  const subsets = addresses.length === 0 ? [] : [{ addresses: addresses.map((ip) => ({ ip })), ports: PORTS }];
  if (endpoints !== undefined) return replace(ENDPOINTS, { ...endpoints, subsets }, CHANGED);
  const draft: Draft<Endpoints> = { apiVersion: 'v1', kind: 'Endpoints', metadata: NAMED, subsets };
  return create(ENDPOINTS, draft, FIRST);
};

const planSlice = ({ slice }: ApiEndpointsWorld, addresses: readonly string[]): Operation => {
  const content = {
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: PORTS,
  };
  if (slice !== undefined) return replace(ENDPOINT_SLICES, { ...slice, ...content }, CHANGED);
  const draft: Draft<EndpointSlice> = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...NAMED, labels: { 'kubernetes.io/service-name': NAMED.name } },
    addressType: 'IPv4',
    ...content,
  };
  return create(ENDPOINT_SLICES, draft, FIRST);
};

import type { Node, Lease } from '../objects/core.types.js';
import type { KubeObject } from '../objects/kube.object.js';
import { apiVersionOf, groupVersion, qualifiedName, type ResourceDefinition } from '../resources/resource.js';

/**
 * Heartbeats of running kubelets, computed on read: the simulation does not write them. `leaseRenewal` and
 * `nodeHeartbeat` return a timestamp, or undefined if the stored one is current.
 */
export interface Heartbeats {
  leaseRenewal(lease: Lease): string | undefined;
  nodeHeartbeat(node: Node): string | undefined;
}

/** The object as returned to a client: in the requested version, with computed heartbeats. */
export const present = (
  resource: ResourceDefinition,
  object: KubeObject,
  { version, heartbeats }: { readonly version: string; readonly heartbeats: Heartbeats },
): KubeObject => {
  const served = withHeartbeat(qualifiedName(resource), object, heartbeats);
  return version === resource.version && served.apiVersion === apiVersionOf(resource)
    ? served
    : { ...served, apiVersion: groupVersion(resource.group, version) };
};

const withHeartbeat = (name: string, object: KubeObject, heartbeats: Heartbeats): KubeObject => {
  if (name === 'leases.coordination.k8s.io') return renewed(object as Lease, heartbeats);
  return name === 'nodes' ? alive(object as Node, heartbeats) : object;
};

const renewed = (lease: Lease, heartbeats: Heartbeats): Lease => {
  const renewTime = heartbeats.leaseRenewal(lease);
  return renewTime === undefined
    ? lease
    : { ...lease, spec: { ...lease.spec, renewTime: later(lease.spec.renewTime, renewTime) } };
};

const alive = (node: Node, heartbeats: Heartbeats): Node => {
  const lastHeartbeatTime = heartbeats.nodeHeartbeat(node);
  if (lastHeartbeatTime === undefined || node.status?.conditions === undefined) return node;
  const conditions = node.status.conditions.map((condition) => ({
    ...condition,
    lastHeartbeatTime: later(condition.lastHeartbeatTime, lastHeartbeatTime),
  }));
  return { ...node, status: { ...node.status, conditions } };
};

/** Timestamps in the same format can be compared as strings. A heartbeat is never older than the stored time. */
const later = (written: string | undefined, beat: string): string =>
  written !== undefined && written > beat ? written : beat;

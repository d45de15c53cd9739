import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Deletion } from '../api/deletion.js';
import type { Identity } from '../api/identity.js';
import type { ObjectApi } from '../api/object.api.js';
import { present, type Heartbeats } from '../api/present.js';
import type { EvictionFault } from '../disruption/eviction.planner.js';
import type { Clock } from '../clock/clock.js';
import type { EtcdUnderTool } from '../etcd/etcd.tools.js';
import type { Pod } from '../objects/core.types.js';
import type { KubeObject } from '../objects/kube.object.js';
import type { ResourceDefinition } from '../resources/resource.js';
import type { ResourceRegistry } from '../resources/resource.registry.js';
import type { ObjectStore } from '../store/object.store.js';
import { partialMetadata, tableOf, type TableOptions } from '../tables/table.js';
import type { DeprecatedRequests } from './deprecated.requests.js';
import type { AnswerForm } from './negotiation.js';
import type { ResourceRequest } from './request.info.js';

/** The parts of a cluster that an API server uses. */
export interface ServedCluster {
  readonly name: string;
  readonly store: ObjectStore;
  readonly registry: ResourceRegistry;
  readonly api: ObjectApi;
  readonly deletion: Deletion;
  readonly clock: Clock;
  readonly heartbeats: Heartbeats;
  readonly deprecatedRequests: DeprecatedRequests;
  readonly etcd: EtcdUnderTool;
  checkToken(token: string): boolean;
  /** Called after a CertificateSigningRequest was approved, so that the cluster signs it. */
  sign(name: string): void;
  evictionFault(node: string): EvictionFault | undefined;
  hasQuorum(): boolean;
  /** Files written by programs in a pod's container, kept while the pod exists. */
  filesOf(pod: Pod): Map<string, Buffer>;
  /** Whether the API server of that control plane is listening. */
  servesApi(node: string): boolean;
}

/** One request about objects, from parsing to response. */
export interface Exchange {
  readonly cluster: ServedCluster;
  readonly identity: Identity;
  readonly info: ResourceRequest;
  readonly resource: ResourceDefinition;
  readonly form: AnswerForm;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The object in the version of the request path. */
export const presented = ({ cluster, info, resource }: Exchange, object: KubeObject): KubeObject =>
  present(resource, object, { version: info.version, heartbeats: cluster.heartbeats });

/** The object in the format that the client requested. */
export const shaped = (exchange: Exchange, object: KubeObject): unknown => {
  const { form, resource } = exchange;
  const served = presented(exchange, object);
  switch (form.as) {
    case 'object':
      return served;
    case 'metadata':
      return partialMetadata(served, form.metaVersion);
    case 'table':
      return tableOf(resource, [served], tableOptions(exchange, { resourceVersion: object.metadata.resourceVersion }));
  }
};

export const tableOptions = ({ cluster, form, info }: Exchange, listMetadata: object): TableOptions => {
  const include = info.query.get('includeObject');
  return {
    metaVersion: form.metaVersion,
    includeObject: include === 'None' || include === 'Object' ? include : 'Metadata',
    nowMs: cluster.clock.now(),
    listMetadata,
  };
};

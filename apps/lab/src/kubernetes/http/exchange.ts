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

/** What an API server needs of the cluster behind it. */
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
  /** The cluster's signer looks at a CertificateSigningRequest after it was approved. */
  sign(name: string): void;
  evictionFault(node: string): EvictionFault | undefined;
  hasQuorum(): boolean;
  /** The files that programs in a pod's container have written, as long as the pod lives. */
  filesOf(pod: Pod): Map<string, Buffer>;
  /** The API server of that control plane listens. */
  servesApi(node: string): boolean;
}

/** One request about objects, from its parsing to its answer. */
export interface Exchange {
  readonly cluster: ServedCluster;
  readonly identity: Identity;
  readonly info: ResourceRequest;
  readonly resource: ResourceDefinition;
  readonly form: AnswerForm;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The object in the version of the request's path. */
export const presented = ({ cluster, info, resource }: Exchange, object: KubeObject): KubeObject =>
  present(resource, object, { version: info.version, heartbeats: cluster.heartbeats });

/** One object in the form the client asked for. */
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

import {
  refuse,
  type ClusterName,
  type ClusterRequest,
  type ClusterUid,
  type Namespace,
  type NodeName,
  type NodeSet,
  type NodesRequest,
  type Refusal,
} from '@fairlead/contracts';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { createHash, randomUUID } from 'node:crypto';
import { canonicalJson } from '../common/json.js';
import { Registry, type Registered } from '../common/registry.js';
import { causeOf, type Caller } from '../http/caller.js';
import { orRefuse, refuseAny } from '../http/refused.js';
import { clusters, type ClusterCommand, type ClusterState, type UnknownConnection } from './clusters.decider.js';
import { faultsOfCluster, faultsOfNodes, toClusterSpec, toNodeSet } from './clusters.rules.js';

/** Which cluster a request is about. */
export interface ClusterAddress {
  readonly namespace: Namespace;
  readonly cluster: ClusterName;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const namespaceFaults = ({ namespaces }: Registered, namespace: Namespace): readonly Refusal[] =>
  namespaces.has(namespace) ? [] : [refuse('namespace.unknown', { namespace })];

const unknownConnections = (
  { connections }: Registered,
  sets: readonly NodeSet[],
  field: string,
): readonly UnknownConnection[] =>
  sets.flatMap(({ connection }, index) =>
    connections.has(connection) ? [] : [{ connection, field: `${field}[${index}].connection` }],
  );

/** Turns requests about clusters into decisions. */
@Injectable()
export class ClusterCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(Registry) private readonly registry: Registry,
  ) {}

  async create(namespace: Namespace, request: ClusterRequest, caller: Caller): Promise<Decided<ClusterState>> {
    const known = await this.registry.latest();
    refuseAny(faultsOfCluster(request, namespaceFaults(known, namespace)));
    const spec = toClusterSpec(request);
    return this.decide(
      {
        type: 'RequestCluster',
        data: {
          namespace,
          cluster: spec.name,
          uid: randomUUID() as ClusterUid,
          spec,
          requestHash: sha256(canonicalJson(spec)),
          actor: caller.identity.actor,
          unknownConnections: [
            ...unknownConnections(known, [spec.controlPlane], 'controlPlane'),
            ...unknownConnections(known, spec.workers, 'worker'),
          ],
        },
      },
      { namespace, cluster: spec.name },
      caller,
    );
  }

  async addNodes(address: ClusterAddress, request: NodesRequest, caller: Caller): Promise<Decided<ClusterState>> {
    const known = await this.registry.latest();
    refuseAny([...namespaceFaults(known, address.namespace), ...faultsOfNodes(request)]);
    const workers = (request.worker ?? []).map(toNodeSet);
    const { idempotencyKey, identity } = caller;
    return this.decide(
      {
        type: 'RequestNodes',
        data: {
          ...address,
          // With a key, a repetition is known even when the first answer was never stored.
          requestId: idempotencyKey === undefined ? randomUUID() : sha256(`${identity.actor}\n${idempotencyKey}`),
          workers,
          ...(request.onFailure === undefined ? {} : { onFailure: request.onFailure }),
          unknownConnections: unknownConnections(known, workers, 'worker'),
        },
      },
      address,
      caller,
    );
  }

  abandonNodes(address: ClusterAddress, caller: Caller): Promise<Decided<ClusterState>> {
    return this.decide({ type: 'AbandonNodes', data: address }, address, caller);
  }

  removeNode(address: ClusterAddress, node: NodeName, caller: Caller): Promise<Decided<ClusterState>> {
    return this.decide({ type: 'RemoveNode', data: { ...address, node } }, address, caller);
  }

  retry(address: ClusterAddress, caller: Caller): Promise<Decided<ClusterState>> {
    return this.decide({ type: 'RetryCluster', data: address }, address, caller);
  }

  delete(address: ClusterAddress, caller: Caller): Promise<Decided<ClusterState>> {
    return this.decide({ type: 'DeleteCluster', data: address }, address, caller);
  }

  private async decide(
    command: ClusterCommand,
    { namespace, cluster }: ClusterAddress,
    caller: Caller,
  ): Promise<Decided<ClusterState>> {
    return orRefuse(await this.handle(clusters, { namespace, cluster, context: 'wish' }, command, causeOf(caller)));
  }
}

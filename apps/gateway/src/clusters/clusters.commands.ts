import {
  ConnectionName,
  refuse,
  type ClusterRequest,
  cloudControllerOf,
  rolesFault,
  type ClusterSpec,
  type ClusterUid,
  type Namespace,
  type NodeName,
  type NodeSet,
  type NodeSetRequest,
  type NodeReplacement,
  type NodesRequest,
  type Refusal,
} from '@fairlead/contracts';
import {
  hasQuota,
  mayUse,
  quotaRefusal,
  type OwnReleases,
  type Registered,
  type Desired,
  type MachineFields,
  faultsOfCluster,
  faultsOfNodes,
  setFields,
  toClusterSpec,
  toNodeSet,
} from '@fairlead/domain';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { InstallationReleases } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { createHash, randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { Identity } from '../access/identity.js';
import type { ClusterAddress } from '../common/cluster.address.js';
import { canonicalJson } from '../common/json.js';
import { Registry } from '../common/registry.js';
import { maySee } from '../connections/connection.access.js';
import type { RegisteredConnectionDoc } from '../connections/connections.projection.js';
import { ConnectionQueries } from '../connections/connections.queries.js';
import { causeOf, type Caller, type Exchange } from '../http/caller.js';
import { unwrap, throwIfRefused } from '../http/refusal.error.js';
import { clusters, type ClusterCommand, type ClusterState, type RemoveNode } from './clusters.decider.js';
import { apiAddressFaults } from './api.address.rules.js';
import { unknownSpecs, unknownZones, type AskedMachines } from './offered.specs.js';
import { retries } from './retries.decider.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The same for equal specs: how a repetition of a request is known. */
export const hashOfSpec = (spec: ClusterSpec): string => sha256(canonicalJson(spec));

/** Who asks for machines, and for a new cluster or for one that there is. */
export interface MachineAsker {
  readonly namespace: Namespace;
  readonly identity: Identity;
  readonly isNew: boolean;
  /** Of one that asks again. */
  readonly uid?: ClusterUid | undefined;
}

export const namespaceFaults = ({ namespaces }: Registered, namespace: Namespace): readonly Refusal[] =>
  namespaces.has(namespace) ? [] : [refuse('namespace.unknown', { namespace })];

/** Connections that do not exist, or are not for this namespace. */
const closedConnections = (
  { connections }: Registered,
  namespace: Namespace,
  {
    sets,
    identity,
  }: {
    readonly sets: readonly {
      readonly set: Pick<NodeSet, 'connection'>;
      readonly fields: Pick<MachineFields, 'connection'>;
    }[];
    readonly identity: Identity;
  },
): readonly Refusal[] =>
  sets.flatMap(({ set: { connection }, fields: { connection: at } }) => {
    const known = connections.get(connection);
    // That it is refused must not reveal that there is one of that name.
    if (known === undefined || !maySee(identity, known)) return [refuse('connection.unknown', { connection }, at)];
    return mayUse(known, namespace) ? [] : [refuse('connection.not-granted', { connection, namespace }, at)];
  });

/** Sets of a request as CB-Ladybug's routes name them. */
const asked = <Set>(field: 'controlPlane' | 'worker', sets: readonly Set[]) =>
  sets.map((set, index) => ({ set, fields: setFields(field, index) }));

/** Empty where one of them is not a name: that is refused first. */
const withNamedConnections = (sets: readonly NodeSetRequest[] = []): readonly Pick<NodeSet, 'connection'>[] => {
  const named = z.array(z.object({ connection: ConnectionName })).safeParse(sets);
  return named.success ? named.data : [];
};

/** Of the others, not even what they offer is shown. */
const usable = (
  { connections }: Registered,
  namespace: Namespace,
  docs: readonly RegisteredConnectionDoc[],
): readonly RegisteredConnectionDoc[] =>
  docs.filter(({ name }) => {
    const known = connections.get(name);
    return known !== undefined && mayUse(known, namespace);
  });

/** As in CB-Ladybug, a cluster of one cloud has its cloud controller, where the connection lets it have one. */
const withCloudController = (spec: ClusterSpec, { connections }: Registered): ClusterSpec => {
  const connection = connections.get(spec.controlPlane.connection);
  if (connection === undefined || spec.serviceType !== 'single') return spec;
  const cloudController = cloudControllerOf(connection);
  return cloudController === undefined ? spec : { ...spec, cloudController };
};

/** Turns requests about clusters into decisions. */
@Injectable()
export class ClusterCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(Registry) private readonly registry: Registry,
    @Inject(ConnectionQueries) private readonly connections: ConnectionQueries,
    @Inject(InstallationReleases) private readonly releases: InstallationReleases,
  ) {}

  async create(
    namespace: Namespace,
    request: ClusterRequest,
    { caller, rules }: Pick<Exchange, 'caller' | 'rules'>,
  ): Promise<Decided<ClusterState>> {
    const [known, own] = await Promise.all([this.registry.latest(), this.releases.latest()]);
    throwIfRefused(this.requestFaults({ known, own }, namespace, request, caller.identity));
    const requested = toClusterSpec(request);
    const spec = withCloudController(requested, known);
    const asker = { namespace, identity: caller.identity, isNew: true };
    const machineFaults = await this.machineFaults(known, asker, [
      ...asked('controlPlane', [spec.controlPlane]),
      ...asked('worker', spec.workers),
    ]);
    const roleFault = rolesFault(spec);
    const connectionFaults = [
      ...machineFaults,
      ...apiAddressFaults(known, spec.controlPlane, setFields('controlPlane', 0)),
      ...(roleFault === undefined ? [] : [roleFault]),
    ];
    return this.decide(
      {
        type: 'RequestCluster',
        data: {
          namespace,
          cluster: spec.name,
          uid: randomUUID() as ClusterUid,
          spec,
          requestHash: hashOfSpec(requested),
          actor: caller.identity.actor,
          recreatesFailed: rules.recreatesFailed,
          connectionFaults,
        },
      },
      { namespace, cluster: spec.name },
      caller,
    );
  }

  /** In CB-Ladybug's order: connections before counts. What is wrong with connections alone is left to the decider, which knows repetitions. */
  private requestFaults(
    { known, own }: { readonly known: Registered; readonly own: OwnReleases },
    namespace: Namespace,
    request: ClusterRequest,
    identity: Identity,
  ): readonly Refusal[] {
    const unknown = namespaceFaults(known, namespace);
    if (faultsOfCluster(request, unknown, own).length === 0) return [];
    const closed = (['controlPlane', 'worker'] as const).flatMap((field) =>
      closedConnections(known, namespace, { identity, sets: asked(field, withNamedConnections(request[field])) }),
    );
    return faultsOfCluster(request, unknown.length > 0 ? unknown : closed, own);
  }

  /** The releases that the installation has beside the built-in ones, as the log has them. */
  ownReleases(): Promise<OwnReleases> {
    return this.releases.latest();
  }

  /** Namespaces and connections, as the log has them. */
  registered(): Promise<Registered> {
    return this.registry.latest();
  }

  async addNodes(address: ClusterAddress, request: NodesRequest, caller: Caller): Promise<Decided<ClusterState>> {
    const known = await this.registry.latest();
    throwIfRefused([...namespaceFaults(known, address.namespace), ...faultsOfNodes(request)]);
    const workers = (request.worker ?? []).map(toNodeSet);
    const { identity, commandId = randomUUID() } = caller;
    const asker = { namespace: address.namespace, identity, isNew: false };
    return this.decide(
      {
        type: 'RequestNodes',
        data: {
          ...address,
          requestId: commandId,
          workers,
          ...(request.onFailure === undefined ? {} : { onFailure: request.onFailure }),
          connectionFaults: await this.machineFaults(known, asker, asked('worker', workers)),
        },
      },
      address,
      caller,
    );
  }

  abandonNodes(address: ClusterAddress, caller: Caller): Promise<Decided<ClusterState>> {
    return this.decide({ type: 'AbandonNodes', data: address }, address, caller);
  }

  removeNode(
    address: ClusterAddress,
    removal: Pick<RemoveNode['data'], 'node' | 'keepsInitialControlPlane' | 'allowsEven'>,
    caller: Caller,
  ): Promise<Decided<ClusterState>> {
    return this.decide({ type: 'RemoveNode', data: { ...address, ...removal } }, address, caller);
  }

  /** infra-svc checks whether the new machine can be made: the template of its pool may have changed since the old one was made. */
  replaceNode(
    address: ClusterAddress,
    node: NodeName,
    { order, reason }: NodeReplacement,
    caller: Caller,
  ): Promise<Decided<ClusterState>> {
    const requestId = caller.commandId ?? randomUUID();
    return this.decide({ type: 'ReplaceNode', data: { ...address, requestId, node, order, reason } }, address, caller);
  }

  async retry(address: ClusterAddress, caller: Caller): Promise<Decided<ClusterState>> {
    const { namespace, cluster } = address;
    const stream = { namespace, cluster, context: 'request' };
    const command = { type: 'RetryCluster', data: address } as const;
    const decided = unwrap(await this.handle(retries, stream, command, causeOf(caller)));
    return { ...decided, state: decided.state.cluster };
  }

  delete(address: ClusterAddress, caller: Caller): Promise<Decided<ClusterState>> {
    return this.decide({ type: 'DeleteCluster', data: address }, address, caller);
  }

  setPause(
    type: 'PauseCluster' | 'ResumeCluster',
    address: ClusterAddress,
    reason: string,
    caller: Caller,
  ): Promise<Decided<ClusterState>> {
    return this.decide({ type, data: { ...address, reason } }, address, caller);
  }

  /** Why the caller's namespace cannot have these machines: connections, sizes, quotas. */
  async machineFaults(
    known: Registered,
    { namespace, identity, isNew, uid }: MachineAsker,
    requested: readonly AskedMachines[],
  ): Promise<readonly Refusal[]> {
    const offered = usable(known, namespace, await this.connections.all());
    const machines = requested.map(({ set }) => set);
    return [
      ...closedConnections(known, namespace, { sets: requested, identity }),
      ...unknownSpecs(offered, requested),
      ...unknownZones(offered, requested),
      ...(await this.capacityRefusals(known, { namespace, uid, more: !isNew, machines })),
    ];
  }

  /** infra-svc asks again, in the order of the log: of two requests at once only the first one sees the room. */
  private async capacityRefusals(known: Registered, desired: Desired): Promise<readonly Refusal[]> {
    if (!hasQuota(known, desired)) return [];
    const refusal = quotaRefusal(known, await this.registry.usage(), desired);
    return refusal === undefined ? [] : [refusal];
  }

  private async decide(
    command: ClusterCommand,
    { namespace, cluster }: ClusterAddress,
    caller: Caller,
  ): Promise<Decided<ClusterState>> {
    return unwrap(await this.handle(clusters, { namespace, cluster, context: 'request' }, command, causeOf(caller)));
  }
}

import { isRefusal, refuse, type ConnectionName, type Refusal } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { Inject, Injectable } from '@nestjs/common';
import { groupOf } from '../providers/group.names.js';
import type { Connections, OpenConnection } from '../providers/provider.ports.js';
import type { Offers, SharedResources } from '../resources/resources.ports.js';
import { CONNECTIONS, OFFERS, SHARED_RESOURCES, TENANCY } from '../tokens.js';
import {
  checkApiAddresses,
  checkCloudController,
  checkNetwork,
  checkNlb,
  checkRegion,
  checkSpecs,
  checkZones,
  connectionsOf,
  fieldOf,
  placedSets,
  placedNodes,
  capacityFor,
  type PlacedSet,
  type RequestedNodes,
} from './validation.planner.js';
import type { DesiredCluster, Tenancy } from './validation.ports.js';

type Check = () => Promise<Refusal | undefined> | Refusal | undefined;

/** Each check queries providers only after all earlier checks have passed. */
const firstRefusal = async (checks: readonly Check[]): Promise<Refusal | undefined> => {
  for (const check of checks) {
    const refusal = await check();
    if (refusal !== undefined) return refusal;
  }
  return undefined;
};

interface Question {
  readonly desired: DesiredCluster;
  readonly sets: readonly PlacedSet[];
  readonly cause: Cause;
  readonly signal: AbortSignal;
}

/**
 * Checks against providers and quotas what the gateway has checked itself: connections, their offers, and quotas.
 * Creates nothing. Rejects with ExternalFailure if a provider is unreachable.
 */
@Injectable()
export class ProviderValidation {
  constructor(
    @Inject(CONNECTIONS) private readonly connections: Connections,
    @Inject(OFFERS) private readonly offers: Offers,
    @Inject(SHARED_RESOURCES) private readonly resources: SharedResources,
    @Inject(TENANCY) private readonly tenancy: Tenancy,
  ) {}

  /** The first reason why the cluster cannot be created, in CB-Ladybug's order. */
  cluster(desired: DesiredCluster, cause: Cause, signal: AbortSignal): Promise<Refusal | undefined> {
    const question = { desired, sets: placedSets(desired.spec), cause, signal };
    return firstRefusal([
      () => this.namespace(desired),
      ...this.access(question),
      () =>
        this.onConnections(question, [
          this.existingMachines,
          this.offer,
          this.nlb,
          this.cloudController,
          this.network,
          this.capacityAtOnce,
          this.reservation,
        ]),
      () => this.quota(question, false),
    ]);
  }

  /** The first reason why the cluster cannot have these additional nodes. */
  nodes(
    desired: DesiredCluster,
    nodes: RequestedNodes,
    cause: Cause,
    signal: AbortSignal,
  ): Promise<Refusal | undefined> {
    const question = { desired, sets: placedNodes(nodes), cause, signal };
    return firstRefusal([
      ...this.access(question),
      () => this.onConnections(question, [this.offer, this.network, this.capacity]),
      () => this.quota(question, true),
    ]);
  }

  private async namespace({ namespace }: DesiredCluster): Promise<Refusal | undefined> {
    const exists = await this.connections.namespaceExists(namespace);
    return exists ? undefined : refuse('namespace.unknown', { namespace }, 'namespace');
  }

  /** From the log: a connection may have been removed, or its grant withdrawn, since the gateway's check. */
  private access({ desired, sets }: Question): readonly Check[] {
    return [
      ...sets.map((placed) => () => this.connection(placed)),
      ...sets.map((placed) => () => this.grant(desired, placed)),
    ];
  }

  private async connection({ set: { connection }, field }: PlacedSet): Promise<Refusal | undefined> {
    const offered = await this.connections.offered(connection);
    return offered === undefined ? refuse('connection.unknown', { connection }, `${field}.connection`) : undefined;
  }

  private async grant({ namespace }: DesiredCluster, { set, field }: PlacedSet): Promise<Refusal | undefined> {
    const refusal = await this.tenancy.grantRefusal(set.connection, namespace);
    return refusal === undefined ? undefined : { ...refusal, field: `${field}.connection` };
  }

  /** `more`: machines for a cluster that is already counted. */
  private quota({ desired, sets }: Question, more: boolean): Promise<Refusal | undefined> {
    const { namespace, uid, requestId } = desired;
    return this.tenancy.capacityRefusal({ namespace, uid, requestId, more, machines: sets.map(({ set }) => set) });
  }

  /** Opens each connection once, and runs each check on all of them before the next one. */
  private async onConnections(
    question: Question,
    checks: readonly ((question: Question, open: OpenConnection) => Promise<Refusal | undefined>)[],
  ): Promise<Refusal | undefined> {
    const opened: OpenConnection[] = [];
    for (const name of connectionsOf(question.sets)) {
      const open = await this.connections.open(name);
      if (isRefusal(open)) return { ...open, field: fieldOf(question.sets, name) };
      opened.push(open);
    }
    return firstRefusal(checks.flatMap((check) => opened.map((open) => () => check.call(this, question, open))));
  }

  /** Existing machines of an earlier cluster of this name. */
  private async existingMachines(
    { desired, signal }: Question,
    { connection, provider }: OpenConnection,
  ): Promise<Refusal | undefined> {
    const found = await provider.describeMachines(groupOf(desired, connection.name), signal);
    if (found.every(({ uid }) => uid === desired.uid)) return undefined;
    const { namespace, spec } = desired;
    return refuse('cluster.machines-exist', { namespace, cluster: spec.name }, 'name');
  }

  /** Checks machine sizes, then the region. */
  private async offer({ sets, cause }: Question, open: OpenConnection): Promise<Refusal | undefined> {
    const { connection } = open;
    const { offer, region } = await this.offers.of(open, cause);
    return (
      checkSpecs(sets, connection, offer.specs) ??
      checkRegion(connection, region, fieldOf(sets, connection.name)) ??
      checkZones(sets, connection, region)
    );
  }

  private async nlb({ desired, cause }: Question, open: OpenConnection): Promise<Refusal | undefined> {
    if (open.connection.name !== desired.spec.controlPlane.connection) return undefined;
    return checkNlb(desired.spec, (await this.offers.of(open, cause)).offer);
  }

  private cloudController(
    { desired: { spec } }: Question,
    { connection }: OpenConnection,
  ): Promise<Refusal | undefined> {
    const isOfControlPlane = connection.name === spec.controlPlane.connection;
    return Promise.resolve(isOfControlPlane ? checkCloudController(spec, connection) : undefined);
  }

  private async network({ desired }: Question, { connection }: OpenConnection): Promise<Refusal | undefined> {
    const surroundings = await this.resources.surroundings(connection);
    const refusal = checkNetwork(desired.spec, surroundings);
    if (refusal !== undefined || connection.name !== desired.spec.controlPlane.connection) return refusal;
    const others = await Promise.all(
      connectionsOf(placedSets(desired.spec)).map(async (name) => {
        const other = await this.connections.open(name);
        return isRefusal(other) ? [] : (await this.resources.surroundings(other.connection)).addresses;
      }),
    );
    return checkApiAddresses(connection, others.flat());
  }

  /** Connections of the cluster on which its machines are reserved. */
  async reserving({ spec, lease }: DesiredCluster): Promise<readonly ConnectionName[]> {
    if (lease === undefined) return [];
    const opened = await Promise.all(connectionsOf(placedSets(spec)).map((name) => this.connections.open(name)));
    return opened.flatMap((open) =>
      isRefusal(open) || open.provider.reservations === undefined ? [] : [open.connection.name],
    );
  }

  private async reservation(
    { desired: { lease }, sets }: Question,
    { connection: { name: connection, provider }, provider: opened }: OpenConnection,
  ): Promise<Refusal | undefined> {
    return lease?.reservation !== 'Required' || opened.reservations !== undefined
      ? undefined
      : refuse('cluster.reservation-unsupported', { connection, provider }, fieldOf(sets, connection));
  }

  /** What is free now does not matter to a cluster whose machines are reserved for later. */
  private async capacityAtOnce(question: Question, open: OpenConnection): Promise<Refusal | undefined> {
    const isLater = question.desired.lease?.startsAt !== undefined && open.provider.reservations !== undefined;
    return isLater ? undefined : this.capacity(question, open);
  }

  /**
   * A provider with an inventory refuses insufficient capacity now: later, the cluster would be created only in part.
   */
  private async capacity({ desired, sets, signal }: Question, open: OpenConnection): Promise<Refusal | undefined> {
    const name: ConnectionName = open.connection.name;
    const group = groupOf(desired, name);
    const refusal = await open.provider.checkCapacity?.(
      { group, ...capacityFor(sets, name), endsAt: desired.lease?.endsAt },
      signal,
    );
    return refusal === undefined ? undefined : { ...refusal, field: fieldOf(sets, name) };
  }
}

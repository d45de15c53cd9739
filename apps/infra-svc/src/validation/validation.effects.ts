import { isRefusal, refuse, type ConnectionName, type NodeSet, type Refusal } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { Inject, Injectable } from '@nestjs/common';
import { groupOf } from '../machines/machines.planner.js';
import type { Connections } from '../providers/provider.ports.js';
import type { Offers, SharedResources } from '../resources/resources.ports.js';
import { CONNECTIONS, OFFERS, SHARED_RESOURCES, TENANCY } from '../tokens.js';
import {
  checkCounts,
  checkNetwork,
  checkNlb,
  checkSingle,
  checkSpecs,
  checkRegion,
  connectionsOf,
  fieldOf,
  placedSets,
  placedWorkers,
  roomFor,
  type PlacedSet,
} from './validation.planner.js';
import type { Tenancy, Validation, DesiredCluster } from './validation.ports.js';

type Check = () => Promise<Refusal | undefined> | Refusal | undefined;

/** Nothing is asked of the world for a check before all checks in front of it have passed. */
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

@Injectable()
export class WorldValidation implements Validation {
  constructor(
    @Inject(CONNECTIONS) private readonly connections: Connections,
    @Inject(OFFERS) private readonly offers: Offers,
    @Inject(SHARED_RESOURCES) private readonly resources: SharedResources,
    @Inject(TENANCY) private readonly tenancy: Tenancy,
  ) {}

  cluster(desired: DesiredCluster, cause: Cause, signal: AbortSignal): Promise<Refusal | undefined> {
    const { spec } = desired;
    const question = { desired, sets: placedSets(spec), cause, signal };
    const names = connectionsOf(question.sets);
    return firstRefusal([
      () => this.namespace(desired),
      ...question.sets.map((placed) => () => this.connection(placed)),
      ...question.sets.map((placed) => () => this.grant(desired, placed)),
      () => checkCounts(question.sets, spec),
      ...names.map((name) => () => this.existingMachines(question, name)),
      ...names.map((name) => () => this.offer(question, name)),
      () => this.nlb(question),
      () => checkSingle(question.sets, spec),
      ...names.map((name) => () => this.network(question, name)),
      ...names.map((name) => () => this.room(question, name)),
      () => this.quota(question, false),
    ]);
  }

  workers(
    desired: DesiredCluster,
    workers: readonly NodeSet[],
    cause: Cause,
    signal: AbortSignal,
  ): Promise<Refusal | undefined> {
    const question = { desired, sets: placedWorkers(workers), cause, signal };
    const names = connectionsOf(question.sets);
    return firstRefusal([
      ...question.sets.map((placed) => () => this.connection(placed)),
      ...question.sets.map((placed) => () => this.grant(desired, placed)),
      () => checkCounts(question.sets, desired.spec),
      ...names.map((name) => () => this.offer(question, name)),
      () => checkSingle(question.sets, desired.spec),
      ...names.map((name) => () => this.network(question, name)),
      ...names.map((name) => () => this.room(question, name)),
      () => this.quota(question, true),
    ]);
  }

  private async namespace({ namespace }: DesiredCluster): Promise<Refusal | undefined> {
    const exists = await this.connections.namespaceExists(namespace);
    return exists ? undefined : refuse('namespace.unknown', { namespace }, 'namespace');
  }

  private async connection({ set: { connection }, field }: PlacedSet): Promise<Refusal | undefined> {
    const offered = await this.connections.offered(connection);
    return offered === undefined ? refuse('connection.unknown', { connection }, `${field}.connection`) : undefined;
  }

  private async grant({ namespace }: DesiredCluster, { set, field }: PlacedSet): Promise<Refusal | undefined> {
    const refusal = await this.tenancy.grantRefusal(set.connection, namespace);
    return refusal === undefined ? undefined : { ...refusal, field: `${field}.connection` };
  }

  /** `more`: machines for a cluster that counts already. */
  private quota({ desired, sets }: Question, more: boolean): Promise<Refusal | undefined> {
    const { namespace, uid, requestId } = desired;
    return this.tenancy.roomRefusal({ namespace, uid, requestId, more, machines: sets.map(({ set }) => set) });
  }

  /** Machines of an earlier cluster of this name that are still there. Whether the provider is known is checked next. */
  private async existingMachines(
    { desired, signal }: Question,
    connection: ConnectionName,
  ): Promise<Refusal | undefined> {
    const open = await this.connections.open(connection);
    if (isRefusal(open)) return undefined;
    const found = await open.provider.describeMachines(groupOf(desired, connection), signal);
    if (found.every(({ uid }) => uid === desired.uid)) return undefined;
    const { namespace, spec } = desired;
    return refuse('cluster.machines-exist', { namespace, cluster: spec.name }, 'name');
  }

  /** Provider supported, machine sizes, region: in this order. */
  private async offer({ sets, cause }: Question, name: ConnectionName): Promise<Refusal | undefined> {
    const open = await this.connections.open(name);
    if (isRefusal(open)) return { ...open, field: fieldOf(sets, name) };
    const { offer, region } = await this.offers.of(open, cause);
    const { connection } = open;
    return checkSpecs(sets, connection, offer.specs) ?? checkRegion(connection, region, fieldOf(sets, name));
  }

  private async nlb({ desired, cause }: Question): Promise<Refusal | undefined> {
    const open = await this.connections.open(desired.spec.controlPlane.connection);
    return isRefusal(open) ? open : checkNlb(desired.spec, (await this.offers.of(open, cause)).offer);
  }

  /** Whoever has a stock instead of making machines says now what is not in it: later, half of a cluster would be there. */
  private async room({ desired, sets, signal }: Question, name: ConnectionName): Promise<Refusal | undefined> {
    const open = await this.connections.open(name);
    if (isRefusal(open)) return open;
    const group = groupOf(desired, name);
    const refusal = await open.provider.refusal?.({ group, ...roomFor(sets, name) }, signal);
    return refusal === undefined ? undefined : { ...refusal, field: fieldOf(sets, name) };
  }

  private async network({ desired }: Question, name: ConnectionName): Promise<Refusal | undefined> {
    const open = await this.connections.open(name);
    if (isRefusal(open)) return open;
    return checkNetwork(desired.spec, name, await this.resources.networkCidr(open.connection));
  }
}

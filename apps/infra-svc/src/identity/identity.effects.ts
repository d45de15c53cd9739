import { fnv1a32, type RealmClient, type RealmName } from '@fairlead/contracts';
import type { RealmSelection } from '@fairlead/domain';
import { OnTask, type RequeueAfter, type TaskContext, type TaskPolicy } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import { RealmLooks } from '../realms/looks.effects.js';
import { RealmFailure, type DesiredIdentity } from '../realms/realm.ports.js';
import { RegisteredRealms, type KnownRealm } from '../realms/realms.effects.js';
import { sameClient, type IdentityCommand } from './identity.decider.js';
import { DELETE_IDENTITY, ENSURE_IDENTITY, FOLLOW_IDENTITY, type IdentityData } from './identity.reconciler.js';
import type { Identity, PresentIdentity } from './identity.state.js';

export type IdentityTask = TaskContext<Identity, IdentityCommand, IdentityData>;

/**
 * Failures of a realm do not count as failed attempts; these limits are for the log, and for secrets that cannot be
 * read.
 */
export const IDENTITY_POLICY: Partial<TaskPolicy> = {
  attemptsMax: 75,
  backoffFirstMs: 1_000,
  backoffMaxMs: 600_000,
  timeoutMs: 120_000,
};

/**
 * With the longest check, a cluster continues within 15 s after its realm is ready. Waiting clusters are spread over
 * the interval.
 */
export const AGAIN_MS = { min: 4_000, max: 8_000 };
/** Not urgent: a realm that does not delete its resources. */
const DELETION_AGAIN_MS = { min: 20_000, max: 40_000 };
const BUSY_AGAIN_MS = 1_000;
/** How soon manual changes at an identity provider are reverted: it announces none. */
export const FOLLOW_AGAIN_MS = { min: 240_000, max: 360_000 };

const spread = (uid: string, { min, max }: typeof AGAIN_MS): number => min + (fnv1a32(uid) % (max - min));

const presentOf = ({ state, key }: Pick<IdentityTask, 'state' | 'key'>): PresentIdentity => {
  if (state.stage === 'absent') throw new Error(`${key} is desired without a cluster`);
  return state;
};

/** Neither namespaces nor clusters have dots in their names, so the name is unique. */
const nameOf = ({ namespace, cluster }: Pick<IdentityTask, 'namespace' | 'cluster'>): string =>
  `kube-${namespace}.${cluster}`;

const desiredOf = (
  task: IdentityTask,
  { clientId, group, groupsClaim, services = [] }: RealmClient,
): DesiredIdentity => {
  const { namespace, cluster } = task;
  return { namespace, cluster, uid: presentOf(task).uid, clientId, group, groupsClaim, services };
};

const notFound = (namespace: string, { realm }: RealmSelection): string =>
  realm === null
    ? `the namespace ${namespace} has no realm. Register one with "fairlead realm register"`
    : `the namespace ${namespace} has no realm ${realm}. Register it with "fairlead realm register ${realm}"`;

/** Creates the clients and the groups of a cluster at its realm, keeps them so, and deletes them with the cluster. */
@Controller()
export class IdentityEffects {
  constructor(
    @Inject(RegisteredRealms) private readonly realms: RegisteredRealms,
    @Inject(RealmLooks) private readonly looks: RealmLooks,
  ) {}

  @OnTask(ENSURE_IDENTITY, IDENTITY_POLICY)
  async ensureIdentity(task: IdentityTask): Promise<RequeueAfter | undefined> {
    const { selection } = presentOf(task);
    if (selection === null) return undefined;
    const realm = await this.chosen(task, selection);
    if (realm === undefined) {
      const message = notFound(task.namespace, selection);
      return this.blocked(
        task,
        { realm: selection.realm as RealmName | null, reason: 'RealmNotFound', message },
        AGAIN_MS,
      );
    }
    return this.ensure(task, realm, selection);
  }

  /** Also at every start of the service. A realm that was deleted by force keeps what it has. */
  @OnTask(FOLLOW_IDENTITY, IDENTITY_POLICY)
  async followIdentity(task: IdentityTask): Promise<RequeueAfter | undefined> {
    const { uid, selection, identity } = presentOf(task);
    if (selection === null || identity.ready === undefined) return undefined;
    const realm = await this.realms.one(task.namespace, identity.ready.realm);
    const again = realm === undefined ? undefined : await this.ensure(task, realm, selection);
    return again ?? task.requeueAfter(spread(uid, FOLLOW_AGAIN_MS), 'the identity provider announces no changes');
  }

  private async ensure(
    task: IdentityTask,
    realm: KnownRealm,
    selection: RealmSelection,
  ): Promise<RequeueAfter | undefined> {
    const { uid } = presentOf(task);
    if (await isAtWork(task, `${DELETE_IDENTITY}/${realm.name}`)) return task.requeueAfter(BUSY_AGAIN_MS, 'deleting');
    return this.unlessFailed(task, realm, AGAIN_MS, async () => {
      const session = await this.looks.open(realm, task.cause);
      const client = clientAt(task, realm, selection);
      // Stops if the request was not recorded because the cluster was deleted in the meantime: nothing would delete
      // what is created now.
      if (!isHeld(await task.record({ type: 'Request', data: { uid, ...client } }), uid, client)) return undefined;
      // From now on, a realm with a client of a cluster cannot be registered elsewhere.
      if (!(await this.isCurrent(realm))) return registeredAgain(task);
      const desired = desiredOf(task, client);
      await session.ensureGroup(desired, task.signal);
      await session.ensureClient(desired, task.signal);
      await session.ensureServices(desired, task.signal);
      await task.record({ type: 'RecordReady', data: { uid, ...client } });
      return undefined;
    });
  }

  /** The client first, so that no user can sign in after the group is deleted. */
  @OnTask(DELETE_IDENTITY, IDENTITY_POLICY)
  async deleteIdentity(task: IdentityTask): Promise<RequeueAfter | undefined> {
    const { uid, identity } = presentOf(task);
    const client = identity.held[task.data.realm ?? ''];
    if (client === undefined) return undefined;
    if ((await isAtWork(task, ENSURE_IDENTITY)) || (await isAtWork(task, FOLLOW_IDENTITY)))
      return task.requeueAfter(BUSY_AGAIN_MS, 'it is being made');
    const realm = await this.realms.one(task.namespace, client.realm);
    if (realm === undefined) {
      await task.record({ type: 'RecordRelease', data: { uid, realm: client.realm, left: true } });
      return undefined;
    }
    return this.unlessFailed(task, realm, DELETION_AGAIN_MS, async () => {
      const session = await this.looks.open(realm, task.cause);
      const desired = desiredOf(task, client);
      await session.deleteClient(desired, task.signal);
      await session.deleteGroup(desired, task.signal);
      await task.record({ type: 'RecordRelease', data: { uid, realm: client.realm } });
      return undefined;
    });
  }

  /** A cluster keeps its chosen realm while that is registered. */
  private async chosen(task: IdentityTask, { realm: named }: RealmSelection): Promise<KnownRealm | undefined> {
    const realms = await this.realms.of(task.namespace);
    if (named !== null) return realms.find(({ name }) => name === named);
    const { ready, held } = presentOf(task).identity;
    return realms.find(({ name }) => name === ready?.realm) ?? realms.find(({ name }) => name in held) ?? realms.at(0);
  }

  /** A failure at the former location of a realm does not apply to its current one. */
  private async unlessFailed(
    task: IdentityTask,
    realm: KnownRealm,
    again: typeof AGAIN_MS,
    work: () => Promise<RequeueAfter | undefined>,
  ): Promise<RequeueAfter | undefined> {
    try {
      return await work();
    } catch (error) {
      task.signal.throwIfAborted();
      if (!(error instanceof RealmFailure)) throw error;
      if (!(await this.isCurrent(realm))) return registeredAgain(task);
      const { reason, message } = error;
      return this.blocked(task, { realm: realm.name, reason, message }, again);
    }
  }

  private async isCurrent({ namespace, name, registration }: KnownRealm): Promise<boolean> {
    return (await this.realms.one(namespace, name))?.registration === registration;
  }

  private async blocked(
    task: IdentityTask,
    block: Omit<Extract<IdentityCommand, { type: 'Block' }>['data'], 'uid'>,
    again: typeof AGAIN_MS,
  ): Promise<RequeueAfter> {
    const { uid } = presentOf(task);
    await task.record({ type: 'Block', data: { uid, ...block } });
    return task.requeueAfter(spread(uid, again), block.message);
  }
}

const registeredAgain = (task: IdentityTask): RequeueAfter =>
  task.requeueAfter(BUSY_AGAIN_MS, 'its realm was registered again meanwhile');

const isAtWork = async (task: IdentityTask, key: string): Promise<boolean> =>
  (await task.othersAtWork()).some((other) => other === key || other.startsWith(`${key}/`));

const isHeld = (state: Identity, uid: string, client: RealmClient): boolean =>
  state.stage !== 'absent' && state.uid === uid && sameClient(state.identity.held[client.realm], client);

const clientAt = (task: IdentityTask, realm: KnownRealm, selection: RealmSelection): RealmClient => {
  const { name, issuerUrl, ca, usersGroup } = realm;
  const { groupsClaim, services } = selection;
  const clientId = nameOf(task);
  return {
    realm: name,
    issuerUrl,
    ...(ca === undefined ? {} : { ca }),
    clientId,
    group: `/${clientId}`,
    groupsClaim,
    ...(usersGroup === undefined ? {} : { usersGroup }),
    ...(services === undefined ? {} : { services: [...services] }),
  };
};

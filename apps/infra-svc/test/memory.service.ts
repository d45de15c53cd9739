import { namespaceStream, type NameReservation, type ClusterUid, type StoredEvent } from '@fairlead/contracts';
import { STATE_FACTS } from '@fairlead/event-sourcing';
import {
  FoldCache,
  makeHandle,
  TaskRunner,
  type Handle,
  type QueuedTask,
  type AttemptContext,
  type AttemptFailure,
  type RequeueAfter,
  type TaskLeases,
} from '@fairlead/event-sourcing/jetstream';
import { Follower, handlerOf, handlersOf, type Parts } from '@fairlead/event-sourcing/simulation';
import { systemClock, type Clock } from '@fairlead/service-kit';
import { MemorySecrets as Secrets } from '@fairlead/testing';
import { opensshKeys } from '../src/adapters/ssh-keys/openssh.keys.js';
import { readSettings } from '../src/config.js';
import { Applications } from '../src/catalogue/applications.effects.js';
import { CatalogueEffects } from '../src/catalogue/catalogue.effects.js';
import type { ChartRepository } from '../src/catalogue/catalogue.ports.js';
import { Synchronization } from '../src/catalogue/synchronization.effects.js';
import { RegisteredConnections } from '../src/connections/connections.effects.js';
import { rowFrom } from './rows.js';
import { LogTenancy } from '../src/connections/tenancy.effects.js';
import { ConnectionFailures, ConnectionEffects } from '../src/connections/verification.effects.js';
import { IdentityEffects } from '../src/identity/identity.effects.js';
import { Adoption } from '../src/machines/adoption.effects.js';
import { AdmissionEffects } from '../src/machines/admission.effects.js';
import { AnswerDeadline } from '../src/machines/answer.deadline.effects.js';
import { CreationEffects } from '../src/machines/creation.effects.js';
import { DeletionEffects } from '../src/machines/deletion.effects.js';
import { ReservationEffects } from '../src/machines/reservation.effects.js';
import { UserData } from '../src/machines/user.data.effects.js';
import { PlannedMachines } from '../src/machines/planned.machines.effects.js';
import { Placement } from '../src/machines/placement.effects.js';
import { PublicationEffects } from '../src/publication/publication.effects.js';
import type { PublishSettings, TunnelNames } from '../src/publication/publication.ports.js';
import type { ProviderKinds } from '../src/providers/provider.ports.js';
import { RealmLooks } from '../src/realms/looks.effects.js';
import type { IdentityProviders } from '../src/realms/realm.ports.js';
import { RegisteredRealms } from '../src/realms/realms.effects.js';
import { RealmEffects } from '../src/realms/verification.effects.js';
import { CurrentKeys } from '../src/resources/current.keys.effects.js';
import { ProviderOffers } from '../src/resources/offers.effects.js';
import { ResourceSteps } from '../src/resources/resource.steps.effects.js';
import { ConnectionResources } from '../src/resources/resources.effects.js';
import { ResourcesLog } from '../src/resources/resources.log.effects.js';
import { resourcesProjection } from '../src/resources/resources.projection.js';
import type { ResourcesQueries } from '../src/resources/resources.queries.js';
import { SealedKeys } from '../src/resources/sealed.keys.effects.js';
import { SshKeysEffects } from '../src/ssh-keys/ssh-keys.effects.js';
import { HostsOfRotation } from '../src/ssh-keys/hosts.of.rotation.effects.js';
import { RotatedKeys } from '../src/ssh-keys/rotated.keys.effects.js';
import { infraService } from '../src/service.js';
import { ProviderValidation } from '../src/validation/validation.effects.js';
import { OrphanEffects, OrphansLog, type OfOrphan } from '../src/watch/orphans.effects.js';
import { hostsThatSay } from './hosts.fixture.js';
import type { MemoryLog } from './memory.log.js';

export class MemorySecrets extends Secrets {}

/** Names as NATS keeps them: who reserves one first has it. */
export class MemoryNames implements TunnelNames {
  readonly reserved = new Map<string, NameReservation>();
  readonly held = new Set<string>();

  async reserve(name: string, reservation: NameReservation): Promise<NameReservation> {
    const found = this.reserved.get(name) ?? reservation;
    this.reserved.set(name, found);
    return found;
  }

  async keep(name: string, reservation: NameReservation): Promise<boolean> {
    if ((this.reserved.get(name)?.uid ?? reservation.uid) !== reservation.uid) return false;
    this.reserved.set(name, reservation);
    return true;
  }

  async isHeld(name: string): Promise<boolean> {
    return this.held.has(name);
  }

  async release(name: string, uid: string): Promise<void> {
    if (this.reserved.get(name)?.uid === uid) this.reserved.delete(name);
  }
}

export const PUBLISH = {
  domain: 'example.org',
  port: 443,
  tunnel: { host: 'tunnel.example.org', port: 2222, hostKey: `ssh-ed25519 ${'A'.repeat(68)}` },
};

/** Small, because the cache preallocates its entries, and a simulation starts many replicas. */
const FOLDS_MAX = 20;

/** State that replicas of the service share: the log, the secrets and the providers. */
export interface Shared {
  readonly log: MemoryLog;
  readonly secrets: MemorySecrets;
  readonly kinds: ProviderKinds;
  readonly identityProviders?: IdentityProviders;
  readonly repository?: ChartRepository;
  readonly names?: TunnelNames;
  /** null: the installation has no domain. */
  readonly publish?: PublishSettings | null;
  /** Whether rows are missing instead of up to date with the log. */
  readonly rowsAreBehind?: boolean;
  /** Problems of every inspected host; null: none responds. */
  readonly problemsOfHosts?: readonly string[] | null;
  /** Default: decisions on the log. */
  readonly handle?: Handle;
  readonly clock?: Clock;
}

export const { projections, reconcilers } = infraService(readSettings({}));

export interface InfraParts extends Parts {
  readonly looks: RealmLooks;
  readonly realms: RegisteredRealms;
}

export interface Replica extends Pick<InfraParts, 'looks' | 'realms'> {
  readonly tasks: TaskRunner;
  deliver(task: QueuedTask, context: AttemptContext): Promise<RequeueAfter | undefined>;
  failed(task: QueuedTask, failure: AttemptFailure): Promise<void>;
}

const NO_REPOSITORY: ChartRepository = {
  versions: () => Promise.reject(new Error('this story has no repository')),
  schemas: () => Promise.reject(new Error('this story has no repository')),
};

const queriesOf = ({ log, rowsAreBehind = false }: Shared): ResourcesQueries => {
  const events = (): readonly StoredEvent[] => (rowsAreBehind ? [] : log.events);
  const queries = {
    of: async (name: string) => rowFrom(resourcesProjection, events(), name),
  };
  return queries as unknown as ResourcesQueries;
};

/**
 * One replica of infra-svc without Nest, NATS and PostgreSQL: the same classes on the same ports. `leases`: not shared
 * with other replicas.
 */
export const infraParts = (shared: Shared, leases: TaskLeases): InfraParts => {
  const { log, secrets, kinds, clock = systemClock, problemsOfHosts = [] } = shared;
  const settings = { ...readSettings({}), resourcesPollMs: 1, realmFreshForMs: 1 };
  const queries = queriesOf(shared);
  const { handle = makeHandle(log, new FoldCache(FOLDS_MAX)) } = shared;
  const connections = new RegisteredConnections(log, secrets, kinds);
  const resourcesLog = new ResourcesLog(handle);
  const sealed = new SealedKeys(secrets, opensshKeys);
  const current = new CurrentKeys(log);
  const steps = new ResourceSteps(resourcesLog, sealed, current);
  const resources = new ConnectionResources(steps, queries, leases, settings);
  const offers = new ProviderOffers(resourcesLog, connections, settings);
  const validation = new ProviderValidation(connections, offers, resources, new LogTenancy(log));
  const placement = new Placement(connections, offers, resources);
  const planned = new PlannedMachines(handle);
  const adoption = new Adoption(planned, secrets, hostsThatSay(problemsOfHosts));
  const orphanEffects = new OrphanEffects(connections, planned, new OrphansLog(handle), clock);
  const admission = new AdmissionEffects(validation, placement, adoption);
  const userData = new UserData(secrets, clock, settings);
  const creation = new CreationEffects(placement, new AnswerDeadline(settings, clock), userData);
  const deletion = new DeletionEffects(connections, clock);
  const reservation = new ReservationEffects(connections);
  const keyPairs = new RotatedKeys(connections, resources, steps, sealed);
  const rotations = new SshKeysEffects(keyPairs, new HostsOfRotation(log, handle), clock);
  const connectionEffects = new ConnectionEffects(connections, offers);
  const connectionFailures = new ConnectionFailures(offers);
  const registeredRealms = new RegisteredRealms(log);
  const looks = new RealmLooks(shared.identityProviders ?? new Map(), secrets, handle, settings);
  const realmEffects = new RealmEffects(registeredRealms, looks);
  const { repository = NO_REPOSITORY } = shared;
  const synchronization = new Synchronization(new Applications(log), repository, handle, new MemorySecrets());
  const catalogueEffects = new CatalogueEffects(synchronization, clock, settings);
  const identities = new IdentityEffects(registeredRealms, looks);
  const { names = new MemoryNames(), publish = PUBLISH } = shared;
  const publications = new PublicationEffects(names, secrets, opensshKeys, publish ?? undefined);
  return {
    handle,
    looks,
    realms: registeredRealms,
    controllers: [
      ...[admission, creation, reservation, deletion, identities, publications, rotations],
      ...[connectionEffects, orphanEffects, realmEffects, catalogueEffects],
    ],
    failed: async (task, failure) => {
      const { followUp } = task.data;
      if (followUp?.type === 'VerifyConnection' || followUp?.type === 'AcceptHost')
        await connectionFailures.record((followUp.data as OfOrphan).connection, task.cause, failure);
    },
  };
};

/** For stories that run one task after the other. */
export const startReplica = (shared: Shared, leases: TaskLeases): Replica => {
  const parts = infraParts(shared, leases);
  const { clock = systemClock } = shared;
  const now = (): Date => clock.now();
  const tasks = new TaskRunner({ reconcilers, handle: parts.handle, leases, now, log: { warn: () => undefined } });
  const handlers = handlersOf(parts.controllers);
  return {
    ...parts,
    tasks,
    deliver: async (task, context) => {
      if (task.type === STATE_FACTS) return tasks.stateFacts(task);
      const { policy, handle } = handlerOf(handlers, task.type);
      return tasks.run(task, context, policy, handle);
    },
    failed: async (task, failure) => {
      await tasks.recordFailure(task, failure);
      await parts.failed?.(task, failure);
    },
  };
};

/** The reconcilers of the service, reading the log as the partitions do: each event once, in order. */
export class Followers {
  private readonly followers = reconcilers.map((reconciler) => new Follower(reconciler, 'infra-svc'));
  private read = 0;

  constructor(private readonly log: MemoryLog) {}

  /** The tasks that became desired with the events since the last call, and still are. */
  next(): readonly QueuedTask[] {
    const events = this.log.events.slice(this.read);
    this.read = this.log.events.length;
    return this.followers.flatMap((follower) =>
      events.flatMap((event) => follower.read(event)).filter((asked) => follower.isAsked(asked)),
    );
  }

  /** What is desired at the moment that each state waits for, as if its time had come. */
  fireTimers(): readonly QueuedTask[] {
    return this.followers.flatMap((follower) => follower.wake());
  }
}

export const contextOf = (attempt: number, signal: AbortSignal): AttemptContext => ({
  attempt,
  signal,
});

export const requestStream = { namespace: 'default', cluster: 'demo', context: 'request' } as const;
export const bootstrapStream = { namespace: 'default', cluster: 'demo', context: 'bootstrap' } as const;
export const ownNamespaceStream = namespaceStream('default');

/** The events of one incarnation, by type. */
export const typesOf = (log: MemoryLog, uid: ClusterUid): readonly string[] =>
  log.events.filter(({ data }) => 'uid' in data && data.uid === uid).map(({ type }) => type);

import { namespaceStream, type ClusterUid, type StoredEvent } from '@fairlead/contracts';
import {
  advance,
  reconcilerProcess,
  STATE_FACTS,
  type DueTimer,
  type Process,
  type Reaction,
} from '@fairlead/event-sourcing';
import {
  FoldCache,
  makeHandle,
  processConsumer,
  TaskRunner,
  type Handle,
  type Job,
  type JobContext,
  type JobFailure,
  type JobLater,
  type TaskLeases,
  type TaskPolicy,
} from '@fairlead/event-sourcing/jetstream';
import { systemClock, type Clock } from '@fairlead/service-kit';
import { MemorySecrets as Secrets } from '@fairlead/testing';
import { opensshKeys } from '../src/adapters/ssh-keys/openssh.keys.js';
import { readSettings } from '../src/config.js';
import { Applications } from '../src/catalogue/applications.effects.js';
import { CatalogueJobs, type OfApplication } from '../src/catalogue/catalogue.effects.js';
import type { ChartRepository } from '../src/catalogue/catalogue.ports.js';
import { catalogueProcess, SYNC_APPLICATION } from '../src/catalogue/catalogue.process.js';
import { Synchronization } from '../src/catalogue/synchronization.effects.js';
import { RegisteredConnections } from '../src/connections/connections.effects.js';
import { connectionsProcess } from '../src/connections/connections.process.js';
import { rowFrom } from './rows.js';
import { LogTenancy } from '../src/connections/tenancy.effects.js';
import { ConnectionFailures, ConnectionJobs, type OfConnection } from '../src/connections/verification.effects.js';
import { IDENTITY_POLICY, IdentityEffects, type IdentityTask } from '../src/identity/identity.effects.js';
import { identityReconciler } from '../src/identity/identity.reconciler.js';
import { Adoption } from '../src/machines/adoption.effects.js';
import { AdmissionEffects } from '../src/machines/admission.effects.js';
import { AnswerDeadline } from '../src/machines/answer.deadline.effects.js';
import { CreationEffects } from '../src/machines/creation.effects.js';
import { DeletionEffects } from '../src/machines/deletion.effects.js';
import { machinesReconciler } from '../src/machines/machines.reconciler.js';
import {
  BALANCE_POLICY,
  CREATE_POLICY,
  DELETE_POLICY,
  PLAN_POLICY,
  RESERVE_POLICY,
  VALIDATE_POLICY,
  type MachinesTask,
} from '../src/machines/machines.task.js';
import { ReservationEffects } from '../src/machines/reservation.effects.js';
import { PlannedMachines } from '../src/machines/planned.machines.effects.js';
import { Placement } from '../src/machines/placement.effects.js';
import type { ProviderKinds } from '../src/providers/provider.ports.js';
import { RealmLooks } from '../src/realms/looks.effects.js';
import type { IdentityProviders } from '../src/realms/realm.ports.js';
import { RegisteredRealms } from '../src/realms/realms.effects.js';
import { realmsProcess, VERIFY_REALM } from '../src/realms/realms.process.js';
import { RealmJobs, type OfRealm } from '../src/realms/verification.effects.js';
import { CurrentKeys } from '../src/resources/current.keys.effects.js';
import { ProviderOffers } from '../src/resources/offers.effects.js';
import { ResourceSteps } from '../src/resources/resource.steps.effects.js';
import { ConnectionResources } from '../src/resources/resources.effects.js';
import { ResourcesLog } from '../src/resources/resources.log.effects.js';
import { resourcesProjection } from '../src/resources/resources.projection.js';
import type { ResourcesQueries } from '../src/resources/resources.queries.js';
import { SealedKeys } from '../src/resources/sealed.keys.effects.js';
import { ROTATION_POLICY, SshKeysEffects, type SshKeysTask } from '../src/ssh-keys/ssh-keys.effects.js';
import { HostsOfRotation } from '../src/ssh-keys/hosts.of.rotation.effects.js';
import { RotatedKeys } from '../src/ssh-keys/rotated.keys.effects.js';
import { sshKeysReconciler } from '../src/ssh-keys/ssh-keys.reconciler.js';
import { WorldValidation } from '../src/validation/validation.effects.js';
import { OrphanJobs, OrphansLog, type OfAdoption } from '../src/watch/orphans.effects.js';
import { orphansProcess, RECORD_ADOPTION } from '../src/watch/orphans.process.js';
import { hostsThatSay } from './hosts.fixture.js';
import type { MemoryLog } from './memory.log.js';

export class MemorySecrets extends Secrets {
  override async destroyKey(): Promise<void> {
    throw new Error('infra-svc owns no key of a cluster');
  }
}

/** The cache sets room aside for all its entries, and a simulation starts many replicas. */
const FOLDS_MAX = 20;

/** What replicas of the service share: the log, the secrets, and the providers out in the world. */
export interface Shared {
  readonly log: MemoryLog;
  readonly secrets: MemorySecrets;
  readonly kinds: ProviderKinds;
  readonly identityProviders?: IdentityProviders;
  readonly repository?: ChartRepository;
  /** Rows of the read models are as new as the log, or not there yet. */
  readonly rowsAreBehind?: boolean;
  /** What is wrong with every host that is looked at; null: none answers. */
  readonly problemsOfHosts?: readonly string[] | null;
  readonly wrapHandle?: (handle: Handle) => Handle;
  readonly clock?: Clock;
}

/** One replica of infra-svc without Nest, NATS and PostgreSQL: the same classes on the same ports. */
export interface Replica {
  readonly tasks: TaskRunner;
  readonly looks: RealmLooks;
  readonly realms: RegisteredRealms;
  deliver(job: Job, context: JobContext): Promise<JobLater | undefined>;
  failed(job: Job, failure: JobFailure): Promise<void>;
}

const NO_REPOSITORY: ChartRepository = {
  versions: () => Promise.reject(new Error('this story has no repository')),
  schema: () => Promise.reject(new Error('this story has no repository')),
};

const queriesOf = ({ log, rowsAreBehind = false }: Shared): ResourcesQueries => {
  const events = (): readonly StoredEvent[] => (rowsAreBehind ? [] : log.events);
  const queries = {
    of: async (name: string) => rowFrom(resourcesProjection, events(), name),
  };
  return queries as unknown as ResourcesQueries;
};

type Handler = readonly [Partial<TaskPolicy>, (task: MachinesTask) => Promise<JobLater | undefined | void>];

/** `leases`: of this replica alone. */
export const startReplica = (shared: Shared, leases: TaskLeases): Replica => {
  const { log, secrets, kinds, clock = systemClock, wrapHandle = (handle) => handle, problemsOfHosts = [] } = shared;
  const settings = { ...readSettings({}), resourcesPollMs: 1, realmFreshForMs: 1 };
  const queries = queriesOf(shared);
  const handle = wrapHandle(makeHandle(log, new FoldCache(FOLDS_MAX)));
  const connections = new RegisteredConnections(log, secrets, kinds);
  const resourcesLog = new ResourcesLog(handle);
  const sealed = new SealedKeys(secrets, opensshKeys);
  const current = new CurrentKeys(log);
  const steps = new ResourceSteps(resourcesLog, sealed, current);
  const resources = new ConnectionResources(steps, queries, leases, settings);
  const offers = new ProviderOffers(resourcesLog, connections, settings);
  const validation = new WorldValidation(connections, offers, resources, new LogTenancy(log));
  const placement = new Placement(connections, offers, resources);
  const planned = new PlannedMachines(handle);
  const adoption = new Adoption(planned, secrets, hostsThatSay(problemsOfHosts));
  const orphanJobs = new OrphanJobs(connections, planned, new OrphansLog(handle));
  const admission = new AdmissionEffects(validation, placement, adoption);
  const creation = new CreationEffects(placement, new AnswerDeadline(settings, clock));
  const deletion = new DeletionEffects(connections, clock);
  const reservation = new ReservationEffects(connections);
  const keyPairs = new RotatedKeys(connections, resources, steps, sealed);
  const rotations = new SshKeysEffects(keyPairs, new HostsOfRotation(log, handle), clock);
  const connectionJobs = new ConnectionJobs(connections, offers);
  const connectionFailures = new ConnectionFailures(offers);
  const registeredRealms = new RegisteredRealms(log);
  const looks = new RealmLooks(shared.identityProviders ?? new Map(), secrets, handle, settings);
  const realmJobs = new RealmJobs(registeredRealms, looks);
  const { repository = NO_REPOSITORY } = shared;
  const synchronization = new Synchronization(new Applications(log), repository, handle);
  const catalogueJobs = new CatalogueJobs(synchronization, leases, clock, settings);
  const identities = new IdentityEffects(registeredRealms, looks);
  const tasks = new TaskRunner({
    reconcilers: [machinesReconciler, identityReconciler, sshKeysReconciler],
    handle,
    leases,
    now: () => clock.now(),
    log: { warn: () => undefined },
  });
  const handlers: Readonly<Record<string, Handler>> = {
    ValidateCluster: [VALIDATE_POLICY, (task) => admission.validateCluster(task)],
    PlanMachines: [PLAN_POLICY, (task) => admission.planMachines(task)],
    PlanNodes: [PLAN_POLICY, (task) => admission.planNodes(task)],
    ReconsiderNodes: [PLAN_POLICY, (task) => admission.reconsiderNodes(task)],
    PlanSurge: [PLAN_POLICY, (task) => admission.planSurge(task)],
    EnsureMachines: [CREATE_POLICY, (task) => creation.ensureMachines(task)],
    MakeMachinesAgain: [CREATE_POLICY, (task) => creation.makeMachinesAgain(task)],
    EnsureLoadBalancer: [CREATE_POLICY, (task) => creation.ensureLoadBalancer(task)],
    UpdateLoadBalancer: [BALANCE_POLICY, (task) => creation.updateLoadBalancer(task)],
    EnsureReservation: [RESERVE_POLICY, (task) => reservation.ensureReservation(task)],
    AwaitReservation: [BALANCE_POLICY, (task) => reservation.awaitReservation(task)],
    DeleteMachine: [DELETE_POLICY, (task) => deletion.deleteMachine(task)],
    DeleteCluster: [DELETE_POLICY, (task) => deletion.deleteCluster(task)],
    EnsureIdentity: [IDENTITY_POLICY, (task) => identities.ensureIdentity(task as unknown as IdentityTask)],
    DeleteIdentity: [IDENTITY_POLICY, (task) => identities.deleteIdentity(task as unknown as IdentityTask)],
    CreateSshKey: [ROTATION_POLICY, (task) => rotations.create(task as unknown as SshKeysTask)],
    ReplaceSshKey: [ROTATION_POLICY, (task) => rotations.replace(task as unknown as SshKeysTask)],
  };
  const deliver: Replica['deliver'] = async (job, context) => {
    if (job.type === 'VerifyConnection') {
      await connectionJobs.verify(job as Job<OfConnection>, context);
      return undefined;
    }
    if (job.type === VERIFY_REALM) {
      await realmJobs.verify(job as Job<OfRealm>);
      return undefined;
    }
    if (job.type === SYNC_APPLICATION)
      return (await catalogueJobs.sync(job as Job<OfApplication>, context)) ?? undefined;
    if (job.type === RECORD_ADOPTION) {
      await orphanJobs.adopted(job as Job<OfAdoption>);
      return undefined;
    }
    if (job.type === STATE_FACTS) return tasks.stateFacts(job);
    const handler = handlers[job.type];
    if (handler === undefined) throw new Error(`no handler for ${job.type}`);
    const [policy, run] = handler;
    return tasks.run(job, context, policy, (task) => run(task as MachinesTask));
  };
  return {
    tasks,
    looks,
    realms: registeredRealms,
    deliver,
    failed: async (job, failure) => {
      if (tasks.isTask(job)) await tasks.recordFailure(job, failure);
      else if (job.type !== VERIFY_REALM && job.type !== SYNC_APPLICATION)
        await connectionFailures.record(job as Job<OfConnection>, failure);
    },
  };
};

interface Armed {
  readonly process: Process<unknown>;
  readonly clusterKey: string;
  readonly timer: DueTimer;
  readonly event: StoredEvent;
}

/** The processes of the service, reading the log as the partitions do: each event once, in order. */
export class MemoryProcesses {
  private readonly processes = [
    reconcilerProcess(machinesReconciler),
    reconcilerProcess(identityReconciler),
    reconcilerProcess(sshKeysReconciler),
    connectionsProcess,
    orphansProcess,
    realmsProcess,
    catalogueProcess(readSettings({}).catalogueIntervalMs),
  ] as Process<unknown>[];
  private readonly states = new Map<string, unknown>();
  private readonly timers = new Map<string, Armed>();
  private read = 0;

  constructor(
    private readonly log: MemoryLog,
    private readonly noticed: (consumer: string, clusterKey: string, state: unknown) => void = () => undefined,
  ) {}

  /** The jobs that follow from the events since the last call. */
  next(): readonly Job[] {
    const events = this.log.events.slice(this.read);
    this.read = this.log.events.length;
    return this.processes.flatMap((process) => this.run(process, events));
  }

  /** The jobs of every timer that is set, as if its time had come. */
  fireTimers(): readonly Job[] {
    const armed = [...this.timers];
    this.timers.clear();
    return armed.flatMap(([key, { process, clusterKey, timer, event }]) => {
      const state = this.states.get(`${process.name} ${clusterKey}`);
      const reactions = state === undefined ? [] : (process.due?.(state, timer) ?? []);
      return reactions.flatMap((reaction, index) =>
        this.take(process, reaction, event, `${key}-${timer.dueAt}-${index}`),
      );
    });
  }

  private run(process: Process<unknown>, events: readonly StoredEvent[]): readonly Job[] {
    const key = (clusterKey: string): string => `${process.name} ${clusterKey}`;
    const { states, reactions, poisons } = advance(process, (name) => this.states.get(key(name)), events);
    if (poisons.length > 0) throw new Error(poisons[0]!.error);
    for (const [name, { state }] of states) {
      if (state === undefined) this.states.delete(key(name));
      else this.states.set(key(name), state);
      this.noticed(processConsumer(process), name, state);
    }
    return reactions.flatMap(({ reaction, event, index }) =>
      this.take(process, reaction, event, `${process.name}-${event.meta.id}-${index}`),
    );
  }

  private take(process: Process<unknown>, reaction: Reaction, event: StoredEvent, id: string): readonly Job[] {
    const { namespace, cluster, correlationId, id: causationId } = event.meta;
    if (reaction.kind === 'job') {
      const cause = { actor: 'system/infra-svc', correlationId, causationId };
      return [{ id, type: reaction.type, namespace, cluster, cause, data: reaction.data }];
    }
    const clusterKey = `${namespace}/${cluster}`;
    const key = `${process.name} ${clusterKey} ${reaction.key}`;
    if (reaction.kind === 'timer') this.timers.set(key, { process, clusterKey, timer: reaction, event });
    else this.timers.delete(key);
    return [];
  }
}

export const contextOf = (attempt: number, signal: AbortSignal): JobContext => ({
  attempt,
  signal,
  later: (delayMs, reason) => ({ kind: 'later', delayMs, reason }),
});

export const requestStream = { namespace: 'default', cluster: 'demo', context: 'request' } as const;
export const bootstrapStream = { namespace: 'default', cluster: 'demo', context: 'bootstrap' } as const;
export const ownNamespaceStream = namespaceStream('default');

/** The events of one incarnation, by type. */
export const typesOf = (log: MemoryLog, uid: ClusterUid): readonly string[] =>
  log.events.filter(({ data }) => 'uid' in data && data.uid === uid).map(({ type }) => type);

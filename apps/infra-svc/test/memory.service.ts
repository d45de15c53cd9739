import { namespaceStream, type ClusterUid, type StoredEvent } from '@fairlead/contracts';
import { advance, job, type JobReaction, type Process, type Reaction } from '@fairlead/event-sourcing';
import {
  FoldCache,
  makeHandle,
  type Handle,
  type Job,
  type JobContext,
  type JobFailure,
  type JobLater,
} from '@fairlead/event-sourcing/jetstream';
import { systemClock } from '@fairlead/service-kit';
import { MemorySecrets as Secrets } from '@fairlead/testing';
import { opensshKeys } from '../src/adapters/ssh-keys/openssh.keys.js';
import { readConfig } from '../src/config.js';
import { RegisteredConnections } from '../src/connections/connections.effects.js';
import { connectionsProcess } from '../src/connections/connections.process.js';
import { connectionsProjection, namespacesProjection, rowFrom } from '../src/connections/connections.projection.js';
import type { ConnectionsQueries } from '../src/connections/connections.queries.js';
import { ConnectionFailures, ConnectionJobs, type OfConnection } from '../src/connections/verification.effects.js';
import type { Held, Locks } from '../src/locks/locks.ports.js';
import { Admission } from '../src/machines/admission.effects.js';
import { AnswerDeadline } from '../src/machines/answer.deadline.effects.js';
import { ClusterTurns } from '../src/machines/cluster.turns.effects.js';
import { Creation } from '../src/machines/creation.effects.js';
import { Deletion } from '../src/machines/deletion.effects.js';
import { MachinesFailures, MachinesJobs } from '../src/machines/machines.effects.js';
import { MachinesLog, type ClusterJob } from '../src/machines/machines.log.effects.js';
import { machinesProcess } from '../src/machines/machines.process.js';
import { SiteSurvey } from '../src/machines/sites.effects.js';
import { SurgeCreation, SurgeJobs } from '../src/machines/surge.effects.js';
import { Requests } from '../src/machines/requests.effects.js';
import type { ProviderKinds } from '../src/providers/provider.ports.js';
import { ProviderOffers } from '../src/resources/offers.effects.js';
import { ResourceSteps } from '../src/resources/resource.steps.effects.js';
import { ConnectionResources } from '../src/resources/resources.effects.js';
import { ResourcesLog } from '../src/resources/resources.log.effects.js';
import { resourcesProjection } from '../src/resources/resources.projection.js';
import type { ResourcesQueries } from '../src/resources/resources.queries.js';
import { SealedKeys } from '../src/resources/sealed.keys.effects.js';
import { LogTenancy } from '../src/connections/tenancy.effects.js';
import { WorldValidation } from '../src/validation/validation.effects.js';
import type { MemoryLog } from './memory.log.js';

export class MemorySecrets extends Secrets {
  override async destroyKey(): Promise<void> {
    throw new Error('infra-svc owns no key of a cluster');
  }
}

const WAITS_MAX = 100_000;

/** The cache sets room aside for all its entries, and a simulation starts many replicas. */
const FOLDS_MAX = 20;

export class MemoryLocks implements Locks {
  private readonly taken = new Set<string>();

  async hold<T>(name: string, waitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<Held<T>> {
    for (let waits = 0; this.taken.has(name); waits += 1) {
      if (waitMs === 0 || waits > WAITS_MAX) return { kind: 'taken' };
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.taken.add(name);
    try {
      return { kind: 'held', result: await work(new AbortController().signal) };
    } finally {
      this.taken.delete(name);
    }
  }
}

/** What replicas of the service share: the log, the secrets, the locks, and the providers out in the world. */
export interface Shared {
  readonly log: MemoryLog;
  readonly secrets: MemorySecrets;
  readonly locks: Locks;
  readonly kinds: ProviderKinds;
  /** Rows of the read models are as new as the log, or not there yet. */
  readonly rowsAreBehind?: boolean;
  readonly wrapHandle?: (handle: Handle) => Handle;
}

/** One replica of infra-svc without Nest, NATS and PostgreSQL: the same classes on the same ports. */
export interface Replica {
  readonly requests: Requests;
  deliver(job: Job, context: JobContext): Promise<JobLater | undefined>;
  failed(job: Job, failure: JobFailure): Promise<void>;
}

const queriesOf = ({ log, rowsAreBehind = false }: Shared): ConnectionsQueries & ResourcesQueries => {
  const events = (): readonly StoredEvent[] => (rowsAreBehind ? [] : log.events);
  const queries = {
    connection: async (name: string) => rowFrom(connectionsProjection, events(), name),
    namespace: async (name: string) => rowFrom(namespacesProjection, events(), name),
    of: async (name: string) => rowFrom(resourcesProjection, events(), name),
  };
  return queries as unknown as ConnectionsQueries & ResourcesQueries;
};

export const startReplica = (shared: Shared): Replica => {
  const { log, secrets, locks, kinds, wrapHandle = (handle) => handle } = shared;
  const config = readConfig({});
  const queries = queriesOf(shared);
  const handle = wrapHandle(makeHandle(log, new FoldCache(FOLDS_MAX)));
  const connections = new RegisteredConnections(queries, log, secrets, kinds);
  const resourcesLog = new ResourcesLog(handle);
  const steps = new ResourceSteps(resourcesLog, new SealedKeys(secrets, opensshKeys));
  const resources = new ConnectionResources(steps, queries, locks, config);
  const offers = new ProviderOffers(resourcesLog, config);
  const validation = new WorldValidation(connections, offers, resources, new LogTenancy(log));
  const machinesLog = new MachinesLog(handle);
  const admission = new Admission(machinesLog, validation);
  const sites = new SiteSurvey(connections, offers, resources);
  const creation = new Creation(machinesLog, admission, sites, new AnswerDeadline(config, systemClock));
  const deletion = new Deletion(machinesLog, connections, systemClock);
  const requests = new Requests(machinesLog);
  const turns = new ClusterTurns(locks, requests);
  const jobs = new MachinesJobs(admission, creation, deletion, turns);
  const surges = new SurgeJobs(new SurgeCreation(machinesLog, admission, sites, creation), deletion, turns);
  const connectionJobs = new ConnectionJobs(connections, offers);
  const failures = new MachinesFailures(machinesLog, systemClock);
  const connectionFailures = new ConnectionFailures(offers);

  const handlers: Record<string, (job: never, context: JobContext) => Promise<JobLater | undefined | void>> = {
    ValidateCluster: (asked, context) => jobs.validate(asked, context),
    CreateMachines: (asked, context) => jobs.create(asked, context),
    AddMachines: (asked, context) => jobs.add(asked, context),
    RemoveMachine: (asked, context) => jobs.remove(asked, context),
    ReturnMachines: (asked, context) => jobs.giveBack(asked, context),
    DeleteMachines: (asked, context) => jobs.delete(asked, context),
    AddSurge: (asked, context) => surges.add(asked, context),
    ReturnSurge: (asked, context) => surges.giveBack(asked, context),
    VerifyConnection: (asked, context) => connectionJobs.verify(asked, context),
  };
  return {
    requests,
    deliver: async (asked, context) => (await handlers[asked.type]!(asked as never, context)) ?? undefined,
    failed: (asked, failure) =>
      'connection' in asked.data
        ? connectionFailures.record(asked as Job<OfConnection>, failure)
        : failures.record(asked as ClusterJob, failure),
  };
};

/** The processes of the service, reading the log as the partitions do: each event once, in order. */
export class MemoryProcesses {
  private readonly states = new Map<string, unknown>();
  private read = 0;

  constructor(private readonly log: MemoryLog) {}

  /** The jobs that the events since the last call ask for. */
  next(): readonly Job[] {
    const events = this.log.events.slice(this.read);
    this.read = this.log.events.length;
    return [machinesProcess, connectionsProcess].flatMap((process) => this.run(process as Process<unknown>, events));
  }

  private run(process: Process<unknown>, events: readonly StoredEvent[]): readonly Job[] {
    const key = (clusterKey: string): string => `${process.name} ${clusterKey}`;
    const { states, reactions, poisons } = advance(process, (name) => this.states.get(key(name)), events);
    if (poisons.length > 0) throw new Error(poisons[0]!.error);
    for (const [name, { state }] of states) {
      if (state === undefined) this.states.delete(key(name));
      else this.states.set(key(name), state);
    }
    return reactions.flatMap(({ reaction, event, index }) =>
      isJob(reaction) ? [jobFrom(process.name, reaction, event, index)] : [],
    );
  }
}

const isJob = (reaction: Reaction): reaction is JobReaction => reaction.kind === job('', {}).kind;

const jobFrom = (process: string, { type, data }: JobReaction, event: StoredEvent, index: number): Job => ({
  id: `${process}-${event.meta.id}-${index}`,
  type,
  namespace: event.meta.namespace,
  cluster: event.meta.cluster,
  cause: { actor: 'system/infra-svc', correlationId: event.meta.correlationId, causationId: event.meta.id },
  data,
});

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

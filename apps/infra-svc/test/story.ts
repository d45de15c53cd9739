import { CONNECTIONS_STREAM, ExternalFailure, type EventData, type EventType, type Fact } from '@fairlead/contracts';
import type { QueuedTask, RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { STATE_FACTS } from '@fairlead/event-sourcing';
import { MemoryLeases } from '@fairlead/event-sourcing/memory.leases';
import type { ProviderKind, ProviderOperation } from '../src/providers/provider.ports.js';
import { FakeCloud, FakeProvider } from './fake.provider.js';
import { RealmFailure } from '../src/realms/realm.ports.js';
import { FakeRepository } from './fake.repository.js';
import { FakeRealm } from './fake.realm.js';
import { registered } from './fixtures.js';
import { MemoryLog } from './memory.log.js';
import {
  contextOf,
  ownNamespaceStream,
  Followers,
  MemoryNames,
  MemorySecrets,
  startReplica,
  requestStream,
  type Replica,
  type Shared,
} from './memory.service.js';

const ROUNDS_MAX = 1_000;
const ATTEMPTS_MAX = 3;
/** Longer than the timeout of a deletion, and than the delay before the next attempt. */
const WAIT_MS = 20 * 60_000;
/** Tasks that are requeued with at least this delay wait until time passes. */
const LONG_MS = 60_000;

/** An in-memory service that runs one task after the other, for stories without random failures. */
export class Story {
  readonly cloud = new FakeCloud();
  readonly realm = new FakeRealm();
  readonly repository = new FakeRepository();
  readonly log = new MemoryLog();
  readonly secrets = new MemorySecrets();
  readonly names = new MemoryNames();
  /** Set to make every call to the provider fail with this message. */
  outage: string | undefined;
  /** Limits the outage to one operation. */
  outageOf: ProviderOperation | undefined;
  /** A change that someone else makes at the provider just before it is called. */
  beforeCall: (operation: ProviderOperation) => void = () => undefined;
  /** The types of finished tasks. */
  readonly done: string[] = [];
  readonly leases = new MemoryLeases();
  private readonly processes = new Followers(this.log);
  private replica: Replica;
  private readonly startReplica: () => Replica;
  private readonly requeued: QueuedTask[] = [];
  private aheadMs = 0;

  constructor(options: Pick<Shared, 'rowsAreBehind' | 'problemsOfHosts' | 'clock' | 'publish'> = {}) {
    const before = async (operation: ProviderOperation): Promise<void> => {
      this.beforeCall(operation);
      if (this.outage !== undefined && (this.outageOf ?? operation) === operation)
        throw new ExternalFailure({ operation, target: 'lab', message: this.outage });
    };
    const provider = new FakeProvider(this.cloud, { before, after: async () => undefined });
    const kind: ProviderKind = { name: 'lab', open: () => provider };
    const kinds = new Map([[kind.name, kind]]);
    const shared: Shared = {
      log: this.log,
      secrets: this.secrets,
      names: this.names,
      kinds,
      identityProviders: this.realm.provider(),
      repository: this.repository,
      clock: { now: () => new Date(Date.now() + this.aheadMs) },
      ...options,
    };
    this.startReplica = () => startReplica(shared, this.leases.of('replica'));
    this.replica = this.startReplica();
  }

  /** The service loses its in-memory state. */
  restart(): void {
    this.replica = this.startReplica();
  }

  /** Creates the namespace and the connection with which every story begins. */
  async begin(connection: Fact<'ConnectionRegistered'> = registered()): Promise<void> {
    await this.log.say(ownNamespaceStream, {
      type: 'NamespaceCreated',
      data: { name: 'default' as never, description: '' },
    });
    await this.log.say(CONNECTIONS_STREAM, connection);
    await this.settle();
  }

  async request(...facts: readonly Fact[]): Promise<void> {
    for (const fact of facts) await this.log.say(requestStream, fact);
    await this.settle();
  }

  /** Runs everything that follows from the log. */
  async settle(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const tasks = this.processes.next();
      if (tasks.length === 0) return;
      for (const asked of tasks) await this.work(asked);
    }
    throw new Error('it never ends');
  }

  /** Advances time until every timer is due. */
  async wait(): Promise<void> {
    this.aheadMs += WAIT_MS;
    const again = this.requeued.splice(0);
    for (const asked of [...this.processes.fireTimers(), ...again]) await this.work(asked);
    await this.settle();
  }

  /** Why a realm of the namespace is not ready; 'ready': it is. */
  async look(name: string): Promise<string> {
    const realm = await this.replica.realms.one('default', name);
    if (realm === undefined) return 'unknown';
    const cause = { actor: 'system/infra-svc', correlationId: 'look', causationId: 'look' };
    return this.replica.looks.open(realm, cause).then(
      () => 'ready',
      (error: unknown) => (error instanceof RealmFailure ? error.reason : Promise.reject(error as Error)),
    );
  }

  last<T extends EventType>(type: T): EventData<T> {
    const found = this.log.events.filter((event) => event.type === type).at(-1);
    if (found === undefined) throw new Error(`no ${type} among ${this.types().join(', ')}`);
    return found.data as EventData<T>;
  }

  types(): readonly string[] {
    return this.log.events.map(({ type }) => type);
  }

  private async work(asked: QueuedTask): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const result = await this.replica.deliver(asked, contextOf(attempt, new AbortController().signal));
        if (result === undefined && asked.type !== STATE_FACTS) this.done.push(asked.type);
        if (result !== undefined && !isLater(asked, result) && attempt < ROUNDS_MAX) continue;
        if (result !== undefined) this.requeued.push(asked);
        return;
      } catch (error) {
        if (!(error instanceof ExternalFailure)) throw error;
        const isLast = attempt >= ATTEMPTS_MAX || !error.retryable;
        const nextAttemptAt = isLast ? null : '2026-01-01T01:00:00.000Z';
        await this.replica.failed(asked, {
          cause: error.toCause(),
          attempt,
          attemptsMax: ATTEMPTS_MAX,
          nextAttemptAt,
        });
        if (isLast) return;
      }
    }
  }
}

/** Realms and names are waited for. */
const isLater = ({ type }: QueuedTask, { delayMs }: RequeueAfter): boolean =>
  delayMs >= LONG_MS || /(Identity|Endpoint)$/.test(type);

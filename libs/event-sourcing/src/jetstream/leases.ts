import { PARTITION_COUNT, wordsOf } from '@fairlead/contracts';
import pg from 'pg';
import { untilShared } from './shared.interval.js';
import { WakeSignal } from './wake.signal.js';
import type { PartitionLog } from './partition.consumer.js';

/** Advisory lock space of Fairlead's leases in a service's own database ("FAIR" in ASCII). */
const LOCK_CLASS = 0x46414952;
/** Lock numbers from here on mean "this replica is alive"; those below PARTITION_COUNT are partitions. */
const REPLICA_SLOT_FIRST = 1_000;
const REPLICA_SLOTS = 1_000;
/** Channel of the service's database on which a new replica announces itself. */
const ARRIVALS = 'fairlead_replicas';
/** How soon partitions of a replica that has ended are taken over. */
const SHARED_LOOK_MS = 250;
/** A replica that owns all partitions waits for a notification; this poll finds a missed one. */
const ALONE_LOOK_MS = 10_000;
const RETRY_MS = 250;

export interface LeaseOptions {
  readonly databaseUrl: string;
  readonly log: PartitionLog;
  readonly onGained: (partition: number) => void;
  /** Must resolve when no work on the partition is in progress any longer. */
  readonly onReleased: (partition: number) => Promise<void>;
}

/**
 * Which replica owns which partition: session-level advisory locks, which the database releases as soon as a replica's
 * connection closes. A lease only avoids duplicate work; correctness is ensured by the compare-and-set of positions.
 */
export class Leases {
  private readonly held = new Set<number>();
  private client: pg.Client | undefined;
  private running = false;
  private loop: Promise<void> | undefined;
  private readonly wakeSignal = new WakeSignal();
  private failures = 0;

  constructor(private readonly options: LeaseOptions) {}

  get owned(): ReadonlySet<number> {
    return this.held;
  }

  start(): void {
    this.running = true;
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.running = false;
    this.wakeSignal.ring();
    await this.loop;
    await this.releaseAll();
    await this.client
      ?.end()
      .catch((error: Error) => this.options.log.warn(`closing the lease connection: ${error.message}`));
    this.client = undefined;
  }

  /** Another replica has moved a position of the partition: release it, and compete for it again. */
  async lost(partition: number): Promise<void> {
    try {
      await this.release(partition);
    } catch (error) {
      // The session itself has ended, and with it all leases.
      this.options.log.warn(`leases: ${wordsOf(error)}; trying again`);
      await this.drop();
    }
    this.wakeSignal.ring();
  }

  private async run(): Promise<void> {
    while (this.running) {
      this.wakeSignal.reset();
      let waitMs = RETRY_MS;
      try {
        const client = this.client ?? (await this.connect());
        await this.balance(client);
        this.failures = 0;
        waitMs = this.held.size === PARTITION_COUNT ? untilShared(ALONE_LOOK_MS) : SHARED_LOOK_MS;
      } catch (error) {
        this.failures += 1;
        if (this.failures === 1) this.options.log.warn(`leases: ${wordsOf(error)}; trying again`);
        await this.drop();
      }
      if (this.running && !this.wakeSignal.isSet) await this.wakeSignal.pause(waitMs);
    }
  }

  private async connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.options.databaseUrl,
      application_name: 'fairlead-leases',
      keepAlive: true,
    });
    client.on('error', () => void this.drop().then(() => this.wakeSignal.ring()));
    client.on('notification', () => this.wakeSignal.ring());
    await client.connect();
    // The server detects a replica whose machine died silently within about 15 s.
    await client.query('set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 2');
    const slot = REPLICA_SLOT_FIRST + Math.floor(Math.random() * REPLICA_SLOTS);
    await client.query('select pg_try_advisory_lock($1, $2)', [LOCK_CLASS, slot]);
    await client.query(`listen ${ARRIVALS}; notify ${ARRIVALS}`);
    this.client = client;
    return client;
  }

  /** The session is closed and with it every lock: stop working, then forget it. */
  private async drop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    await Promise.all([...this.held].map((partition) => this.surrender(partition)));
    await client?.end().catch(() => undefined);
  }

  private async balance(client: pg.Client): Promise<void> {
    const locks = await client.query<{ objid: number; mine: boolean }>(
      `select objid::int as objid, pid = pg_backend_pid() as mine from pg_locks
        where locktype = 'advisory' and classid = $1 and granted and database = (select oid from pg_database where datname = current_database())`,
      [LOCK_CLASS],
    );
    const replicas = Math.max(1, locks.rows.filter((lock) => lock.objid >= REPLICA_SLOT_FIRST).length);
    const share = Math.ceil(PARTITION_COUNT / replicas);
    const taken = new Set(locks.rows.filter((lock) => lock.objid < PARTITION_COUNT).map((lock) => lock.objid));
    for (const partition of [...this.held].slice(share)) await this.release(partition);
    for (let partition = 0; partition < PARTITION_COUNT && this.held.size < share && this.running; partition += 1) {
      if (!taken.has(partition)) await this.take(client, partition);
    }
  }

  private async take(client: pg.Client, partition: number): Promise<void> {
    const answer = await client.query<{ got: boolean }>('select pg_try_advisory_lock($1, $2) as got', [
      LOCK_CLASS,
      partition,
    ]);
    if (answer.rows[0]?.got !== true) return;
    this.held.add(partition);
    this.options.onGained(partition);
  }

  private async surrender(partition: number): Promise<void> {
    if (!this.held.delete(partition)) return;
    await this.options.onReleased(partition);
  }

  private async release(partition: number): Promise<void> {
    await this.surrender(partition);
    await this.client?.query('select pg_advisory_unlock($1, $2)', [LOCK_CLASS, partition]);
  }

  private async releaseAll(): Promise<void> {
    await Promise.all([...this.held].map((partition) => this.surrender(partition)));
  }
}

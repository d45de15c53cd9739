import { WorldFailure, wordsOf } from '@fairlead/contracts';
import { Logger } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { Held, Locks } from '../../locks/locks.ports.js';

/** Advisory lock space of infra-svc's own locks ("INFR" in ASCII), apart from the partitions' and the migrations'. */
const LOCK_CLASS = 0x494e4652;

const POLL_MS = 100;
const ALIVE_EVERY_MS = 5_000;

/** Postgres locks are numbers; names that share one only wait for each other without need. */
const numberOf = (name: string): number => createHash('sha256').update(name).digest().readInt32BE(0);

const lost = (error: unknown): WorldFailure =>
  new WorldFailure({
    operation: 'hold a lock',
    target: 'database',
    message: wordsOf(error),
    cause: error,
  });

interface Session {
  readonly client: pg.Client;
  /** Aborts when the session, and with it every lock, is gone. */
  readonly lost: AbortController;
}

/**
 * Session-level advisory locks, all on one connection: the database frees them the moment this replica is gone. The session
 * does not exclude itself, so who holds what in this process is remembered here.
 */
export class AdvisoryLocks implements Locks {
  private readonly log = new Logger('locks');
  private readonly mine = new Set<number>();
  private opening: Promise<Session> | undefined;
  private heartbeat: NodeJS.Timeout | undefined;

  constructor(private readonly databaseUrl: string) {}

  async hold<T>(name: string, waitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<Held<T>> {
    const number = numberOf(name);
    const deadline = Date.now() + waitMs;
    let session = await this.tryTake(number);
    while (session === undefined) {
      if (Date.now() >= deadline) return { kind: 'taken' };
      await pause(Math.min(POLL_MS, Math.max(1, deadline - Date.now())));
      session = await this.tryTake(number);
    }
    try {
      return { kind: 'held', result: await work(session.lost.signal) };
    } finally {
      await this.release(session, number);
    }
  }

  async close(): Promise<void> {
    const session = await this.opening?.catch(() => undefined);
    this.opening = undefined;
    clearInterval(this.heartbeat);
    await session?.client.end();
  }

  private async tryTake(number: number): Promise<Session | undefined> {
    if (this.mine.has(number)) return undefined;
    this.mine.add(number);
    try {
      const session = await this.session();
      const answer = await session.client.query<{ got: boolean }>('select pg_try_advisory_lock($1, $2) as got', [
        LOCK_CLASS,
        number,
      ]);
      if (answer.rows[0]?.got === true) return session;
      this.mine.delete(number);
      return undefined;
    } catch (error) {
      this.mine.delete(number);
      throw lost(error);
    }
  }

  private async release(session: Session, number: number): Promise<void> {
    try {
      if (!session.lost.signal.aborted) {
        await session.client.query('select pg_advisory_unlock($1, $2)', [LOCK_CLASS, number]);
      }
    } catch (error) {
      this.drop(session, error);
    } finally {
      this.mine.delete(number);
    }
  }

  private session(): Promise<Session> {
    this.opening ??= this.open().catch((error: unknown) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  private async open(): Promise<Session> {
    const client = new pg.Client({
      connectionString: this.databaseUrl,
      application_name: 'infra-svc-locks',
      keepAlive: true,
    });
    const session: Session = { client, lost: new AbortController() };
    client.on('error', (error) => this.drop(session, error));
    await client.connect();
    clearInterval(this.heartbeat);
    this.heartbeat = setInterval(() => {
      client.query('select 1').catch((error: unknown) => this.drop(session, error));
    }, ALIVE_EVERY_MS).unref();
    return session;
  }

  /** Whoever holds a lock of a lost session must stop: another replica may hold it by now. */
  private drop(session: Session, error: unknown): void {
    if (session.lost.signal.aborted) return;
    const failure = lost(error);
    this.log.warn(`the session of the locks is lost: ${failure.message}`);
    this.opening = undefined;
    clearInterval(this.heartbeat);
    session.lost.abort(failure);
    session.client.end().catch((closing: Error) => this.log.debug(`closing it: ${closing.message}`));
  }
}

import { refuse, wordsOf } from '@fairlead/contracts';
import { NATS, untilShared } from '@fairlead/event-sourcing/jetstream';
import { Alarms, METRICS, type ServiceMetrics } from '@fairlead/service-kit';
import { Inject, Injectable, Logger, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { NatsConnection } from '@nats-io/transport-node';
import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { SETTINGS, type Settings } from '../config.js';
import type { Recording } from '../http/documented.js';
import { RefusalError } from '../http/refusal.error.js';
import { begins, bytesText, roomBytes, type Storage } from './disk.rules.js';
import { monitored } from './monitor.client.js';

/** What all tokens together may write in this time is far less than the reserve. */
const POLL_INTERVAL_MS = 5_000;
const ANSWER_TIMEOUT_MS = 2_000;

const limit = z.number().transform((bytes) => (bytes < 0 ? undefined : bytes));
const AccountInfo = z.object({ storage: z.number(), limits: z.object({ max_storage: limit }) });
const ServerInfo = z.object({ storage: z.number(), config: z.object({ max_storage: limit }) });

/**
 * Keeps a part of the disk of the log for what has begun: commands that begin something are refused before JetStream itself takes nothing
 * any more. Looks in the background, so that no request waits for it.
 */
@Injectable()
export class DiskReserve implements OnModuleInit, BeforeApplicationShutdown {
  private readonly log = new Logger('disk');
  private readonly stopping = new AbortController();
  private readonly reported = new Map<string, string>();
  private freeBytes: number | undefined;
  private following: Promise<void> | undefined;

  constructor(
    @Inject(SETTINGS) private readonly config: Pick<Settings, 'disk'>,
    @Inject(NATS) private readonly nats: NatsConnection,
    @Inject(METRICS) metrics: ServiceMetrics,
    @Inject(Alarms) alarms: Alarms,
  ) {
    alarms.add('disk', () => this.report());
    const bytes = (value: number | undefined) => (value === undefined ? [] : [{ labels: {}, value }]);
    metrics.addGauge({
      name: 'fairlead_log_free_bytes',
      help: 'What may still be written to the disk of the event log; absent while it is not known',
      labels: [],
      read: () => bytes(this.freeBytes),
    });
    metrics.addGauge({
      name: 'fairlead_log_reserve_bytes',
      help: 'With less than this left, commands that begin something are refused',
      labels: [],
      read: () => bytes(config.disk.reserveBytes),
    });
  }

  async onModuleInit(): Promise<void> {
    // Nest calls this once for the HTTP part of the application and once for its transport.
    if (this.following !== undefined) return;
    this.following = this.follow();
    await this.look();
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** Refuses what begins something while less than the reserve is left. */
  check(records: Recording): void {
    const { freeBytes } = this;
    if (freeBytes === undefined || !this.isLow() || !begins(records)) return;
    throw new RefusalError(
      refuse('log.disk-reserve', { free: bytesText(freeBytes), reserve: bytesText(this.config.disk.reserveBytes) }),
    );
  }

  /** `ok`, or what is wrong. */
  private report(): string {
    if (this.freeBytes === undefined) return this.isWatched() ? 'the free space for the event log is unknown' : 'ok';
    if (!this.isLow()) return 'ok';
    const [free, reserve] = [bytesText(this.freeBytes), bytesText(this.config.disk.reserveBytes)];
    return `only ${free} are left for the event log, less than its reserve of ${reserve}: no new work is accepted`;
  }

  private isWatched(): boolean {
    const { storeDir, monitorUrl } = this.config.disk;
    return storeDir !== undefined || monitorUrl !== undefined;
  }

  private isLow(): boolean {
    return this.freeBytes !== undefined && this.freeBytes < this.config.disk.reserveBytes;
  }

  private async follow(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await sleep(untilShared(POLL_INTERVAL_MS), undefined, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) await this.look();
    }
  }

  private async look(): Promise<void> {
    const { storeDir, monitorUrl } = this.config.disk;
    const [account, server, diskFreeBytes] = await Promise.all([
      this.try('JetStream', () => this.account()),
      monitorUrl === undefined ? undefined : this.try('NATS_MONITOR_URL', () => this.server(monitorUrl)),
      storeDir === undefined ? undefined : this.try('NATS_STORE_DIR', () => diskFree(storeDir)),
    ]);
    const wasLow = this.isLow();
    this.freeBytes = roomBytes({ account, server, diskFreeBytes });
    if (this.isLow() !== wasLow) this.log.warn(wasLow ? 'there is room for the event log again' : this.report());
  }

  private async account(): Promise<Storage> {
    const answer = await this.nats.request('$JS.API.INFO', undefined, { timeout: ANSWER_TIMEOUT_MS });
    const { storage, limits } = AccountInfo.parse(answer.json());
    return { usedBytes: storage, maxBytes: limits.max_storage };
  }

  private async server(monitorUrl: string): Promise<Storage> {
    const { storage, config } = ServerInfo.parse(await monitored(new URL('/jsz', monitorUrl), ANSWER_TIMEOUT_MS));
    return { usedBytes: storage, maxBytes: config.max_storage };
  }

  /** undefined: it cannot be read now; why is said once. */
  private async try<Result>(what: string, look: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await look();
      this.reported.delete(what);
      return result;
    } catch (error) {
      const words = wordsOf(error);
      if (this.reported.get(what) !== words && !this.stopping.signal.aborted)
        this.log.warn(`${what} does not report the free space for the event log: ${words}`);
      this.reported.set(what, words);
      return undefined;
    }
  }
}

const diskFree = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

import { isRefusal, wordsOf } from '@fairlead/contracts';
import { HANDLE, untilShared, untilSharedAfter, type Handle } from '@fairlead/event-sourcing/jetstream';
import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Settings } from '../config.js';
import { nodeKey } from '../nodes/nodes.projection.js';
import { SETTINGS } from '../tokens.js';
import { health, type ReportLost, type ReportRecovered } from './health.decider.js';
import {
  findingsOf,
  nextLookMs,
  outlookOf,
  type Finding,
  type Listening,
  type Outlook,
  type WatchedNode,
} from './health.planner.js';
import { HeartbeatListener } from './heartbeats.listener.js';
import { WatchedNodes, type Watched } from './watched.nodes.js';

const ACTOR = 'system/upgrade-svc';
const DECISIONS_AT_ONCE = 8;
/** A process that was suspended this long has missed heartbeats that may still be in its socket. */
const STALL_MS = 5_000;
/** How long reading those heartbeats takes after the process resumes. */
const READ_MS = 100;
/** How many sweeps are skipped at most while no node can be lost, because a suspended process must be noticed. */
const QUIET_SWEEPS_MAX = 5;
/** Heartbeats of nodes that are not watched are dropped after this. */
const FORGET_MS = 10 * 60_000;

/** The response of /health/nodes. */
export interface HealthReport extends Outlook {
  readonly listening: boolean;
  readonly partitions: readonly number[];
  readonly heartbeats: number;
}

/** States which nodes of this replica's partitions fell silent, and which are back. */
@Injectable()
export class HealthEffects implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('health');
  private sweepsAtMs = 0;
  private sweeping: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private meltdown = false;
  private stopped = false;

  constructor(
    @Inject(HeartbeatListener) private readonly listener: HeartbeatListener,
    @Inject(WatchedNodes) private readonly nodes: WatchedNodes,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'nodeLostAfterMs' | 'healthSweepMs'>,
  ) {}

  onApplicationBootstrap(): void {
    // Nest calls this once for the HTTP part of the application and once for its transport.
    if (this.timer !== undefined) return;
    this.listener.start();
    this.wait(untilShared(this.settings.healthSweepMs));
    this.nodes.start(() => this.sweepNext());
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    this.nodes.stop();
    await this.sweeping;
    this.listener.stop();
  }

  report(): HealthReport {
    return {
      ...outlookOf(this.nodes.all()),
      listening: this.listener.sinceMs !== undefined,
      partitions: this.nodes.ownedPartitions,
      heartbeats: this.listener.count,
    };
  }

  private sweepNext(): void {
    const delayMs = untilShared(this.settings.healthSweepMs);
    if (performance.now() + delayMs < this.sweepsAtMs) this.wait(delayMs);
  }

  private wait(delayMs: number): void {
    if (this.stopped) return;
    clearTimeout(this.timer);
    this.sweepsAtMs = performance.now() + delayMs;
    this.timer = setTimeout(() => this.sweepAndWait(), delayMs);
  }

  /** Nothing can be found before a node may be lost; a change of the watched nodes triggers an earlier sweep. */
  private sweepAndWait(): void {
    const { healthSweepMs: everyMs } = this.settings;
    this.sweepSoon();
    const listening = this.listening();
    const dueInMs = nextLookMs(this.withHeartbeats(), listening) - listening.nowMs;
    this.wait(untilSharedAfter(Math.min(dueInMs, (QUIET_SWEEPS_MAX - 1) * everyMs), everyMs));
  }

  private sweepSoon(): void {
    const lateMs = performance.now() - this.sweepsAtMs;
    if (lateMs > STALL_MS) {
      this.logger.warn(`this process stood still for ${Math.round(lateMs)} ms; silence is counted from zero`);
      this.listener.stoodStill();
    }
    this.sweeping ??= this.sweep()
      .catch((error: unknown) => {
        const message = wordsOf(error);
        this.logger.warn(`looking at heartbeats failed, trying again: ${message}`);
      })
      .finally(() => {
        this.sweeping = undefined;
      });
  }

  private async sweep(): Promise<void> {
    await this.nodes.reload();
    const findings = await this.findings();
    const limit = pLimit(DECISIONS_AT_ONCE);
    await Promise.all(findings.map((finding) => limit(() => this.tell(finding))));
    this.watchOutlook();
    this.listener.forgetSilentFor(Math.max(FORGET_MS, this.settings.nodeLostAfterMs));
  }

  private async findings(): Promise<readonly Finding[]> {
    const findings = findingsOf(this.withHeartbeats(), this.listening());
    if (findings.every(({ kind }) => kind !== 'lost')) return findings;
    await sleep(READ_MS);
    return findingsOf(this.withHeartbeats(), this.listening());
  }

  private listening(): Listening {
    const { nodeLostAfterMs: limitMs } = this.settings;
    return { nowMs: performance.now(), sinceMs: this.listener.sinceMs, limitMs };
  }

  private *withHeartbeats(): Iterable<WatchedNode> {
    for (const { key, lost, expectedSinceMs } of this.nodes.all())
      yield { key, lost, expectedSinceMs, heardAtMs: this.listener.heardAt(key) };
  }

  private async tell(finding: Finding): Promise<void> {
    const watched = this.nodes.get(finding.key);
    if (watched === undefined) return;
    const { namespace, cluster, node, because } = watched.row;
    const command = this.commandOf(finding, watched);
    // Nothing in the log caused a silence; it refers to the newest event of the node.
    const cause = { actor: ACTOR, correlationId: because.correlationId, causationId: because.eventId };
    const outcome = await this.handle(health, { namespace, cluster, context: `health-${node}` }, command, cause);
    if (isRefusal(outcome)) throw new Error(outcome.message);
    this.nodes.setLost(finding.key, finding.kind === 'lost');
    const name = nodeKey(namespace, cluster, node);
    if (finding.kind === 'lost') this.logger.warn(`${name} is silent for ${Math.round(finding.silentMs)} ms`);
    else this.logger.log(`${name} answers again`);
  }

  private commandOf({ kind }: Finding, { key, row }: Watched): ReportLost | ReportRecovered {
    const { uid, node } = row;
    if (kind === 'recovered') return { type: 'ReportRecovered', data: { uid, node, at: this.listener.now() } };
    const lastSeenAt = this.listener.timeHeard(key) ?? row.lastSeenAt;
    return { type: 'ReportLost', data: { uid, node, lastSeenAt, limitMs: this.settings.nodeLostAfterMs } };
  }

  private watchOutlook(): void {
    const { watched, lost, meltdown } = outlookOf(this.nodes.all());
    if (meltdown === this.meltdown) return;
    this.meltdown = meltdown;
    const share = `${lost} of ${watched} nodes look lost`;
    if (meltdown)
      this.logger.error(`${share}: our view is more likely wrong than they are; nothing may act on it (rule E1)`);
    else this.logger.log(`${share}: the view is plausible again`);
  }
}

import { wordsOf } from '@fairlead/contracts';
import type { AccountConnections, ConnectionReport, NodeConnection } from './connections.ports.js';
import { keyOf, OpenConnections, type ConnectionLimits } from './open.connections.js';

/** Reports are lost while the connection to the server is down, or when there are more than it can send. */
const LIST_INTERVAL_MS = 5 * 60_000;
const RETRY_MS = 1_000;
/** Reports during one list; with more of them the list is made again. */
const MEANWHILE_MAX = 20_000;
/** One line for each node in this time, however many connections it opens. */
const REPORT_INTERVAL_MS = 60_000;
/** Nodes that are remembered as reported. */
const REPORTED_MAX = 10_000;

export interface ConnectionGuardParts {
  readonly connections: AccountConnections;
  readonly limits: ConnectionLimits;
  readonly now: () => Date;
  readonly isUp: () => boolean;
  readonly say: (level: 'log' | 'warn' | 'error', sentence: string) => void;
  /** The account has to allow another number of connections. */
  readonly onNeedChanged: () => void;
}

/** Counts, for metrics. */
export interface ConnectionCounts {
  readonly open: number;
  readonly mostOfOneUser: number;
  readonly closed: number;
}

/** A list after what was reported while it was made. */
const withReports = (
  listed: readonly NodeConnection[],
  reports: readonly ConnectionReport[],
): readonly NodeConnection[] => {
  const open = new Map(listed.map((connection) => [keyOf(connection), connection]));
  for (const report of reports) {
    if (report.kind === 'opened') open.set(keyOf(report.connection), report.connection);
    else open.delete(keyOf(report.connection));
  }
  return [...open.values()];
};

/** Closes the connections of a user beyond its limit, and computes how many the account needs. */
export class ConnectionGuard {
  private readonly open: OpenConnections;
  private readonly reportedAtMs = new Map<string, number>();
  private startedAtMs = 0;
  /** Since the list was requested; undefined: none is. */
  private meanwhile: ConnectionReport[] | undefined;
  private timer: NodeJS.Timeout | undefined;
  private closed = 0;
  private need = 0;
  private isListed = false;
  private isLate = false;
  private stopped = false;

  constructor(private readonly parts: ConnectionGuardParts) {
    this.open = new OpenConnections(parts.limits);
  }

  get counts(): ConnectionCounts {
    return { open: this.open.count, mostOfOneUser: this.open.mostOfOneUser, closed: this.closed };
  }

  /**
   * How many connections the claims of the account have to allow, given how many they allow now (undefined: any number). It shrinks only
   * after the time in which every node that exists has connected once, so that all can connect again after an outage.
   */
  accountLimit(allowed: number | undefined): number {
    const current = Math.min(this.parts.limits.accountMax, allowed ?? Infinity);
    if (!this.isListed) return current;
    const { needed } = this.open;
    const isComplete = this.nowMs() - this.startedAtMs > this.parts.limits.rememberedMs;
    return isComplete || allowed === undefined ? needed : Math.max(current, needed);
  }

  /** Follows the server's reports until `stop`. */
  start(): void {
    this.startedAtMs = this.nowMs();
    this.parts.connections.follow((report) => this.onReport(report));
    void this.list();
  }

  /** Reports may have been lost. */
  listAgain(): void {
    clearTimeout(this.timer);
    void this.list();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private nowMs(): number {
    return this.parts.now().getTime();
  }

  private async list(): Promise<void> {
    const delayMs = await this.listOnce();
    if (this.stopped) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.list(), delayMs).unref();
  }

  private async listOnce(): Promise<number> {
    if (!this.parts.isUp()) return RETRY_MS;
    this.meanwhile = [];
    try {
      const listed = await this.parts.connections.list();
      // The list was made page by page while connections came and went.
      const { meanwhile } = this;
      if (meanwhile === undefined || meanwhile.length > MEANWHILE_MAX) return RETRY_MS;
      this.meanwhile = undefined;
      this.isLate = false;
      this.isListed = true;
      this.open.forget(this.nowMs());
      this.close(this.open.replace(withReports(listed, meanwhile), this.nowMs()));
      this.checkNeed();
      return LIST_INTERVAL_MS;
    } catch (error) {
      if (!this.isLate && !this.stopped)
        this.parts.say('warn', `the connections of nodes cannot be listed: ${wordsOf(error)}; trying again`);
      this.isLate = true;
      return RETRY_MS;
    }
  }

  private onReport(report: ConnectionReport): void {
    if (this.meanwhile !== undefined && this.meanwhile.length <= MEANWHILE_MAX) this.meanwhile.push(report);
    this.close(this.open.take(report, this.nowMs()));
    if (report.kind === 'opened') this.checkNeed();
  }

  private checkNeed(): void {
    const need = this.open.needed;
    if (need === this.need || !this.isListed) return;
    this.need = need;
    this.parts.onNeedChanged();
  }

  private close(surplus: readonly NodeConnection[]): void {
    for (const connection of surplus) {
      this.closed += 1;
      this.parts.connections.close(connection);
      this.report(connection);
    }
  }

  private report({ node, user }: NodeConnection): void {
    const nowMs = this.nowMs();
    const before = this.reportedAtMs.get(user);
    if (before !== undefined && nowMs - before < REPORT_INTERVAL_MS) return;
    this.reportedAtMs.delete(user);
    this.reportedAtMs.set(user, nowMs);
    const [oldest] = this.reportedAtMs.keys();
    if (this.reportedAtMs.size > REPORTED_MAX && oldest !== undefined) this.reportedAtMs.delete(oldest);
    const { perUser } = this.parts.limits;
    this.parts.say('warn', `node ${node} has more than ${perUser} connections to NATS; the oldest are closed`);
  }
}

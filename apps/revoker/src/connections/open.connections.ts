import type { ConnectionReport, NodeConnection } from './connections.ports.js';

/** How many connections nodes may have. */
export interface ConnectionLimits {
  /** Of one user, that is, of one credential. */
  readonly perUser: number;
  /** Of the account, for users that are not known yet. */
  readonly accountMin: number;
  /** Of the account, whatever the number of users: the server has room for services beyond it. */
  readonly accountMax: number;
  /** How long a user counts after its last connection was seen. */
  readonly rememberedMs: number;
}

/** Identifies a connection among those of all servers. */
export const keyOf = ({ server, id }: Pick<NodeConnection, 'server' | 'id'>): string => `${server}/${id}`;

interface User {
  readonly open: Map<string, NodeConnection>;
  seenAtMs: number;
}

/** The open connections of the nodes' account by user, as far as the server has reported them. */
export class OpenConnections {
  private readonly users = new Map<string, User>();
  private readonly userOf = new Map<string, string>();

  constructor(private readonly limits: ConnectionLimits) {}

  get count(): number {
    return this.userOf.size;
  }

  /** Of the user that has the most. */
  get mostOfOneUser(): number {
    let most = 0;
    for (const { open } of this.users.values()) most = Math.max(most, open.size);
    return most;
  }

  /**
   * Takes a report, and returns the connections that have to be closed because of it: the oldest of a user that has too many. A node
   * whose former connections are dead without having been closed can still connect.
   */
  take(report: ConnectionReport, nowMs: number): readonly NodeConnection[] {
    if (report.kind === 'closed') {
      this.remove(keyOf(report.connection));
      return [];
    }
    this.add(report.connection, nowMs);
    return this.surplusOf(report.connection.user);
  }

  /** Replaces everything that is known by a complete list, and returns the connections that have to be closed. */
  replace(connections: readonly NodeConnection[], nowMs: number): readonly NodeConnection[] {
    this.userOf.clear();
    for (const { open } of this.users.values()) open.clear();
    for (const connection of connections.toSorted((one, other) => one.id - other.id)) this.add(connection, nowMs);
    return [...this.users.keys()].flatMap((user) => this.surplusOf(user));
  }

  /** Forgets users that have had no connection for long. */
  forget(nowMs: number): void {
    const since = nowMs - this.limits.rememberedMs;
    for (const [name, { open, seenAtMs }] of this.users)
      if (open.size === 0 && seenAtMs < since) this.users.delete(name);
  }

  /** How many the account has to allow: twice as many as its users may have together. */
  get needed(): number {
    const { perUser, accountMin, accountMax } = this.limits;
    const wanted = Math.min(accountMax, 2 * perUser * this.users.size);
    // Few steps: the server checks every connection when the claims of the account change.
    let needed = accountMin;
    while (needed < wanted) needed *= 2;
    return Math.min(accountMax, needed);
  }

  private add(connection: NodeConnection, nowMs: number): void {
    const user = this.users.get(connection.user) ?? { open: new Map<string, NodeConnection>(), seenAtMs: nowMs };
    user.seenAtMs = nowMs;
    user.open.set(keyOf(connection), connection);
    this.users.set(connection.user, user);
    this.userOf.set(keyOf(connection), connection.user);
  }

  private remove(key: string): void {
    const user = this.userOf.get(key);
    if (user === undefined) return;
    this.userOf.delete(key);
    this.users.get(user)?.open.delete(key);
  }

  /** They count as closed from now on, so that each is closed once. */
  private surplusOf(name: string): readonly NodeConnection[] {
    const open = this.users.get(name)?.open;
    if (open === undefined || open.size <= this.limits.perUser) return [];
    const surplus = [...open.values()].slice(0, open.size - this.limits.perUser);
    for (const connection of surplus) this.remove(keyOf(connection));
    return surplus;
  }
}

import { CONTROL_PLANE_POOL, sentenceOf, without, type StoredEvent } from '@fairlead/contracts';

/** A request for what is declared came to nothing. It stays declared, and is asked for again. */
export interface Setback {
  /** In the words of whoever refused it. */
  readonly cause: string;
  /** RFC 3339: since when it is not met. */
  readonly since: string;
  /** When it failed last, or was made due at once. */
  readonly failedAt: string;
  /** How often it has failed since; 0: it is due at once. */
  readonly attempt: number;
}

/** Another end of a lease, which a provider has denied. */
export interface Denial extends Setback {
  readonly endsAt: string;
}

const PAUSE_FIRST_MS = 60_000;
const PAUSE_LAST_MS = 30 * 60_000;

export const setBack = (before: Setback | undefined, cause: string, time: string): Setback => ({
  cause,
  since: before?.since ?? time,
  failedAt: time,
  attempt: (before?.attempt ?? 0) + 1,
});

/** What may have kept it from happening has changed. */
export const dueAtOnce = <Of extends Setback>(setback: Of, time: string): Of => ({
  ...setback,
  failedAt: time,
  attempt: 0,
});

/** RFC 3339: when it is asked for again; it may be over. */
export const askedAgainAt = ({ failedAt, attempt }: Setback): string => {
  if (attempt === 0) return failedAt;
  const pause = Math.min(PAUSE_LAST_MS, PAUSE_FIRST_MS * 2 ** (attempt - 1));
  return new Date(Date.parse(failedAt) + pause).toISOString();
};

/** By connection; undefined: none. */
export type Denials = Readonly<Record<string, Denial>> | undefined;

const someOf = (denials: NonNullable<Denials>): Denials => (Object.keys(denials).length === 0 ? undefined : denials);

/** Ends that providers have denied and that are declared all the same. */
export const denialsAfter = (denials: Denials, event: StoredEvent): Denials => {
  const { time } = event.meta;
  switch (event.type) {
    case 'ReservationDenied': {
      const { connection, endsAt, until, cause } = event.data;
      // Without an end that it keeps, its cluster has failed, and a retry asks again.
      if (until === undefined) return denials;
      const before = denials?.[connection];
      const same = before?.endsAt === endsAt ? before : undefined;
      return { ...denials, [connection]: { ...setBack(same, sentenceOf(cause), time), endsAt } };
    }
    case 'ReservationConfirmed':
    case 'ReservationReleased':
      return denials?.[event.data.connection] === undefined ? denials : someOf(without(denials, event.data.connection));
    case 'ClusterSpecChanged': {
      const { lease } = event.data.spec;
      const left = Object.entries(denials ?? {}).filter(([, { endsAt }]) => endsAt === lease?.endsAt);
      return someOf(Object.fromEntries(left.map(([name, denial]) => [name, dueAtOnce(denial, time)])));
    }
    case 'ClusterRetryRequested':
      if (event.data.again === 'due') return denials;
      return (
        denials && Object.fromEntries(Object.entries(denials).map(([name, denial]) => [name, dueAtOnce(denial, time)]))
      );
    default:
      return denials;
  }
};

/** A rollout that has stopped at a failure: its pool is not as declared. */
export interface StoppedRollout extends Setback {
  readonly requestId: string;
  /** It was tried again since, and is in progress. */
  readonly open?: true;
}

/** By pool; undefined: none. */
export type StoppedRollouts = Readonly<Record<string, StoppedRollout>> | undefined;

const stoppedOf = (entries: readonly (readonly [string, StoppedRollout])[]): StoppedRollouts =>
  entries.length === 0 ? undefined : Object.fromEntries(entries);

/** Rollouts that have stopped, until they are complete, superseded or abandoned. */
export const stoppedAfter = (stopped: StoppedRollouts, event: StoredEvent): StoppedRollouts => {
  const { time } = event.meta;
  if (event.type === 'PoolRolloutFailed') {
    const { pool, requestId, cause } = event.data;
    return { ...stopped, [pool]: { ...setBack(stopped?.[pool], sentenceOf(cause), time), requestId } };
  }
  if (stopped === undefined) return undefined;
  const all = Object.entries(stopped);
  switch (event.type) {
    case 'PoolRolloutRequested':
    case 'PoolRolloutCompleted':
      return stoppedOf(all.filter(([pool]) => pool !== event.data.pool));
    case 'NodesAbandoned':
      return stoppedOf(all.filter(([, { requestId }]) => requestId !== event.data.requestId));
    case 'ClusterRetryRequested':
      return stoppedOf(
        all.map(([pool, one]) => [
          pool,
          { ...(event.data.again === 'due' ? one : dueAtOnce(one, time)), open: true as const },
        ]),
      );
    case 'ClusterSpecChanged': {
      const pools = new Set([CONTROL_PLANE_POOL as string, ...event.data.spec.pools.map(({ name }) => name)]);
      const left = all.filter(([pool]) => pools.has(pool));
      return stoppedOf(left.map(([pool, one]) => [pool, one.open === true ? one : dueAtOnce(one, time)]));
    }
    default:
      return stopped;
  }
};

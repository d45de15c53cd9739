import { sentenceOf, without, type StoredEvent } from '@fairlead/contracts';

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
      return (
        denials && Object.fromEntries(Object.entries(denials).map(([name, denial]) => [name, dueAtOnce(denial, time)]))
      );
    default:
      return denials;
  }
};

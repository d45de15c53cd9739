import { errorCodeOf, wordsOf, ExternalFailure } from '@fairlead/contracts';

/*
 * Classifies a failure to reach NATS or PostgreSQL during startup: transient failures are retried, failures that only
 * an operator can fix are reported immediately, and anything else is a bug.
 */

export type Verdict = 'passing' | 'permanent' | 'bug';

/** The server is unreachable, its name does not resolve yet, or the connection was interrupted. */
const SYSTEM_PASSING = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/**
 * PostgreSQL, appendix A: connections (08), resources (53), a shutdown or recovery (57P), locks and concurrent
 * transactions, a failing disk, a standby that is not the primary yet.
 */
const SQL_PASSING = /^(08[0-9A-Z]{3}|53[0-9A-Z]{3}|57P0[1235]|57014|55006|55P03|40001|40P01|58000|58030|25006)$/;
/** Password, role, database, privileges. */
const SQL_PERMANENT = new Set(['28P01', '28000', '3D000', '42501', '57P04']);

const NATS_PASSING = new Set([
  'ClosedConnectionError',
  'ConnectionError',
  'DrainingConnectionError',
  'NoRespondersError',
  'RequestError',
  'TimeoutError',
]);
const NATS_PERMANENT = new Set(['AuthorizationError', 'PermissionViolationError', 'UserAuthenticationExpiredError']);
/** TypeORM releases a query runner when its connection breaks, so the next query meets a released one. */
const TYPEORM_PASSING = new Set(['QueryRunnerAlreadyReleasedError']);
/** A loaded server closes a connection whose credential arrived too late; that is not a rejection of the credential. */
const NATS_LATE = /timeout/i;

/** Messages of both clients' errors without a code. */
const WORDS_PASSING =
  /connection terminated|connection timeout|timeout expired|timeout exceeded|connection error and is not queryable|no responders|^CONNECTION_|^TIMEOUT$|^NO_RESPONDERS/i;

const verdictOfOne = (error: Error): Verdict | undefined => {
  const code = errorCodeOf(error) ?? '';
  if (SQL_PERMANENT.has(code)) return 'permanent';
  if (SQL_PASSING.test(code) || SYSTEM_PASSING.has(code)) return 'passing';
  if (NATS_PERMANENT.has(error.name)) return NATS_LATE.test(error.message) ? 'passing' : 'permanent';
  if (NATS_PASSING.has(error.name) || TYPEORM_PASSING.has(error.name)) return 'passing';
  if (error instanceof ExternalFailure) return error.retryable ? 'passing' : 'permanent';
  return WORDS_PASSING.test(error.message) ? 'passing' : undefined;
};

/** An error, its causes, and the errors that it aggregates. */
const chainOf = (thrown: unknown, depth = 0): readonly Error[] => {
  if (!(thrown instanceof Error) || depth > 8) return [];
  const gathered = thrown instanceof AggregateError ? (thrown.errors as readonly unknown[]) : [];
  return [thrown, ...[thrown.cause, ...gathered].flatMap((inner) => chainOf(inner, depth + 1))];
};

/** The first classified error of the chain decides, permanent before transient. */
export const verdictOf = (thrown: unknown): Verdict => {
  const verdicts = chainOf(thrown).map(verdictOfOne);
  return verdicts.includes('permanent') ? 'permanent' : (verdicts.find((verdict) => verdict !== undefined) ?? 'bug');
};

/**
 * The first message of the chain: Node leaves that of a refused connection empty after it has tried several addresses.
 */
export const wordsOfChain = (thrown: unknown): string =>
  chainOf(thrown)
    .map(({ message }) => message.trim())
    .find((message) => message !== '') ?? wordsOf(thrown);

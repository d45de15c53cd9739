import { errorCodeOf } from '@fairlead/contracts';
/** Of the operating system, and of PostgreSQL (Appendix A: class 08, connection; 53, resources; 57P, an operator's intervention). */
const OUTAGE_CODE =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08\w{3}|53\w{3}|57P\w{2})$/;

/** pg has no code for a connection that breaks while it is used. */
const OUTAGE_WORDS =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** Errors of the NATS client when no server answers. */
const OUTAGE_NAMES: ReadonlySet<string> = new Set([
  'TimeoutError',
  'RequestError',
  'NoRespondersError',
  'ConnectionError',
  'ClosedConnectionError',
  'DrainingConnectionError',
]);

/** What stands behind an error: TypeORM wraps the driver's, a connection tries several addresses. */
const innerOf = (error: Error): readonly unknown[] => {
  if (error instanceof AggregateError) return error.errors as readonly unknown[];
  return 'driverError' in error ? [error.driverError] : [];
};

/** Whether NATS or PostgreSQL is away: an outage, which ends without a change to the request. */
export const isOutage = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  if (OUTAGE_CODE.test(errorCodeOf(error) ?? '') || OUTAGE_WORDS.test(error.message) || OUTAGE_NAMES.has(error.name))
    return true;
  return innerOf(error).some(isOutage);
};

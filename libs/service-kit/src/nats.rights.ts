import { PermissionViolationError, RequestError } from '@nats-io/transport-node';

/** The permission violation behind an error, if any; the client wraps it in the error of a request. */
export const missingRight = (error: unknown): PermissionViolationError | undefined => {
  if (error instanceof PermissionViolationError) return error;
  return error instanceof RequestError ? missingRight(error.cause) : undefined;
};

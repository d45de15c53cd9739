import { PermissionViolationError, RequestError } from '@nats-io/transport-node';

/** What the NATS server did not let us do, if that is what an error says; the client wraps it where it waits for an answer. */
export const missingRight = (error: unknown): PermissionViolationError | undefined => {
  if (error instanceof PermissionViolationError) return error;
  return error instanceof RequestError ? missingRight(error.cause) : undefined;
};

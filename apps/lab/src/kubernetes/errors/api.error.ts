import { qualifiedKind, qualifiedName, type ResourceDefinition } from '../resources/resource.js';

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** The API's response to a failed request. */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: object;
  readonly status: 'Failure' | 'Success';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code: number;
}

/** A request that the simulated API server refuses, with the `Status` object for the client. */
export class ApiError extends Error {
  readonly status: Status;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason,
      ...(details === undefined ? {} : { details }),
      code,
    };
  }
}

const about = (resource: ResourceDefinition, name: string): StatusDetails => ({
  name,
  ...(resource.group === '' ? {} : { group: resource.group }),
  kind: resource.plural,
});

export const notFound = (resource: ResourceDefinition, name: string): ApiError =>
  new ApiError(404, 'NotFound', `${qualifiedName(resource)} "${name}" not found`, about(resource, name));

export const noSuchPath = (): ApiError =>
  new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});

export const alreadyExists = (resource: ResourceDefinition, name: string): ApiError =>
  new ApiError(409, 'AlreadyExists', `${qualifiedName(resource)} "${name}" already exists`, about(resource, name));

export const conflict = (resource: ResourceDefinition, name: string, why: string): ApiError =>
  new ApiError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualifiedName(resource)} "${name}": ${why}`,
    about(resource, name),
  );

export const STALE = 'the object has been modified; please apply your changes to the latest version and try again';

export interface FieldProblem {
  readonly field: string;
  readonly reason:
    | 'FieldValueRequired'
    | 'FieldValueInvalid'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden'
    | 'FieldValueDuplicate';
  readonly message: string;
}

export const invalid = (resource: ResourceDefinition, name: string, problems: readonly FieldProblem[]): ApiError => {
  const sentences = problems.map(({ field, message }) => `${field}: ${message}`);
  const listed = sentences.length === 1 ? sentences[0] : `[${sentences.join(', ')}]`;
  return new ApiError(422, 'Invalid', `${qualifiedKind(resource)} "${name}" is invalid: ${listed}`, {
    name,
    ...(resource.group === '' ? {} : { group: resource.group }),
    kind: resource.kind,
    causes: problems.map(({ reason, message, field }) => ({ reason, message, field })),
  });
};

export const badRequest = (message: string): ApiError => new ApiError(400, 'BadRequest', message);

export const methodNotAllowed = (): ApiError =>
  new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');

export const unsupportedMediaType = (accepted: readonly string[]): ApiError =>
  new ApiError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

export const notAcceptable = (): ApiError =>
  new ApiError(406, 'NotAcceptable', 'only the following media types are accepted: application/json, application/yaml');

export const expired = (message: string): ApiError => new ApiError(410, 'Expired', message);

export const unauthorized = (): ApiError => new ApiError(401, 'Unauthorized', 'Unauthorized');

export const tooLarge = (limitBytes: number): ApiError =>
  new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${limitBytes}`);

export const unprocessable = (message: string): ApiError => new ApiError(422, 'Invalid', message);

/** The API server's response while etcd has no quorum. */
export const noLeader = (): ApiError =>
  new ApiError(503, 'ServiceUnavailable', 'etcdserver: no leader', { retryAfterSeconds: 1 });

import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Requests in general, and the state of the installation. */
export const API_REFUSALS = {
  'request.malformed': definition(400, '{detail}', 'Correct it as the OpenAPI document at /openapi.json describes.'),
  'request.unknown-field': definition(
    400,
    'Unknown field {field}',
    'Check the spelling against the OpenAPI document at /openapi.json.',
  ),
  'request.more-faults': definition(
    400,
    'The request has {count} more errors, which are not listed',
    'Correct the listed errors and send the request again.',
  ),
  'request.text-unstorable': definition(
    400,
    '{field} contains {character}, which cannot be stored',
    'Send text without control characters (line breaks and tabs are allowed) and without unpaired surrogates.',
  ),
  'request.media-type': definition(415, 'The body is {type}, not JSON in UTF-8', 'Send application/json.'),
  'request.too-large': definition(413, 'The body is larger than {max}', 'Send less in one request.'),
  'request.headers-too-large': definition(
    431,
    'The request line and the headers together are larger than {max}',
    'Send a shorter query and fewer headers.',
  ),
  'idempotency.key-reused': definition(
    422,
    'The idempotency key was used for another request',
    'Use a new key for a new request.',
  ),
  'idempotency.in-progress': definition(
    409,
    'The first request with this idempotency key is still in progress',
    'Try again in a few seconds.',
  ),
  'idempotency.key-invalid': definition(400, 'An idempotency key has 1 to 255 printable characters', 'Use a UUID.'),
  'operation.not-cancellable': definition(
    409,
    'Operation {operation} of {namespace}/{cluster} cannot be cancelled: {detail}',
    'A request for nodes can be cancelled until all of its nodes have started. End an upgrade with "fairlead upgrade abort", an addition with "fairlead node abandon".',
  ),
  'operation.unknown': definition(
    404,
    'Operation {operation} of {namespace}/{cluster} does not exist',
    'List them with GET /ns/{namespace}/clusters/{cluster}/operations.',
  ),
  'quarantine.unknown': definition(
    404,
    '{consumer} of {service} has not quarantined {namespace}/{cluster}',
    'List quarantined clusters with GET /quarantine.',
  ),
  'wait.seq-ahead': definition(
    422,
    'Event {seq} does not exist yet',
    'Use a sequence number returned by a command or shown on an event.',
  ),
  'list.continue-invalid': definition(
    400,
    'The continue token does not belong to this list',
    'Pass metadata.continue of the previous page, unchanged, to the same list; or omit it to start again.',
  ),
  'wait.too-long': definition(
    503,
    'This replica has not caught up with minSeq {seq} within {seconds} seconds',
    'Try again, or omit minSeq.',
  ),
  'route.unknown': definition(404, 'There is no {method} {path}', 'The API is described at /docs and /openapi.json.'),
  'route.method': definition(
    405,
    '{path} does not support {method}',
    'Supported: {allow}. The API is described at /docs and /openapi.json.',
  ),
  'system.unavailable': definition(503, '{detail}', 'It is retried automatically; try again in a few seconds.'),
  'system.permission-missing': definition(
    503,
    '{operation} on {target} failed: {detail}',
    'The NATS credential of a service lacks this right. An administrator must create the credentials again ("fairlead provision keys", or a start of the embedded instance) and restart the service.',
  ),
  'system.secret-unreadable': definition(
    503,
    '{operation} on {target} failed: {detail}',
    'An administrator must check that every service has the current master.key, and set a changed or lost secret again.',
  ),
  'system.too-many-streams': definition(
    503,
    'This replica already serves {max} event streams',
    'Connect again in a few seconds; another replica may answer.',
  ),
  'system.internal': definition(
    500,
    'Internal server error',
    'Look for the request {requestId} in the log of the gateway, and report it.',
  ),
  'conflict.concurrent': definition(409, 'Too many concurrent changes of {what}', 'Try again.'),
  'request.answer-too-large': definition(
    422,
    'The response would be larger than {max}',
    'Request less: one namespace, one cluster, or a smaller page.',
  ),
  'installation.handed-over': definition(
    409,
    'This installation accepts no commands: {detail}',
    'Send the request to the installation that has taken over. This one still answers reads.',
  ),
  'log.disk-reserve': definition(
    507,
    'Only {free} are left for the event log, less than its reserve of {reserve}: no new work is accepted',
    'Free space on the disk of NATS, or delete clusters: reads and deletions are still accepted.',
  ),
} as const satisfies Record<string, RefusalDefinition>;

import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Of requests as such, and the state of the installation. */
export const API_REFUSALS = {
  'request.malformed': definition(400, '{detail}', 'Correct it as the OpenAPI document at /openapi.json describes.'),
  'request.unknown-field': definition(
    400,
    'Unknown field {field}',
    'Check the spelling against the OpenAPI document at /openapi.json.',
  ),
  'request.more-faults': definition(
    400,
    'The request has {count} more faults, which are not listed',
    'Correct those that are listed, and send it again.',
  ),
  'request.text-unstorable': definition(
    400,
    '{field} contains {character}, which cannot be stored',
    'Send text without control characters (line breaks and tabs are allowed) and without unpaired surrogates.',
  ),
  'request.media-type': definition(415, 'The body is {type}, not JSON in UTF-8', 'Send application/json.'),
  'request.too-large': definition(413, 'The body is larger than {max}', 'Send less in one request.'),
  'idempotency.key-reused': definition(
    422,
    'The idempotency key was used for another request',
    'Use a new key for a new request.',
  ),
  'idempotency.in-progress': definition(
    409,
    'The first request with this idempotency key is still being worked on',
    'Ask again in a few seconds.',
  ),
  'idempotency.key-invalid': definition(400, 'An idempotency key has 1 to 255 printable characters', 'Use a UUID.'),
  'operation.not-cancellable': definition(
    409,
    'Operation {operation} of {namespace}/{cluster} cannot be cancelled: {detail}',
    'Requests about nodes can be, while a node of theirs has not begun. An upgrade ends with "fairlead upgrade abort", an addition with "fairlead node abandon".',
  ),
  'operation.unknown': definition(
    404,
    'Operation {operation} of {namespace}/{cluster} does not exist',
    'List them with GET /ns/{namespace}/clusters/{cluster}/operations.',
  ),
  'quarantine.unknown': definition(
    404,
    'Nothing of {namespace}/{cluster} is quarantined at {consumer} of {service}',
    'List what is quarantined with GET /quarantine.',
  ),
  'wait.seq-ahead': definition(
    422,
    'Event {seq} does not exist yet',
    'Use a sequence of the log: one that a command returned or that an event has.',
  ),
  'list.continue-invalid': definition(
    400,
    'The continue token does not belong to this list',
    'Give metadata.continue of the page before, unchanged, to the same list; or leave it out to begin again.',
  ),
  'wait.too-long': definition(
    503,
    'This replica has not caught up with minSeq {seq} in {seconds} seconds',
    'Ask again, or leave minSeq out.',
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
    'The NATS credential of a service lacks this right. An administrator creates the credentials again ("fairlead provision keys", or a start of the embedded instance) and restarts the service.',
  ),
  'system.secret-unreadable': definition(
    503,
    '{operation} on {target} failed: {detail}',
    'An administrator checks that every service has the current master.key; a secret that was changed or lost is set again.',
  ),
  'system.too-many-streams': definition(
    503,
    'This replica serves {max} event streams already',
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
    'The answer would be larger than {max}',
    'Ask for less: one namespace, one cluster, or a smaller page.',
  ),
  'installation.handed-over': definition(
    409,
    'This installation takes no commands: {detail}',
    'Send the request to the installation that has taken over. Reads are answered here.',
  ),
  'log.disk-reserve': definition(
    507,
    'Only {free} are left to the event log, less than its reserve of {reserve}: nothing new is begun',
    'Make room on the disk of NATS, or delete clusters: reads and deletions are still accepted.',
  ),
} as const satisfies Record<string, RefusalDefinition>;

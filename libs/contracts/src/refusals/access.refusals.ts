import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Of tokens, roles and namespaces. */
export const ACCESS_REFUSALS = {
  'auth.token-missing': definition(
    401,
    'A bearer token is needed',
    'Send "Authorization: Bearer <token>"; the CLI uses the local token by itself.',
  ),
  'auth.token-unknown': definition(
    401,
    'The bearer token is not known or was revoked',
    'Ask an administrator for a token.',
  ),
  'auth.token-expired': definition(
    401,
    'The bearer token ended at {expiresAt}',
    'Ask an administrator for a new token.',
  ),
  'auth.role-missing': definition(403, 'This needs the role {role} in {where}', 'Ask an administrator for that role.'),
  'auth.too-many-failures': definition(
    429,
    'Too many wrong tokens came from {address}',
    'Use a valid token: it is accepted at once. Wrong ones are answered again in {seconds} seconds.',
  ),
  'namespace.unknown': definition(
    404,
    "The namespace '{namespace}' does not exist",
    'Create it with POST /ns, or check the spelling.',
  ),
  'namespace.name-invalid': definition(
    400,
    '{name} is not a namespace name',
    'Use lowercase letters, digits and dashes, at most 63.',
  ),
  'namespace.exists': definition(409, "The namespace '{namespace}' already exists.", 'Use it, or take another name.'),
  'namespace.not-empty': definition(
    409,
    "The namespace '{namespace}' still holds clusters: {clusters}",
    'Delete its clusters first.',
  ),
  'token.unknown': definition(404, 'API token {id} does not exist', 'List them with GET /tokens.'),
  'token.last-administrator': definition(
    409,
    'The API token {id} is the last one with the role admin in all namespaces',
    'Create another such token first, then revoke this one with it.',
  ),
  'token.in-use': definition(
    409,
    'The API token {id} is the one that this request was sent with',
    'Revoke it with another token.',
  ),
  'token.namespace-unknown': definition(
    422,
    'A role is granted in a namespace that does not exist. (namespace={namespace})',
    'Create it with POST /ns, or check the spelling.',
  ),
  'token.expiry-invalid': definition(
    422,
    'An API token cannot end at {expiresAt}',
    'Give a time in the future, at most {days} days from now.',
  ),
  'token.outlives-caller': definition(
    422,
    'The token of this request ends at {expiresAt}, and a token that it makes must not end later',
    'Give expiresAt, no later than that; or make it with a token that does not end.',
  ),
  'token.too-many-requests': definition(
    429,
    'The token {of} sends more {what} than {perSecond} a second',
    'Wait {seconds} seconds. {burst} may come at once, then {perSecond} a second; a large body counts several times.',
  ),
  'namespace.too-many-requests': definition(
    429,
    'The tokens of the namespace {of} together send more {what} than {perSecond} a second',
    'Wait {seconds} seconds. {burst} may come at once, then {perSecond} a second; a large body counts several times.',
  ),
  'token.too-many-streams': definition(429, 'The token has {max} event streams open already', 'End one of them first.'),
  'token.too-many-waits': definition(
    429,
    '{max} requests of the token wait for their end already',
    'Send the command without Prefer: wait, and follow its events. Nothing was recorded.',
  ),
  'token.too-many-audits': definition(
    429,
    '{max} audits or earlier states are read with the token already',
    'Read one after the other.',
  ),
} as const satisfies Record<string, RefusalDefinition>;

import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Tokens, roles and namespaces. */
export const ACCESS_REFUSALS = {
  'auth.token-missing': definition(401, 'A bearer token is required', 'Send "Authorization: Bearer <token>".'),
  'auth.token-unknown': definition(
    401,
    'The bearer token is unknown or was revoked',
    'Ask an administrator for a token.',
  ),
  'auth.token-expired': definition(
    401,
    'The bearer token expired at {expiresAt}',
    'Sign in again with "fairlead login", or ask an administrator for a new token.',
  ),
  'auth.role-missing': definition(
    403,
    'This requires the role {role} in {where}',
    'Ask an administrator for that role.',
  ),
  'auth.too-many-failures': definition(
    429,
    'Too many wrong tokens came from {address}',
    'Use a valid token, which is accepted at once, or wait {seconds} seconds.',
  ),
  'session.code-unknown': definition(
    401,
    'The sign-in code is unknown, was used before or has expired',
    'Print a new link with "fairlead page", or sign in with an API token.',
  ),
  'session.code-elsewhere': definition(
    403,
    'Sign-in codes are valid only on the machine that the gateway runs on',
    'Sign in with an API token.',
  ),
  'session.ended': definition(401, 'The session has ended', 'Sign in again.'),
  'session.other-origin': definition(
    403,
    'A session is accepted only from the page of this gateway',
    'Open the page at its own address. Programs send a bearer token.',
  ),
  'session.code-user': definition(
    403,
    'Sign-in codes stand for API tokens, and this request was sent by a user of the identity provider',
    'Open the page, and sign in there with the identity provider.',
  ),
  'issuer.none': definition(
    404,
    'This installation has no sign-in with OpenID Connect',
    'Use an API token. An administrator of the installation sets OIDC_ISSUER.',
  ),
  'issuer.no-page': definition(
    404,
    'This installation has no sign-in with OpenID Connect for the page',
    'Use an API token, or "fairlead login". An administrator of the installation sets OIDC_PAGE_URL.',
  ),
  'issuer.unavailable': definition(
    503,
    'The identity provider does not answer, so this sign-in cannot be checked',
    'Try again. API tokens are accepted meanwhile.',
  ),
  'issuer.roles-ended': definition(
    403,
    'A role of this user ended while the request was answered',
    'Ask an administrator for the role. What the request recorded stays recorded.',
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
  'namespace.exists': definition(409, "The namespace '{namespace}' already exists.", 'Use it, or choose another name.'),
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
    'This request was sent with the API token {id} itself',
    'Revoke it with another token.',
  ),
  'token.namespace-unknown': definition(
    422,
    'A role is granted in a namespace that does not exist. (namespace={namespace})',
    'Create it with POST /ns, or check the spelling.',
  ),
  'token.expiry-invalid': definition(
    422,
    'An API token cannot expire at {expiresAt}',
    'Give a time in the future, at most {days} days from now.',
  ),
  'token.outlives-caller': definition(
    422,
    'The token of this request expires at {expiresAt}, and a token that it creates must not expire later',
    'Set expiresAt to that time or earlier, or use a token that does not expire.',
  ),
  'token.too-many-requests': definition(
    429,
    'The token {of} sends more {what} than {perSecond} per second',
    'Wait {seconds} seconds. Bursts of {burst} are allowed, then {perSecond} per second; a large body counts several times.',
  ),
  'namespace.too-many-requests': definition(
    429,
    'The tokens of the namespace {of} together send more {what} than {perSecond} per second',
    'Wait {seconds} seconds. Bursts of {burst} are allowed, then {perSecond} per second; a large body counts several times.',
  ),
  'token.too-many-streams': definition(
    429,
    'This token already has {max} open event streams',
    'Close one of them first.',
  ),
  'token.too-many-waits': definition(
    429,
    'This token already has {max} waiting requests',
    'Send the command without Prefer: wait, and follow its events. Nothing was recorded.',
  ),
  'token.too-many-audits': definition(
    429,
    'This token is already reading {max} audits or earlier states',
    'Read one after the other.',
  ),
} as const satisfies Record<string, RefusalDefinition>;

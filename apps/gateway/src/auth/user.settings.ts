import type { BEARER_KINDS } from '@fairlead/contracts';
import * as z from 'zod';
import { parseGroupRoles, type GroupRoles, type UserClaims } from './user.rules.js';

/** How users sign in with OpenID Connect. */
export interface OidcSettings extends UserClaims {
  readonly issuer: string;
  /** Authority of the issuer's certificate, PEM file; undefined: those that Node.js trusts. */
  readonly caFile: string | undefined;
  /** The client of the gateway, for the page. */
  readonly clientId: string;
  readonly clientSecretFile: string | undefined;
  /** The public client of the command line. */
  readonly cliClientId: string;
  readonly scopes: string;
  /** Where browsers find the page, without a slash at its end; undefined: no sign-in on the page. */
  readonly pageUrl: string | undefined;
  readonly bearer: (typeof BEARER_KINDS)[number];
  /** So long is what the issuer said about a user believed. */
  readonly checkMs: number;
}

const CLIENT_ID_LENGTH_MAX = 255;
const CHECK_SECONDS_MAX = 300;
const MS_PER_SECOND = 1_000;

/** Empty counts as absent: Compose passes unset variables as empty. */
const setting = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema);
const clientId = z.string().min(1).max(CLIENT_ID_LENGTH_MAX);

const groupRoles = z
  .string()
  .default('')
  .transform((text, context): readonly GroupRoles[] => {
    const { groupRoles: read, faults } = parseGroupRoles(text);
    for (const fault of faults)
      context.addIssue({
        code: 'custom',
        message: `"${fault}" is not a group and its roles like "/team-a team-a=operator,default=viewer"`,
      });
    return read;
  });

/** Environment variables. */
export const OIDC_ENVIRONMENT = {
  OIDC_ISSUER: setting(z.url({ protocol: /^https$/ }).optional()).describe(
    'Identifier of the OpenID Connect issuer with which users sign in; left out: only API tokens are accepted',
  ),
  OIDC_CA_FILE: setting(z.string().optional()).describe(
    "Authority of the issuer's certificate, PEM; left out: those that Node.js trusts",
  ),
  OIDC_CLIENT_ID: setting(clientId.default('fairlead')).describe('Client of this installation at the issuer'),
  OIDC_CLIENT_SECRET_FILE: setting(z.string().optional()).describe(
    'File with its secret; left out: the client is public',
  ),
  OIDC_CLI_CLIENT_ID: setting(clientId.optional()).describe(
    'Public client with which the command line signs users in; left out: OIDC_CLIENT_ID',
  ),
  OIDC_SCOPES: setting(z.string().max(1_000).default('openid profile')).describe(
    'What is asked for, separated by spaces, e.g. "openid profile groups offline_access"',
  ),
  OIDC_USERNAME_CLAIM: setting(z.string().default('preferred_username')).describe('Claim that names a user'),
  OIDC_GROUPS_CLAIM: setting(z.string().default('groups')).describe('Claim that lists the groups of a user'),
  OIDC_ROLES: setting(groupRoles).describe(
    'Roles of groups: "/admins *=admin; /team-a team-a=operator,default=viewer". A user without one may do nothing',
  ),
  OIDC_PAGE_URL: setting(z.url({ protocol: /^https?$/ }).optional()).describe(
    'Where browsers find the page, e.g. https://fairlead.example.com; without it, users cannot sign in to the page at the issuer',
  ),
  OIDC_BEARER: setting(z.enum(['id', 'access']).default('id')).describe(
    'id: a token of the issuer counts until it ends; access: it is also introspected at the issuer, which needs OIDC_CLIENT_SECRET_FILE',
  ),
  OIDC_CHECK_SECONDS: setting(z.coerce.number().int().min(1).max(CHECK_SECONDS_MAX).default(15)).describe(
    'So long is what the issuer said about a session of the page, or an introspected token, believed',
  ),
} as const;

type OidcEnvironment = z.output<z.ZodObject<typeof OIDC_ENVIRONMENT>>;

/** undefined: only API tokens are accepted. */
export const oidcSettings = (env: OidcEnvironment): OidcSettings | undefined =>
  env.OIDC_ISSUER === undefined
    ? undefined
    : {
        issuer: env.OIDC_ISSUER,
        caFile: env.OIDC_CA_FILE,
        clientId: env.OIDC_CLIENT_ID,
        clientSecretFile: env.OIDC_CLIENT_SECRET_FILE,
        cliClientId: env.OIDC_CLI_CLIENT_ID ?? env.OIDC_CLIENT_ID,
        scopes: env.OIDC_SCOPES,
        usernameClaim: env.OIDC_USERNAME_CLAIM,
        groupsClaim: env.OIDC_GROUPS_CLAIM,
        groupRoles: env.OIDC_ROLES,
        pageUrl: env.OIDC_PAGE_URL?.replace(/(?<!\/)\/+$/, ''),
        bearer: env.OIDC_BEARER,
        checkMs: env.OIDC_CHECK_SECONDS * MS_PER_SECOND,
      };

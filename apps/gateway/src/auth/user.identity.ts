import { createHash } from 'node:crypto';
import type { Identity } from '../access/identity.js';
import { rolesOf, type User, type UserClaims } from './user.rules.js';

const ID_LENGTH = 24;

/** The same user has the same id at every sign-in; another issuer's user of the same name has another. */
export const userIdOf = (issuer: string, subject: string): string =>
  `oidc${createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex')
    .slice(0, ID_LENGTH)}`;

/** Who a user is here. `namespaces`: those that there are. */
export const userIdentity = (
  user: User,
  { issuer, ...claims }: Pick<UserClaims, 'groupRoles'> & { readonly issuer: string },
  { namespaces, expiresAt }: { readonly namespaces: ReadonlySet<string>; readonly expiresAt: Date },
): Identity => {
  const tokenId = userIdOf(issuer, user.subject);
  return {
    tokenId,
    actor: `user/${user.name}#${tokenId}`,
    roles: rolesOf(user.groups, claims).filter(({ namespace }) => namespaces.has(namespace)),
    expiresAt,
    isUser: true,
  };
};

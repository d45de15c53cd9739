/** Credentials as values: minted by services too, so nothing here touches a file. */
export {
  authenticatorOf,
  claimsOfCreds,
  mintNodeCredentials,
  mintNodeJwt,
  withJwt,
  type NodeSigning,
  type NodeUser,
} from './credentials/creds.js';
export { natsTrust } from './credentials/trust.js';
export type { UserPermissions } from './credentials/claims.js';

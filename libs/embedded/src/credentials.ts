/** Credentials as values: minted by services too, so nothing here touches a file. */
export {
  accountOfCreds,
  authenticatorOf,
  claimsOfCreds,
  mintCredentials as mintNodeCredentials,
  type MintRequest,
} from './credentials/creds.js';
export { natsTrust } from './credentials/trust.js';
export type { UserPermissions } from './credentials/claims.js';

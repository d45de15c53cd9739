/** Credentials as values: services mint them too, so nothing here touches a file. */
export {
  clientKeyOf,
  issueAuthority,
  issueClient,
  issueServer,
  keySha256,
  newClientRequest,
  type ClientKey,
} from './credentials/certificate.issuing.js';
export { certificateIn, keyIn } from './credentials/authorities.js';
export { hashOf, idOf, newSecret, newToken, opens, type NewToken, type SecretKind } from './credentials/api.tokens.js';
export { accountOf, accountStateIn, signAccount, type AccountSigning } from './credentials/account.claims.js';
export {
  authenticatorOf,
  claimsOfCreds,
  credsOf,
  mintNodeCredentials,
  mintNodeJwt,
  withJwt,
  type NodeSigning,
  type NodeUser,
} from './credentials/creds.js';
export {
  isOutdated,
  masterKeyOf,
  masterKeysText,
  newMasterKey,
  openOwnerKey,
  parseMasterKeys,
  sealOwnerKey,
  type MasterKey,
  type MasterKeys,
} from './credentials/master.keys.js';
export { keyOfSeed, newKey, type NKey } from './credentials/nkey.js';
export {
  bytesOfRing,
  KEY_CACHED_MS,
  openWithRing,
  ringOf,
  sealWithRing,
  type OwnerRing,
} from './credentials/owner.rings.js';
export { open, seal } from './credentials/sealing.js';
export { natsServers, natsTrust } from './credentials/trust.js';
export type { UserPermissions } from './credentials/claims.js';

export { faultOfAddress, parseRanges, type AddressRange } from './addresses.rules.js';
export { addressRanges } from './addresses.setting.js';
export {
  CheckedHttp,
  type CheckedHttpOptions,
  type HttpAnswer,
  type HttpDownload,
  type HttpPost,
  type HttpRequest,
} from './checked.http.js';
export { HookSigner, SIGNATURE_HEADER } from './hook.signature.js';
export { HookCaller, type HookHttp } from './hooks.http.js';
export { issuerFetch, IssuerUnavailable, type IssuerFetch } from './issuer.fetch.js';
export {
  downloadFrom,
  DownloadFailure,
  safeWords,
  type RepositoryFile,
  type RepositoryHttp,
} from './repository.download.js';

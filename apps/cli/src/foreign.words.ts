import { errorCodeOf } from '@fairlead/contracts';
/** Readable messages for system error codes. The system's own messages repeat the file and name the system call. */
const SYSTEM: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'the operation is not permitted',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is no folder',
  ENOSPC: 'no space is left on the disk',
  EROFS: 'the file system is read-only',
  EMFILE: 'too many files are open',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to the network',
  ETIMEDOUT: 'no answer came in time',
  ENOTFOUND: 'the name of the host is not known',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
};

/** Certificate errors, by OpenSSL's codes. */
const CERTIFICATES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet: check the clocks',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name or address',
};
const UNTRUSTED =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)|CERT_UNTRUSTED)$/;

/** OpenSSL codes for a peer that does not use TLS. */
const NOT_TLS = /^(EPROTO|ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG))$/;

/** JSON.parse: its message contains a part of the text and depends on the version of Node.js. */
const IN_JSON = /\bin JSON at position (\d+)|\bJSON\b/;

/** A readable message for an error of a library; undefined if its own message is sufficient. */
export const ownWordsOf = (error: Error): string | undefined => {
  const code = errorCodeOf(error) ?? '';
  if (NOT_TLS.test(code)) return 'it does not answer in TLS: use http:// for this address';
  if (UNTRUSTED.test(code)) return 'its certificate is not signed by a trusted authority: give that with --ca-file';
  const own = CERTIFICATES[code] ?? SYSTEM[code];
  if (own !== undefined) return own;
  const json = error instanceof SyntaxError ? IN_JSON.exec(error.message) : null;
  if (json === null) return undefined;
  return json[1] === undefined ? 'it is not valid JSON' : `it is not valid JSON (character ${Number(json[1]) + 1})`;
};

import * as asn1 from 'asn1js';
import ipaddr from 'ipaddr.js';
import { sign, type KeyObject } from 'node:crypto';

/** A structure that asn1js can encode. Structures that recur in many certificates are built once. */
export type Structure = asn1.AsnType;

const HASH = 'sha256';
/** RFC 5280: from this year on, times are encoded as GeneralizedTime. */
const GENERALIZED_TIME_FROM = 2050;
const UNCOMPRESSED_POINT = 4;
const CONTEXT_SPECIFIC = 3;

const OID = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ecPublicKey: '1.2.840.10045.2.1',
  p256: '1.2.840.10045.3.1.7',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
  serverAuthentication: '1.3.6.1.5.5.7.3.1',
  clientAuthentication: '1.3.6.1.5.5.7.3.2',
  subjectAlternativeName: '2.5.29.17',
} as const;

const derOf = (structure: Structure): Uint8Array<ArrayBuffer> => new Uint8Array(structure.toBER());
const oid = (value: string): asn1.ObjectIdentifier => new asn1.ObjectIdentifier({ value });
const sequence = (...value: Structure[]): asn1.Sequence => new asn1.Sequence({ value });
const tagged = (tagNumber: number, structure: Structure): asn1.Constructed =>
  new asn1.Constructed({ idBlock: { tagClass: CONTEXT_SPECIFIC, tagNumber }, value: [structure] });

/** Parses DER. Throws if the input is not DER. */
export const structureOf = (der: ArrayBuffer): Structure => {
  const { offset, result } = asn1.fromBER(der);
  if (offset === -1) throw new Error(`not DER: ${result.error}`);
  return result;
};

const attribute = (type: string, value: string): asn1.Set =>
  new asn1.Set({ value: [sequence(oid(type), new asn1.Utf8String({ value }))] });

export const nameOf = (commonName: string, organizations: readonly string[] = []): Structure =>
  sequence(...organizations.map((value) => attribute(OID.organization, value)), attribute(OID.commonName, commonName));

const extension = (id: string, critical: boolean, value: Structure): Structure =>
  sequence(
    oid(id),
    ...(critical ? [new asn1.Boolean({ value: true })] : []),
    new asn1.OctetString({ valueHex: derOf(value) }),
  );

/** Bit 0 of a key usage is the most significant bit; unused trailing bits are omitted. */
const usage = (byte: number, unusedBits: number): Structure =>
  extension(OID.keyUsage, true, new asn1.BitString({ valueHex: Uint8Array.of(byte), unusedBits }));

export const EXTENSIONS = {
  authority: extension(OID.basicConstraints, true, sequence(new asn1.Boolean({ value: true }))),
  noAuthority: extension(OID.basicConstraints, true, sequence()),
  signs: usage(0b1000_0000, 7),
  signsAndEnciphers: usage(0b1010_0000, 5),
  signsCertificates: usage(0b1010_0100, 2),
  server: extension(OID.extendedKeyUsage, false, sequence(oid(OID.serverAuthentication))),
  client: extension(OID.extendedKeyUsage, false, sequence(oid(OID.clientAuthentication))),
} as const;

const generalName = (name: string): asn1.Primitive => {
  const [tagNumber, bytes] = ipaddr.isValid(name) ? [7, ipaddr.parse(name).toByteArray()] : [2, Buffer.from(name)];
  return new asn1.Primitive({ idBlock: { tagClass: CONTEXT_SPECIFIC, tagNumber }, valueHex: Uint8Array.from(bytes) });
};

/** DNS names and addresses. */
export const alternativeNames = (names: readonly string[]): Structure =>
  extension(OID.subjectAlternativeName, false, sequence(...names.map(generalName)));

const EC_P256 = sequence(oid(OID.ecPublicKey), oid(OID.p256));

/**
 * SubjectPublicKeyInfo of a P-256 key, built from its JWK: a DER export of one key takes OpenSSL as long as signing
 * five certificates.
 */
export const publicKeyOf = (key: KeyObject): Structure => {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  const point = Buffer.concat([
    Uint8Array.of(UNCOMPRESSED_POINT),
    Buffer.from(x, 'base64url'),
    Buffer.from(y, 'base64url'),
  ]);
  return sequence(EC_P256, new asn1.BitString({ valueHex: point }));
};

const timeOf = (ms: number): asn1.UTCTime => {
  const valueDate = new Date(ms);
  valueDate.setUTCMilliseconds(0);
  return valueDate.getUTCFullYear() < GENERALIZED_TIME_FROM
    ? new asn1.UTCTime({ valueDate })
    : new asn1.GeneralizedTime({ valueDate });
};

export interface Contents {
  readonly serial: Uint8Array;
  readonly subject: Structure;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** SubjectPublicKeyInfo. */
  readonly publicKey: Structure;
  readonly extensions: readonly Structure[];
}

export interface Signer {
  /** The subject of its own certificate. */
  readonly name: Structure;
  readonly key: KeyObject;
}

const VERSION_3 = tagged(0, new asn1.Integer({ value: 2 }));
const ECDSA_WITH_SHA256 = sequence(oid(OID.ecdsaWithSha256));
const EXTENSIONS_TAG = 3;

/** Uses asn1js directly: the structures of @peculiar/x509 take eight times as long. */
export const certificateDer = (contents: Contents, { name, key }: Signer): Uint8Array<ArrayBuffer> => {
  const { serial, subject, notBeforeMs, notAfterMs, publicKey, extensions } = contents;
  const unsigned = sequence(
    VERSION_3,
    new asn1.Integer({ valueHex: serial }),
    ECDSA_WITH_SHA256,
    name,
    sequence(timeOf(notBeforeMs), timeOf(notAfterMs)),
    subject,
    publicKey,
    tagged(EXTENSIONS_TAG, sequence(...extensions)),
  );
  const signature = new asn1.BitString({ valueHex: sign(HASH, derOf(unsigned), key) });
  return derOf(sequence(unsigned, ECDSA_WITH_SHA256, signature));
};

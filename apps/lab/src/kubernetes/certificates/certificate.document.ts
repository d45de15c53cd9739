import { sign, type KeyObject } from 'node:crypto';
import ipaddr from 'ipaddr.js';

/*
 * X.509 certificates (RFC 5280) in DER (X.690), with those fields that Kubernetes' have. Node.js reads certificates and signs by itself, but
 * writes none. @peculiar/x509, by which the lab reads signing requests, also reads again what it has written: seven to ten times the CPU,
 * and the lab makes four certificates for each cluster.
 */

const SHORT_LENGTH_MAX = 0x7f;
const BYTE_MAX = 0xff;

/** A tag, the length, and the contents. */
const der = (tag: number, ...contents: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(contents);
  const { length } = content;
  if (length <= SHORT_LENGTH_MAX) return Buffer.concat([Buffer.from([tag, length]), content]);
  const bytes = length > BYTE_MAX ? [length >> 8, length & BYTE_MAX] : [length];
  return Buffer.concat([Buffer.from([tag, 0x80 | bytes.length, ...bytes]), content]);
};

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  version: 0xa0,
  extensions: 0xa3,
  dnsName: 0x82,
  ipAddress: 0x87,
} as const;

const sequence = (...contents: readonly Uint8Array[]): Buffer => der(TAG.sequence, ...contents);
const oid = (hex: string): Buffer => der(TAG.oid, Buffer.from(hex, 'hex'));

const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));
const V3 = der(TAG.version, der(TAG.integer, Buffer.from([2])));
const [COMMON_NAME, ORGANIZATION] = [oid('550403'), oid('55040a')];
const TRUE = der(TAG.boolean, Buffer.from([BYTE_MAX]));

export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

const attribute = (type: Buffer, value: string): Buffer =>
  der(TAG.set, sequence(type, der(TAG.utf8, Buffer.from(value))));

/** A name in DER. */
export const nameOf = ({ commonName, organizations = [] }: Subject): Buffer =>
  sequence(...organizations.map((name) => attribute(ORGANIZATION, name)), attribute(COMMON_NAME, commonName));

/** Without the zeros at its end: the first bit is digitalSignature, the third keyEncipherment, the sixth keyCertSign. */
const namedBits = (byte: number): Buffer => der(TAG.bits, Buffer.from([31 - Math.clz32(byte & -byte), byte]));

const extension = (type: Buffer, critical: boolean, value: Buffer): Buffer =>
  sequence(type, ...(critical ? [TRUE] : []), der(TAG.octets, value));

const alternativeName = (name: string): Buffer =>
  ipaddr.isValid(name)
    ? der(TAG.ipAddress, Buffer.from(ipaddr.parse(name).toByteArray()))
    : der(TAG.dnsName, Buffer.from(name));

export const EXTENSIONS = {
  authority: extension(oid('551d13'), true, sequence(TRUE)),
  noAuthority: extension(oid('551d13'), true, sequence()),
  signsCertificates: extension(oid('551d0f'), true, namedBits(0b1010_0100)),
  signs: extension(oid('551d0f'), true, namedBits(0b1000_0000)),
  signsAndEnciphers: extension(oid('551d0f'), true, namedBits(0b1010_0000)),
  server: extension(oid('551d25'), false, sequence(oid('2b06010505070301'))),
  client: extension(oid('551d25'), false, sequence(oid('2b06010505070302'))),
} as const;

/** DNS names and addresses. */
export const alternativeNames = (names: readonly string[]): Buffer =>
  extension(oid('551d11'), false, sequence(...names.map(alternativeName)));

const FIRST_GENERALIZED_YEAR = 2050;

const time = (ms: number): Buffer => {
  const date = new Date(ms);
  const text = `${date.toISOString().replace(/[-:T]|\..*/g, '')}Z`;
  return date.getUTCFullYear() < FIRST_GENERALIZED_YEAR
    ? der(TAG.utcTime, Buffer.from(text.slice(2)))
    : der(TAG.generalizedTime, Buffer.from(text));
};

export interface CertificateContents {
  /** Positive, without zeros before it. */
  readonly serial: Uint8Array;
  /** Names in DER. */
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKey: Uint8Array;
  readonly extensions: readonly Uint8Array[];
}

const PEM_LINE = /.{1,64}/g;

/** A certificate that is signed with a key of the curve P-256, in PEM. */
export const certificatePem = (contents: CertificateContents, key: KeyObject): string => {
  const { serial, issuer, subject, notBeforeMs, notAfterMs, publicKey, extensions } = contents;
  const signed = sequence(
    V3,
    der(TAG.integer, serial),
    ECDSA_WITH_SHA256,
    issuer,
    sequence(time(notBeforeMs), time(notAfterMs)),
    subject,
    publicKey,
    der(TAG.extensions, sequence(...extensions)),
  );
  const certificate = sequence(signed, ECDSA_WITH_SHA256, der(TAG.bits, Buffer.from([0]), sign('sha256', signed, key)));
  const lines = certificate.toString('base64').match(PEM_LINE) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
};

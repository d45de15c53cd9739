import 'reflect-metadata';
import { createHash, createPrivateKey, createPublicKey, generateKeyPair, randomBytes, webcrypto } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import * as x509 from '@peculiar/x509';
import { certificatePem, EXTENSIONS, nameOf, type CertificateContents } from './certificate.document.js';

export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly usage: 'server' | 'client';
  /** DNS names and addresses of a server. */
  readonly sans?: readonly string[];
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** kubeadm's life times: authorities ten years, everything else one. */
const AUTHORITY_DAYS = 3650;
const LEAF_DAYS = 365;
/** Hosts whose clocks differ a little must not meet a certificate from the future. */
const BACKDATE_MS = 5 * 60 * 1000;
const SERIAL_BYTES = 8;
const NAME = nameOf({ commonName: 'kubernetes' });
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

x509.cryptoProvider.set(webcrypto);

const generate = promisify(generateKeyPair);

/** The public key as SubjectPublicKeyInfo in DER, the private one in PEM. */
const newKeys = () =>
  generate('ec', {
    namedCurve: ALGORITHM.namedCurve,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });

const validity = (nowMs: number, days: number): Pick<CertificateContents, 'notBeforeMs' | 'notAfterMs'> => ({
  notBeforeMs: nowMs - BACKDATE_MS,
  notAfterMs: nowMs + days * DAY_MS,
});

/** Positive, and as long as it says. */
const newSerial = (): Buffer => {
  const serial = randomBytes(SERIAL_BYTES);
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  return serial;
};

/** The certificate authority of one simulated cluster. */
export class CertificateAuthority {
  private constructor(
    readonly pair: KeyPair,
    private readonly key: KeyObject,
    /** Its name in DER. */
    private readonly name: Uint8Array,
  ) {}

  static async create(nowMs: number): Promise<CertificateAuthority> {
    const { publicKey, privateKey } = await newKeys();
    const key = createPrivateKey(privateKey);
    const certPem = certificatePem(
      {
        serial: Buffer.from([1]),
        issuer: NAME,
        subject: NAME,
        ...validity(nowMs, AUTHORITY_DAYS),
        publicKey,
        extensions: [EXTENSIONS.authority, EXTENSIONS.signsCertificates],
      },
      key,
    );
    return new CertificateAuthority({ certPem, keyPem: privateKey }, key, NAME);
  }

  static load(pair: KeyPair): CertificateAuthority {
    const { subjectName } = new x509.X509Certificate(pair.certPem);
    return new CertificateAuthority(pair, createPrivateKey(pair.keyPem), new Uint8Array(subjectName.toArrayBuffer()));
  }

  /** The hash by which `kubeadm join` knows the authority: SHA-256 of its public key's DER form. */
  get publicKeyHash(): string {
    const publicKey = createPublicKey(this.key).export({ type: 'spki', format: 'der' });
    return `sha256:${createHash('sha256').update(publicKey).digest('hex')}`;
  }

  async issue({ usage, sans, ...subject }: CertificateRequest, nowMs: number): Promise<KeyPair> {
    const { publicKey, privateKey } = await newKeys();
    const certPem = certificatePem(
      {
        serial: newSerial(),
        issuer: this.name,
        subject: nameOf(subject),
        ...validity(nowMs, LEAF_DAYS),
        publicKey,
        extensions: [
          EXTENSIONS.signsAndEnciphers,
          usage === 'server' ? EXTENSIONS.forServers : EXTENSIONS.forClients,
          ...(sans === undefined ? [] : [EXTENSIONS.at(sans)]),
        ],
      },
      this.key,
    );
    return { certPem, keyPem: privateKey };
  }

  /** A client certificate for the subject and key of a request (PEM), as kube-controller-manager signs it. @throws {Error} when its signature is wrong. */
  async sign(csr: string, nowMs: number, ttlSeconds = LEAF_DAYS * (DAY_MS / 1000)): Promise<string> {
    const request = new x509.Pkcs10CertificateRequest(csr);
    if (!(await request.verify())) throw new Error('the signature of the request is wrong');
    return certificatePem(
      {
        serial: newSerial(),
        issuer: this.name,
        subject: new Uint8Array(request.subjectName.toArrayBuffer()),
        notBeforeMs: nowMs - BACKDATE_MS,
        notAfterMs: nowMs + ttlSeconds * 1000,
        publicKey: new Uint8Array(request.publicKey.rawData),
        extensions: [EXTENSIONS.signs, EXTENSIONS.forClients, EXTENSIONS.noAuthority],
      },
      this.key,
    );
  }
}

/** A request to sign, as it was sent (PKCS#10, PEM). */
export interface SignableRequest {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

const parsed = (csr: string): x509.Pkcs10CertificateRequest | undefined => {
  try {
    return new x509.Pkcs10CertificateRequest(csr);
  } catch {
    return undefined;
  }
};

/** Whom a request names; undefined for text that is no request. */
export const subjectOf = (csr: string): SignableRequest | undefined => {
  const name = parsed(csr)?.subjectName;
  if (name === undefined) return undefined;
  return { commonName: name.getField('CN')[0] ?? '', organizations: name.getField('O') };
};

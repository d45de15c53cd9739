import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { createHash, createPrivateKey, generateKeyPair, randomBytes, webcrypto, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import {
  alternativeNames,
  certificateDer,
  EXTENSIONS,
  nameOf,
  publicKeyOf,
  structureOf,
  type Contents,
  type Signer,
  type Structure,
} from './certificate.codec.js';

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
/** kubeadm's validity periods: ten years for authorities, one year for everything else. */
const AUTHORITY_DAYS = 3650;
const LEAF_DAYS = 365;
/** Certificates are backdated, so that hosts whose clocks lag slightly accept them. */
const BACKDATE_MS = 5 * 60 * 1000;
const SERIAL_BYTES = 8;
const CURVE = 'P-256';
const AUTHORITY = nameOf('kubernetes');

x509.cryptoProvider.set(webcrypto);

const generate = promisify(generateKeyPair);

interface NewKeys {
  /** SubjectPublicKeyInfo. */
  readonly publicKey: Structure;
  readonly privateKey: KeyObject;
  readonly keyPem: string;
}

const newKeys = async (): Promise<NewKeys> => {
  const { publicKey, privateKey } = await generate('ec', { namedCurve: CURVE });
  const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { publicKey: publicKeyOf(publicKey), privateKey, keyPem };
};

/** Positive and of fixed length: the top bits of the first byte are 01. */
const newSerial = (): Uint8Array => {
  const serial = randomBytes(SERIAL_BYTES);
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  return serial;
};

const certificatePem = (contents: Contents, signer: Signer): string =>
  `${x509.PemConverter.encode(certificateDer(contents, signer), 'CERTIFICATE')}\n`;

/** The certificate authority of one simulated cluster. */
export class CertificateAuthority {
  private constructor(
    readonly pair: KeyPair,
    private readonly signer: Signer,
  ) {}

  static async create(nowMs: number): Promise<CertificateAuthority> {
    const { publicKey, privateKey, keyPem } = await newKeys();
    const signer = { name: AUTHORITY, key: privateKey };
    const certPem = certificatePem(
      {
        serial: Uint8Array.of(1),
        subject: AUTHORITY,
        notBeforeMs: nowMs - BACKDATE_MS,
        notAfterMs: nowMs + AUTHORITY_DAYS * DAY_MS,
        publicKey,
        extensions: [EXTENSIONS.authority, EXTENSIONS.signsCertificates],
      },
      signer,
    );
    return new CertificateAuthority({ certPem, keyPem }, signer);
  }

  static load(pair: KeyPair): CertificateAuthority {
    const name = structureOf(new x509.X509Certificate(pair.certPem).subjectName.toArrayBuffer());
    return new CertificateAuthority(pair, { name, key: createPrivateKey(pair.keyPem) });
  }

  /** The CA hash for `kubeadm join`: SHA-256 of the public key in DER. */
  get publicKeyHash(): string {
    const publicKey = new Uint8Array(publicKeyOf(this.signer.key).toBER());
    return `sha256:${createHash('sha256').update(publicKey).digest('hex')}`;
  }

  async issue({ usage, sans, commonName, organizations }: CertificateRequest, nowMs: number): Promise<KeyPair> {
    const { publicKey, keyPem } = await newKeys();
    const certPem = certificatePem(
      {
        serial: newSerial(),
        subject: nameOf(commonName, organizations),
        notBeforeMs: nowMs - BACKDATE_MS,
        notAfterMs: nowMs + LEAF_DAYS * DAY_MS,
        publicKey,
        extensions: [
          EXTENSIONS.signsAndEnciphers,
          EXTENSIONS[usage],
          ...(sans === undefined ? [] : [alternativeNames(sans)]),
        ],
      },
      this.signer,
    );
    return { certPem, keyPem };
  }

  /**
   * Signs a client certificate for the subject and key of a request (PEM), as kube-controller-manager does. @throws
   * {Error} if the signature of the request is invalid.
   */
  async sign(csr: string, nowMs: number, ttlSeconds = LEAF_DAYS * (DAY_MS / 1000)): Promise<string> {
    const request = new x509.Pkcs10CertificateRequest(csr);
    if (!(await request.verify())) throw new Error('the signature of the request is wrong');
    return certificatePem(
      {
        serial: newSerial(),
        subject: structureOf(request.subjectName.toArrayBuffer()),
        notBeforeMs: nowMs - BACKDATE_MS,
        notAfterMs: nowMs + ttlSeconds * 1000,
        publicKey: structureOf(request.publicKey.rawData),
        extensions: [EXTENSIONS.signs, EXTENSIONS.client, EXTENSIONS.noAuthority],
      },
      this.signer,
    );
  }
}

/** The subject of a certificate signing request (PKCS#10, PEM). */
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

/** Returns the subject of a request, or undefined if the text is not a request. */
export const subjectOf = (csr: string): SignableRequest | undefined => {
  const name = parsed(csr)?.subjectName;
  if (name === undefined) return undefined;
  return { commonName: name.getField('CN')[0] ?? '', organizations: name.getField('O') };
};

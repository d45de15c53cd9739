import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import ipaddr from 'ipaddr.js';
import { createHash, createPublicKey, generateKeyPair, randomBytes, webcrypto } from 'node:crypto';
import { promisify } from 'node:util';

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
const NAME = new x509.Name([{ CN: ['kubernetes'] }]);
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

x509.cryptoProvider.set(webcrypto);

const { digitalSignature, keyEncipherment, keyCertSign } = x509.KeyUsageFlags;
const CRITICAL = true;
const EXTENSIONS = {
  authority: new x509.BasicConstraintsExtension(true, undefined, CRITICAL),
  noAuthority: new x509.BasicConstraintsExtension(false, undefined, CRITICAL),
  signsCertificates: new x509.KeyUsagesExtension(digitalSignature | keyEncipherment | keyCertSign, CRITICAL),
  signs: new x509.KeyUsagesExtension(digitalSignature, CRITICAL),
  signsAndEnciphers: new x509.KeyUsagesExtension(digitalSignature | keyEncipherment, CRITICAL),
  server: new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
  client: new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
} as const;

const alternativeNames = (names: readonly string[]): x509.Extension =>
  new x509.SubjectAlternativeNameExtension(
    names.map((value) => ({ type: ipaddr.isValid(value) ? ('ip' as const) : ('dns' as const), value })),
  );

const generate = promisify(generateKeyPair);

/** The public key as SubjectPublicKeyInfo in DER, the private one in PEM. */
const newKeys = () =>
  generate('ec', {
    namedCurve: ALGORITHM.namedCurve,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });

const signingKeyOf = (keyPem: string): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(keyPem), ALGORITHM, false, ['sign']);

/** Positive, and as long as it says. */
const newSerial = (): string => {
  const serial = randomBytes(SERIAL_BYTES);
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  return serial.toString('hex');
};

interface Contents {
  readonly serialNumber: string;
  readonly subject: x509.Name | x509.JsonName;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKey: Uint8Array;
  readonly extensions: x509.Extension[];
}

interface Signer {
  /** As its own certificate has it, byte for byte. */
  readonly name: x509.Name;
  readonly key: webcrypto.CryptoKey;
}

const certificatePem = async (
  { notBeforeMs, notAfterMs, publicKey, ...contents }: Contents,
  signer: Signer,
): Promise<string> => {
  const certificate = await x509.X509CertificateGenerator.create({
    ...contents,
    issuer: signer.name,
    notBefore: new Date(notBeforeMs),
    notAfter: new Date(notAfterMs),
    publicKey: new Uint8Array(publicKey),
    signingKey: signer.key,
    signingAlgorithm: ALGORITHM,
  });
  return `${certificate.toString('pem')}\n`;
};

/** The certificate authority of one simulated cluster. */
export class CertificateAuthority {
  private constructor(
    readonly pair: KeyPair,
    private readonly signer: Signer,
  ) {}

  static async create(nowMs: number): Promise<CertificateAuthority> {
    const { publicKey, privateKey: keyPem } = await newKeys();
    const signer = { name: NAME, key: await signingKeyOf(keyPem) };
    const certPem = await certificatePem(
      {
        serialNumber: '01',
        subject: NAME,
        notBeforeMs: nowMs - BACKDATE_MS,
        notAfterMs: nowMs + AUTHORITY_DAYS * DAY_MS,
        publicKey,
        extensions: [EXTENSIONS.authority, EXTENSIONS.signsCertificates],
      },
      signer,
    );
    return new CertificateAuthority({ certPem, keyPem }, signer);
  }

  static async load(pair: KeyPair): Promise<CertificateAuthority> {
    const { subjectName: name } = new x509.X509Certificate(pair.certPem);
    return new CertificateAuthority(pair, { name, key: await signingKeyOf(pair.keyPem) });
  }

  /** The hash by which `kubeadm join` knows the authority: SHA-256 of its public key's DER form. */
  get publicKeyHash(): string {
    const publicKey = createPublicKey(this.pair.keyPem).export({ type: 'spki', format: 'der' });
    return `sha256:${createHash('sha256').update(publicKey).digest('hex')}`;
  }

  async issue({ usage, sans, commonName, organizations = [] }: CertificateRequest, nowMs: number): Promise<KeyPair> {
    const { publicKey, privateKey: keyPem } = await newKeys();
    const certPem = await certificatePem(
      {
        serialNumber: newSerial(),
        subject: [...organizations.map((name) => ({ O: [name] })), { CN: [commonName] }],
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

  /** A client certificate for the subject and key of a request (PEM), as kube-controller-manager signs it. @throws {Error} when its signature is wrong. */
  async sign(csr: string, nowMs: number, ttlSeconds = LEAF_DAYS * (DAY_MS / 1000)): Promise<string> {
    const request = new x509.Pkcs10CertificateRequest(csr);
    if (!(await request.verify())) throw new Error('the signature of the request is wrong');
    return certificatePem(
      {
        serialNumber: newSerial(),
        subject: request.subjectName,
        notBeforeMs: nowMs - BACKDATE_MS,
        notAfterMs: nowMs + ttlSeconds * 1000,
        publicKey: new Uint8Array(request.publicKey.rawData),
        extensions: [EXTENSIONS.signs, EXTENSIONS.client, EXTENSIONS.noAuthority],
      },
      this.signer,
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

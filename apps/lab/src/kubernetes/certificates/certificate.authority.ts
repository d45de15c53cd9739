import 'reflect-metadata';
import { createHash, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

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

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 24 * 60 * 60 * 1000;
/** kubeadm's life times: authorities ten years, everything else one. */
const AUTHORITY_DAYS = 3650;
const LEAF_DAYS = 365;
/** Hosts whose clocks differ a little must not meet a certificate from the future. */
const BACKDATE_MS = 5 * 60 * 1000;

x509.cryptoProvider.set(webcrypto);

/** The certificate authority of one simulated cluster. */
export class CertificateAuthority {
  private constructor(
    private readonly certificate: x509.X509Certificate,
    private readonly key: webcrypto.CryptoKey,
    readonly pair: KeyPair,
  ) {}

  static async create(nowMs: number): Promise<CertificateAuthority> {
    const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: '01',
      name: 'CN=kubernetes',
      notBefore: new Date(nowMs - BACKDATE_MS),
      notAfter: new Date(nowMs + AUTHORITY_DAYS * DAY_MS),
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(
          x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment,
          true,
        ),
      ],
    });
    return new CertificateAuthority(certificate, keys.privateKey, {
      certPem: pem(certificate.toString('pem')),
      keyPem: await privatePem(keys.privateKey),
    });
  }

  static async load(pair: KeyPair): Promise<CertificateAuthority> {
    const der = x509.PemConverter.decodeFirst(pair.keyPem);
    const key = await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, true, ['sign']);
    return new CertificateAuthority(new x509.X509Certificate(pair.certPem), key, pair);
  }

  /** The hash by which `kubeadm join` knows the authority: SHA-256 of its public key's DER form. */
  get publicKeyHash(): string {
    return `sha256:${createHash('sha256').update(Buffer.from(this.certificate.publicKey.rawData)).digest('hex')}`;
  }

  async issue(request: CertificateRequest, nowMs: number): Promise<KeyPair> {
    const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
    const server = request.usage === 'server';
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: Buffer.from(webcrypto.getRandomValues(new Uint8Array(8))).toString('hex'),
      subject: new x509.Name([
        ...(request.organizations ?? []).map((name) => ({ O: [name] })),
        { CN: [request.commonName] },
      ]),
      issuer: this.certificate.subject,
      notBefore: new Date(nowMs - BACKDATE_MS),
      notAfter: new Date(nowMs + LEAF_DAYS * DAY_MS),
      publicKey: keys.publicKey,
      signingKey: this.key,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment, true),
        new x509.ExtendedKeyUsageExtension([
          server ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth,
        ]),
        ...(request.sans === undefined
          ? []
          : [new x509.SubjectAlternativeNameExtension(request.sans.map(alternativeName))]),
      ],
    });
    return { certPem: pem(certificate.toString('pem')), keyPem: await privatePem(keys.privateKey) };
  }

  /** A client certificate for the subject and key of a request (PEM), as kube-controller-manager signs it. @throws {Error} when its signature is wrong. */
  async sign(csr: string, nowMs: number, ttlSeconds = LEAF_DAYS * (DAY_MS / 1000)): Promise<string> {
    const request = new x509.Pkcs10CertificateRequest(csr);
    if (!(await request.verify())) throw new Error('the signature of the request is wrong');
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: Buffer.from(webcrypto.getRandomValues(new Uint8Array(8))).toString('hex'),
      subject: request.subject,
      issuer: this.certificate.subject,
      notBefore: new Date(nowMs - BACKDATE_MS),
      notAfter: new Date(nowMs + ttlSeconds * 1000),
      publicKey: request.publicKey,
      signingKey: this.key,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
        new x509.BasicConstraintsExtension(false, undefined, true),
        await x509.AuthorityKeyIdentifierExtension.create(this.certificate),
      ],
    });
    return pem(certificate.toString('pem'));
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

const alternativeName = (name: string): x509.JsonGeneralName => ({
  type: isIP(name) === 0 ? 'dns' : 'ip',
  value: name,
});

const privatePem = async (key: webcrypto.CryptoKey): Promise<string> =>
  pem(x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY'));

const pem = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);

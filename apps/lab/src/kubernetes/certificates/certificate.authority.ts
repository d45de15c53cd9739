import 'reflect-metadata';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';
import * as x509 from '@peculiar/x509';
import ipaddr from 'ipaddr.js';
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  randomBytes,
  sign,
  webcrypto,
  type KeyObject,
} from 'node:crypto';
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
const CURVE = 'P-256';
const HASH = 'sha256';
const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';

x509.cryptoProvider.set(webcrypto);

const ECDSA_WITH_SHA256 = new AlgorithmIdentifier({ algorithm: '1.2.840.10045.4.3.2' });

const named = (type: string, utf8String: string): RelativeDistinguishedName =>
  new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String }) })]);

const AUTHORITY = new Name([named(COMMON_NAME, 'kubernetes')]);

const extension = (extnID: string, critical: boolean, value: unknown): Extension =>
  new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });

const { digitalSignature, keyEncipherment, keyCertSign } = KeyUsageFlags;
const EXTENSIONS = {
  authority: extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: true })),
  noAuthority: extension(id_ce_basicConstraints, true, new BasicConstraints()),
  signsCertificates: extension(id_ce_keyUsage, true, new KeyUsage(digitalSignature | keyEncipherment | keyCertSign)),
  signs: extension(id_ce_keyUsage, true, new KeyUsage(digitalSignature)),
  signsAndEnciphers: extension(id_ce_keyUsage, true, new KeyUsage(digitalSignature | keyEncipherment)),
  server: extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_serverAuth])),
  client: extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_clientAuth])),
} as const;

const alternativeNames = (names: readonly string[]): Extension => {
  const general = names.map((name) => new GeneralName(ipaddr.isValid(name) ? { iPAddress: name } : { dNSName: name }));
  return extension(id_ce_subjectAltName, false, new SubjectAlternativeName(general));
};

const generate = promisify(generateKeyPair);

interface NewKeys {
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKey: Buffer;
  readonly privateKey: KeyObject;
  readonly keyPem: string;
}

const newKeys = async (): Promise<NewKeys> => {
  const { publicKey, privateKey } = await generate('ec', { namedCurve: CURVE });
  const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { publicKey: publicKey.export({ type: 'spki', format: 'der' }), privateKey, keyPem };
};

/** Positive, and as long as it says. */
const newSerial = (): Uint8Array<ArrayBuffer> => {
  const serial = new Uint8Array(randomBytes(SERIAL_BYTES));
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  return serial;
};

interface Contents {
  readonly serial: Uint8Array<ArrayBuffer>;
  readonly subject: Name;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKey: Uint8Array;
  readonly extensions: Extension[];
}

interface Signer {
  /** As its own certificate has it. */
  readonly name: Name;
  readonly key: KeyObject;
}

/**
 * By the structures that @peculiar/x509 is made of: its own generator reads again all that it has written, which takes twice the time and was
 * 15 % of the lab's.
 */
const certificatePem = (contents: Contents, { name, key }: Signer): string => {
  const { serial, subject, notBeforeMs, notAfterMs, publicKey, extensions } = contents;
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: serial.buffer,
    signature: ECDSA_WITH_SHA256,
    issuer: name,
    validity: new Validity({ notBefore: new Date(notBeforeMs), notAfter: new Date(notAfterMs) }),
    subject,
    subjectPublicKeyInfo: AsnConvert.parse(new Uint8Array(publicKey), SubjectPublicKeyInfo),
    extensions: new Extensions(extensions),
  });
  const signature = sign(HASH, new Uint8Array(AsnConvert.serialize(tbsCertificate)), key);
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: ECDSA_WITH_SHA256,
    signatureValue: new Uint8Array(signature).buffer,
  });
  return `${x509.PemConverter.encode(AsnConvert.serialize(certificate), 'CERTIFICATE')}\n`;
};

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
    const { subject } = AsnConvert.parse(x509.PemConverter.decodeFirst(pair.certPem), Certificate).tbsCertificate;
    return new CertificateAuthority(pair, { name: subject, key: createPrivateKey(pair.keyPem) });
  }

  /** The hash by which `kubeadm join` knows the authority: SHA-256 of its public key's DER form. */
  get publicKeyHash(): string {
    const publicKey = createPublicKey(this.signer.key).export({ type: 'spki', format: 'der' });
    return `sha256:${createHash('sha256').update(publicKey).digest('hex')}`;
  }

  async issue({ usage, sans, commonName, organizations = [] }: CertificateRequest, nowMs: number): Promise<KeyPair> {
    const { publicKey, keyPem } = await newKeys();
    const certPem = certificatePem(
      {
        serial: newSerial(),
        subject: new Name([...organizations.map((name) => named(ORGANIZATION, name)), named(COMMON_NAME, commonName)]),
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
        serial: newSerial(),
        subject: AsnConvert.parse(request.subjectName.toArrayBuffer(), Name),
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

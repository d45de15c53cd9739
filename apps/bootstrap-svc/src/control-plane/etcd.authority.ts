import 'reflect-metadata';
import { ExternalFailure, type SecretRef } from '@fairlead/contracts';
import type { EtcdCertificates, EtcdPair, EtcdPeer } from '@fairlead/node-scripts';
import type { Clock } from '@fairlead/service-kit';
import * as x509 from '@peculiar/x509';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as z from 'zod';
import { etcdAuthorityRef } from '../kubernetes/cluster.access.js';
import type { RememberedSecrets } from '../secrets.cache.js';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 24 * 3_600_000;
/**
 * Certificates of this CA are never renewed, so they are valid as long as the CA itself, which is as long as kubeadm's.
 */
const LIFE_DAYS = 3_650;
/** Hosts with slightly different clocks must not reject a new certificate. */
const BACKDATE_MS = 5 * 60_000;
const SERIAL_BYTES = 8;

const Sealed = z.strictObject({ cert: z.string(), key: z.string() });

x509.cryptoProvider.set(webcrypto);

type Usage = 'serverAuth' | 'clientAuth';

/** The subject of a certificate. */
interface Subject {
  readonly commonName: string;
  readonly usages: readonly Usage[];
  /** Names and addresses of the server. */
  readonly at: readonly string[];
}

const pem = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);

const privatePem = async (key: webcrypto.CryptoKey): Promise<string> =>
  pem(x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY'));

const newKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

/** The CA of one etcd: everyone with one of its certificates may be a member, or read everything. */
export class EtcdAuthority {
  private constructor(
    private readonly certificate: x509.X509Certificate,
    private readonly key: webcrypto.CryptoKey,
    readonly pair: EtcdPair,
  ) {}

  static async create(now: Date): Promise<EtcdAuthority> {
    const keys = await newKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: '01',
      name: 'CN=etcd-ca',
      notBefore: new Date(now.getTime() - BACKDATE_MS),
      notAfter: new Date(now.getTime() + LIFE_DAYS * DAY_MS),
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    const pair = { cert: pem(certificate.toString('pem')), key: await privatePem(keys.privateKey) };
    return new EtcdAuthority(certificate, keys.privateKey, pair);
  }

  static async load(pair: EtcdPair): Promise<EtcdAuthority> {
    const der = x509.PemConverter.decodeFirst(pair.key);
    const key = await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, true, ['sign']);
    return new EtcdAuthority(new x509.X509Certificate(pair.cert), key, pair);
  }

  /**
   * The files for one member's host: with kubeadm's names, kinds and paths, so that every guide to kubeadm's etcd
   * applies here as well.
   */
  async certificatesOf({ name, address }: EtcdPeer): Promise<EtcdCertificates> {
    const both: readonly Usage[] = ['serverAuth', 'clientAuth'];
    const local = ['localhost', '127.0.0.1', '::1'];
    const client = { usages: ['clientAuth'], at: [] } as const;
    const [server, peer, healthcheckClient, apiserverClient] = await Promise.all([
      this.issue({ commonName: name, usages: both, at: [name, address, ...local] }),
      this.issue({ commonName: name, usages: both, at: [name, address, ...local] }),
      this.issue({ commonName: 'kube-etcd-healthcheck-client', ...client }),
      this.issue({ commonName: 'kube-apiserver-etcd-client', ...client }),
    ]);
    return { ca: this.pair.cert, server, peer, healthcheckClient, apiserverClient };
  }

  private async issue({ commonName, usages, at }: Subject): Promise<EtcdPair> {
    const keys = await newKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: Buffer.from(webcrypto.getRandomValues(new Uint8Array(SERIAL_BYTES))).toString('hex'),
      subject: new x509.Name([{ CN: [commonName] }]),
      issuer: this.certificate.subject,
      notBefore: this.certificate.notBefore,
      notAfter: this.certificate.notAfter,
      publicKey: keys.publicKey,
      signingKey: this.key,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment, true),
        new x509.ExtendedKeyUsageExtension(usages.map((usage) => x509.ExtendedKeyUsage[usage])),
        await x509.AuthorityKeyIdentifierExtension.create(this.certificate),
        ...(at.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(at.map(alternativeName))]),
      ],
    });
    return { cert: pem(certificate.toString('pem')), key: await privatePem(keys.privateKey) };
  }
}

const alternativeName = (name: string): x509.JsonGeneralName => ({
  type: isIP(name) === 0 ? 'dns' : 'ip',
  value: name,
});

/** The CAs of clusters: each is created once and sealed with its cluster's key before it issues a certificate. */
export class EtcdAuthorities {
  constructor(
    private readonly secrets: RememberedSecrets,
    private readonly clock: Clock,
  ) {}

  /** Only the step of the cluster calls this, so that no other replica creates one at the same time. */
  async of(uid: string): Promise<{ readonly authority: EtcdAuthority; readonly ref: SecretRef }> {
    const ref = etcdAuthorityRef(uid);
    const sealed = await this.secrets.get(ref);
    if (sealed !== undefined) return { authority: await this.open(ref, sealed), ref };
    const authority = await EtcdAuthority.create(this.clock.now());
    await this.secrets.put(ref, JSON.stringify(authority.pair), uid);
    return { authority, ref };
  }

  private async open(ref: SecretRef, sealed: string): Promise<EtcdAuthority> {
    const pair = Sealed.safeParse(JSON.parse(sealed));
    if (pair.success) return EtcdAuthority.load(pair.data);
    // The message excludes the text, because it is a key.
    const message = 'what is sealed there is no certificate authority';
    throw new ExternalFailure({ operation: 'open the authority of etcd', target: ref, message, retryable: false });
  }
}

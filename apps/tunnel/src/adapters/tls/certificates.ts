import { issueServer } from '@fairlead/embedded/credentials';
import { LRUCache } from 'lru-cache';
import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';

const DAYS = 30;
/** Issued again long before it ends. */
const KEPT_MS = 24 * 60 * 60_000;
const KEPT_MAX = 1_000;
const GIVEN_KEPT_MS = 60_000;

export interface CertificateFiles {
  /** A certificate and its key, PEM, for the names that it has; undefined: none. */
  readonly given: (() => string) | undefined;
  /** An authority and its key, PEM, that certificates of other names are issued by; undefined: none. */
  readonly authority: (() => string) | undefined;
}

/** Certificates of published services: the one that is given, where it has the name, or one of our own authority. */
export class Certificates {
  private readonly issued = new LRUCache<string, Promise<SecureContext>>({ max: KEPT_MAX, ttl: KEPT_MS });
  private given:
    { readonly atMs: number; readonly certificate: X509Certificate; readonly context: SecureContext } | undefined;

  constructor(private readonly files: CertificateFiles) {}

  /** undefined: there is none for the name. */
  async contextOf(name: string): Promise<SecureContext | undefined> {
    const given = this.readGiven();
    if (given?.certificate.checkHost(name, { subject: 'never' }) !== undefined) return given.context;
    const { authority } = this.files;
    if (authority === undefined) return undefined;
    const known = this.issued.get(name);
    if (known !== undefined) return known;
    const issuing = issueServer(authority(), {
      name: 'Fairlead published service',
      names: [name],
      days: DAYS,
      now: new Date(),
    }).then((pair) => createSecureContext({ key: pair, cert: pair, minVersion: 'TLSv1.2' }));
    this.issued.set(name, issuing);
    issuing.catch(() => this.issued.delete(name));
    return issuing;
  }

  /** Read again each minute, so that a renewed one needs no restart. */
  private readGiven() {
    if (this.files.given === undefined) return undefined;
    if (this.given !== undefined && performance.now() - this.given.atMs < GIVEN_KEPT_MS) return this.given;
    const pem = this.files.given();
    this.given = {
      atMs: performance.now(),
      certificate: new X509Certificate(pem),
      context: createSecureContext({ key: pem, cert: pem, minVersion: 'TLSv1.2' }),
    };
    return this.given;
  }
}

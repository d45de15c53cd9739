import type { Clock } from '../clock/clock.js';
import type { CertificateAuthority, KeyPair } from './certificate.authority.js';
import { kubeconfigText } from './kubeconfig.js';

const ADMINISTRATOR = 'kubernetes-admin';

export interface KubeconfigRequest {
  readonly server: string;
  readonly user: 'admin' | { readonly node: string };
}

export interface KubeconfigsOptions {
  readonly cluster: string;
  readonly authority: CertificateAuthority;
  readonly clock: Clock;
  /** The age of the administrator's first client certificate. */
  readonly certificateAgeMs: number;
}

/** Writes kubeconfigs with client certificates. The certificate of each user is created once. */
export class Kubeconfigs {
  private readonly credentials = new Map<string, Promise<KeyPair>>();
  private certificateAgeMs: number;

  constructor(private readonly options: KubeconfigsOptions) {
    this.certificateAgeMs = options.certificateAgeMs;
  }

  /** For kubernetes-admin (system:masters) or a kubelet (system:node:<name>). */
  async write({ server, user }: KubeconfigRequest): Promise<string> {
    const { cluster, authority, clock } = this.options;
    const subject =
      user === 'admin'
        ? { commonName: ADMINISTRATOR, organizations: ['system:masters'] }
        : { commonName: `system:node:${user.node}`, organizations: ['system:nodes'] };
    const madeMs = clock.now() - (user === 'admin' ? this.certificateAgeMs : 0);
    const credentials =
      this.credentials.get(subject.commonName) ?? authority.issue({ ...subject, usage: 'client' }, madeMs);
    this.credentials.set(subject.commonName, credentials);
    return kubeconfigText({
      cluster,
      server,
      caPem: authority.pair.certPem,
      user: subject.commonName,
      credentials: await credentials,
    });
  }

  /**
   * Later kubeconfigs of the administrator contain a new certificate; earlier ones remain valid until theirs expires.
   */
  renewAdministrator(): void {
    this.credentials.delete(ADMINISTRATOR);
    this.certificateAgeMs = 0;
  }
}

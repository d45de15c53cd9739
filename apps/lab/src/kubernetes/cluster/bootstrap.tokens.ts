import { createHash, randomBytes, randomInt } from 'node:crypto';
import { timestamp, timeOf } from '../clock/clock.js';
import type { ObjectApi } from '../api/object.api.js';
import type { Secret } from '../objects/core.types.js';
import type { Draft } from '../objects/kube.object.js';
import { SECRETS } from '../resources/builtin.resources.js';
import type { ObjectStore } from '../store/object.store.js';

const KUBE_SYSTEM = 'kube-system';
const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** kubeadm deletes uploaded certificates after two hours. */
const CERTIFICATES_TTL_MS = 2 * 60 * 60 * 1000;
const CERTIFICATES_SECRET = 'kubeadm-certs';
/** The SHA-256 of the key of the uploaded certificates. The real Secret is encrypted with the key instead. */
const KEY_ANNOTATION = 'lab.fairlead.dev/certificate-key-sha256';
const EXPIRY_ANNOTATION = 'lab.fairlead.dev/expires';

/** Bootstrap tokens and uploaded certificates, stored in Secrets as by kubeadm. */
export class BootstrapTokens {
  constructor(
    private readonly store: ObjectStore,
    private readonly api: ObjectApi,
    private readonly now: () => number,
  ) {}

  /**
   * A `ttlMs` of 0 means no expiry, as with kubeadm. @throws {Error} if the requested token does not have kubeadm's
   * format.
   */
  create(nowMs: number, ttlMs: number, requested?: string): string {
    const token = requested ?? `${randomText(6)}.${randomText(16)}`;
    const [, id = '', secret = ''] = TOKEN.exec(token) ?? [];
    if (id === '') throw new Error(`the bootstrap token "${id}" was not of the form [a-z0-9]{6}.[a-z0-9]{16}`);
    const existing = this.secretOf(id);
    if (existing !== undefined) this.store.remove(SECRETS, existing);
    const expiration = ttlMs === 0 ? undefined : timestamp(nowMs + ttlMs);
    this.api.create(SECRETS, tokenSecret({ id, secret, expiration }));
    return token;
  }

  /** Whether the token exists and has not expired. Deletes an expired one, as Kubernetes' token cleaner does. */
  check(token: string): boolean {
    const [, id = '', text = ''] = TOKEN.exec(token) ?? [];
    const secret = id === '' ? undefined : this.secretOf(id);
    if (secret === undefined || plain(secret, 'token-secret') !== text) return false;
    const expiration = plain(secret, 'expiration');
    if (expiration === '' || timeOf(expiration) > this.now()) return true;
    this.store.remove(SECRETS, secret);
    return false;
  }

  /** Creates a certificate key that is valid for two hours and invalidates an earlier one, as kubeadm does. */
  uploadCertificates(nowMs: number): string {
    const certificateKey = randomBytes(32).toString('hex');
    const uploaded = this.store.get(SECRETS, KUBE_SYSTEM, CERTIFICATES_SECRET);
    if (uploaded !== undefined) this.store.remove(SECRETS, uploaded);
    this.api.create(SECRETS, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: CERTIFICATES_SECRET,
        namespace: KUBE_SYSTEM,
        annotations: {
          [KEY_ANNOTATION]: sha256(certificateKey),
          [EXPIRY_ANNOTATION]: timestamp(nowMs + CERTIFICATES_TTL_MS),
        },
      },
    });
    return certificateKey;
  }

  checkCertificateKey(certificateKey: string): boolean {
    const annotations = this.store.get(SECRETS, KUBE_SYSTEM, CERTIFICATES_SECRET)?.metadata.annotations;
    return (
      annotations?.[KEY_ANNOTATION] === sha256(certificateKey) &&
      timeOf(annotations[EXPIRY_ANNOTATION] ?? '') > this.now()
    );
  }

  private secretOf(id: string): Secret | undefined {
    return this.store.get(SECRETS, KUBE_SYSTEM, `bootstrap-token-${id}`);
  }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const randomText = (length: number): string =>
  Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

const plain = (secret: Secret, key: string): string => Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');

const tokenSecret = ({
  id,
  secret,
  expiration,
}: {
  readonly id: string;
  readonly secret: string;
  readonly expiration: string | undefined;
}): Draft<Secret> => {
  const data = {
    'token-id': id,
    'token-secret': secret,
    ...(expiration === undefined ? {} : { expiration }),
    'usage-bootstrap-authentication': 'true',
    'usage-bootstrap-signing': 'true',
    'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token',
  };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `bootstrap-token-${id}`, namespace: KUBE_SYSTEM },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
  };
};

import { X509Certificate } from 'node:crypto';
import { EXTERNAL_ETCD, KUBELET_CERTIFICATE, type EventData, type NodeRole } from '@fairlead/contracts';
import { KUBELET_CONF } from '../node/node.paths.js';
import type { HostPort } from '../node/host.ports.js';

type Certificates = EventData<'CertificatesReported'>['certificates'];

const PKI = '/etc/kubernetes/pki';
const { pki: ETCD, client: ETCD_CLIENT } = EXTERNAL_ETCD;

/** One file with certificate and key, which the kubelet replaces at a renewal. */
const OF_EVERY_NODE: Readonly<Record<string, string>> = {
  [KUBELET_CERTIFICATE]: '/var/lib/kubelet/pki/kubelet-client-current.pem',
};

/** kubeadm's names of certificates, and their paths; those of an external etcd have the same names in other folders. */
const OF_CONTROL_PLANES: Readonly<Record<string, string | readonly string[]>> = {
  ...OF_EVERY_NODE,
  apiserver: `${PKI}/apiserver.crt`,
  'apiserver-etcd-client': [`${PKI}/apiserver-etcd-client.crt`, `${ETCD_CLIENT}/apiserver-etcd-client.crt`],
  'apiserver-kubelet-client': `${PKI}/apiserver-kubelet-client.crt`,
  'front-proxy-client': `${PKI}/front-proxy-client.crt`,
  'etcd-healthcheck-client': [`${PKI}/etcd/healthcheck-client.crt`, `${ETCD}/healthcheck-client.crt`],
  'etcd-peer': [`${PKI}/etcd/peer.crt`, `${ETCD}/peer.crt`],
  'etcd-server': [`${PKI}/etcd/server.crt`, `${ETCD}/server.crt`],
  ca: `${PKI}/ca.crt`,
  'etcd-ca': [`${PKI}/etcd/ca.crt`, `${ETCD}/ca.crt`],
  'front-proxy-ca': `${PKI}/front-proxy-ca.crt`,
  'admin.conf': '/etc/kubernetes/admin.conf',
  'controller-manager.conf': '/etc/kubernetes/controller-manager.conf',
  'scheduler.conf': '/etc/kubernetes/scheduler.conf',
  'super-admin.conf': '/etc/kubernetes/super-admin.conf',
};

const CLIENT_CERTIFICATE = /^[ \t]*client-certificate-data:[ \t]*(\S+)[ \t\r]*$/m;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/u;

/** The certificate in a PEM file, without the adjacent key, or in a kubeconfig. */
const pemIn = (text: string): string | undefined => {
  const [certificate] = CERTIFICATE.exec(text) ?? [];
  if (certificate !== undefined) return certificate;
  const [, data] = CLIENT_CERTIFICATE.exec(text) ?? [];
  return data === undefined ? undefined : Buffer.from(data, 'base64').toString('utf8');
};

/** The latest time that a fact may contain; certificates without an expiry have the year 9999 (RFC 5280). */
const LAST_TIME_MS = Date.UTC(2200, 11, 31);

const endOf = (pem: string): string | undefined => {
  try {
    return new Date(Math.min(Date.parse(new X509Certificate(pem).validTo), LAST_TIME_MS)).toISOString();
  } catch {
    // The file is being written, or is a stand-in of the lab: it has no expiry to report.
    return undefined;
  }
};

/** The subject of a client certificate, and when it expires. */
export interface ClientCertificate {
  readonly name: string;
  readonly organization: string;
  readonly expiresAt: string;
}

/** Returns undefined if the text contains none, or its subject is incomplete. */
export const clientCertificateIn = (text: string): ClientCertificate | undefined => {
  const pem = pemIn(text);
  const expiresAt = pem === undefined ? undefined : endOf(pem);
  if (pem === undefined || expiresAt === undefined) return undefined;
  const { subject } = new X509Certificate(pem);
  const [name, organization] = ['CN', 'O'].map((key) => new RegExp(`^${key}=(.+)$`, 'm').exec(subject)?.[1]);
  return name === undefined || organization === undefined ? undefined : { name, organization, expiresAt };
};

/**
 * A kubelet starts with the certificate in its kubeconfig, and never renews that one. kubeadm's kubeconfig has none: it
 * names the file that the kubelet renews. One that was made by hand may have one.
 */
const startsWith = async (host: HostPort, name: string): Promise<string | undefined> =>
  name === KUBELET_CERTIFICATE ? pemIn((await host.readFile(KUBELET_CONF)) ?? '') : undefined;

/** The last read certificate and its expiry, by name. */
export type SeenCertificates = Map<string, { readonly pem: string; readonly expiresAt: string | undefined }>;

/**
 * When the kubelet's certificate expires, and on a control plane all others. Keeps only public parts, and does not
 * parse unchanged certificates again.
 */
export const certificatesOn = async (
  host: HostPort,
  role: NodeRole,
  seen: SeenCertificates = new Map(),
): Promise<Certificates> => {
  const files = role === 'control-plane' ? OF_CONTROL_PLANES : OF_EVERY_NODE;
  const found = await Promise.all(
    Object.entries(files).map(async ([name, places]) => {
      const texts = await Promise.all([places].flat().map((path) => host.readFile(path)));
      const text = texts.find((each) => each !== undefined);
      const pem = text === undefined ? undefined : ((await startsWith(host, name)) ?? pemIn(text));
      if (pem === undefined) return undefined;
      const before = seen.get(name);
      const expiresAt = before?.pem === pem ? before.expiresAt : endOf(pem);
      seen.set(name, { pem, expiresAt });
      return expiresAt === undefined ? undefined : { name, expiresAt };
    }),
  );
  return found.filter((one) => one !== undefined);
};

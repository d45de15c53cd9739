import { ExternalFailure, type Oidc } from '@fairlead/contracts';
import { stringify } from 'yaml';
import {
  administratorOf,
  checkSigned,
  type AdministratorPair,
  type SignedExpectation,
} from './kubeconfig.certificates.js';
import { fieldsOfKubeconfig, Unacceptable } from './kubeconfig.document.js';

/**
 * Administrator access to a cluster, and everything that is ever taken from a kubeconfig. Root on a control plane can
 * write any kubeconfig there; so clients, kubectl and files only get these parsed and validated values.
 */
export interface Administrator extends AdministratorPair {
  /** `https://<host>:<port>`, without a path. */
  readonly server: string;
}

/** The platform's own data about the cluster whose host sent a kubeconfig. */
export interface ExpectedCluster {
  /** The control plane that sent it. */
  readonly node: string;
  /** The public address of the API: the only one ever written into a kubeconfig. */
  readonly server: string;
  /** The control plane's own addresses, which its file may contain as well. */
  readonly addresses: readonly string[];
  /** The CA recorded when the cluster was initialised; null: it is being initialised now. */
  readonly caCertHash: string | null;
}

const API_PORT = 6443;
const OPERATION = 'take the kubeconfig';
const FOREIGN_AUTHORITY = 'its certificate authority is not the one with which the cluster was initialised';

const urlOf = (server: string): URL => {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  const isPlain =
    url?.protocol === 'https:' &&
    url.pathname === '/' &&
    `${url.username}${url.password}${url.search}${url.hash}` === '' &&
    !/[\s\\]/.test(server);
  if (url === undefined || !isPlain) throw new Unacceptable('its server is not https://<host>:<port>');
  return url;
};

/** Normalized, without a trailing slash and with its port. */
const plainServer = (server: string): string => {
  const { hostname, port } = urlOf(server);
  return `https://${hostname}:${port === '' ? '443' : port}`;
};

/** The URL of an API server, for kubeconfigs. */
export const serverAt = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `https://${host.includes(':') ? `[${host}]` : host}:${port}`;

const refusing = <T>(target: string, retryable: boolean, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Unacceptable)) throw error;
    throw new ExternalFailure({
      operation: OPERATION,
      target,
      message: `the kubeconfig is refused: ${error.message}`,
      retryable,
    });
  }
};

/**
 * Validates that the control plane sent what kubeadm writes for this very cluster; the result has the platform's own
 * address.
 */
export const administratorFrom = (text: string, expected: ExpectedCluster): Administrator =>
  refusing(expected.node, true, () => {
    const { server, ...fields } = fieldsOfKubeconfig(text);
    const known = [
      plainServer(expected.server),
      ...expected.addresses.map((host) => serverAt({ host, port: API_PORT })),
    ];
    if (!known.includes(plainServer(server)))
      throw new Unacceptable(`its server is neither ${expected.server} nor the control plane that it was read on`);
    const pair = administratorOf(fields);
    if (expected.caCertHash !== null && pair.caCertHash !== expected.caCertHash)
      throw new Unacceptable(FOREIGN_AUTHORITY);
    return { ...pair, server: plainServer(expected.server) };
  });

/** The log's data about an initialised cluster. */
export type RecordedCluster = Pick<ExpectedCluster, 'server'> & { readonly caCertHash: string };

/** A sealed kubeconfig, possibly from before these rules; validated against the log if the cluster is known. */
export const sealedAdministrator = (text: string, cluster: string, recorded?: RecordedCluster): Administrator =>
  refusing(cluster, false, () => {
    const { server, ...fields } = fieldsOfKubeconfig(text);
    const administrator = { ...administratorOf(fields), server: plainServer(server) };
    if (recorded === undefined) return administrator;
    if (administrator.server !== plainServer(recorded.server))
      throw new Unacceptable(`its server is not ${recorded.server}`);
    if (administrator.caCertHash !== recorded.caCertHash) throw new Unacceptable(FOREIGN_AUTHORITY);
    return administrator;
  });

/** A signed client certificate in PEM, and when it expires (RFC 3339). */
export interface SignedCertificate {
  readonly certificate: string;
  readonly expiresAt: string;
}

/**
 * Validates the certificate that the API returned for a signing request (PEM in base64): issued by the cluster's CA,
 * for this user and key, and for no longer than requested.
 */
export const signedCertificate = (answer: string, cluster: string, expected: SignedExpectation): SignedCertificate => {
  try {
    return checkSigned(answer, expected);
  } catch (error) {
    if (!(error instanceof Unacceptable)) throw error;
    const message = `the answer of the API is refused: ${error.message}`;
    throw new ExternalFailure({ operation: 'sign a client certificate', target: cluster, message, retryable: false });
  }
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A client certificate of a cluster with its key, and the server to use it with. PEM. */
export type ClientAccess = Pick<Administrator, 'server' | 'ca' | 'certificate' | 'key'>;

/** The kubeconfig of a cluster's user, by default its administrator, in kubeadm's form. */
export const kubeconfigOf = (
  cluster: string,
  { server, ca, certificate, key }: ClientAccess,
  user = 'kubernetes-admin',
): string => `apiVersion: v1
kind: Config
clusters:
  - name: ${cluster}
    cluster:
      server: ${server}
      certificate-authority-data: ${base64(ca)}
users:
  - name: ${user}
    user:
      client-certificate-data: ${base64(certificate)}
      client-key-data: ${base64(key)}
contexts:
  - name: ${user}@${cluster}
    context:
      cluster: ${cluster}
      user: ${user}
current-context: ${user}@${cluster}
`;

/**
 * The administrator's kubeconfig for storage by the platform: as JSON, which is also YAML, because every service that
 * connects to the cluster parses it, and YAML takes a hundred times as long.
 */
export const kubeconfigToSeal = (cluster: string, { server, ca, certificate, key }: ClientAccess): string => {
  const user = 'kubernetes-admin';
  const context = `${user}@${cluster}`;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: cluster, cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: user, user: { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) } }],
    contexts: [{ name: context, context: { cluster, user } }],
    'current-context': context,
  });
};

/**
 * kubelogin, which kubectl runs as `kubectl oidc-login`: it prints a URL and a code, to be entered in a browser on any
 * machine.
 */
const DEVICE_FLOW = ['oidc-login', 'get-token', '--grant-type=device-code'];
const INSTALL_HINT =
  'Signing in needs kubelogin: "kubectl krew install oidc-login", or see https://github.com/int128/kubelogin';

type SignIn = Pick<Oidc, 'issuerUrl' | 'clientId' | 'scopes' | 'ca'>;

/** A kubeconfig without secrets: its user signs in at the identity provider by the device flow (RFC 8628). */
export const oidcKubeconfigOf = (
  cluster: string,
  { server, ca }: Pick<ClientAccess, 'server' | 'ca'>,
  { issuerUrl, clientId, scopes = [], ca: issuerCa }: SignIn,
): string => {
  const args = [
    ...DEVICE_FLOW,
    `--oidc-issuer-url=${issuerUrl}`,
    `--oidc-client-id=${clientId}`,
    ...scopes.map((scope) => `--oidc-extra-scope=${scope}`),
    ...(issuerCa === undefined ? [] : [`--certificate-authority-data=${base64(issuerCa)}`]),
  ];
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'kubectl',
    args,
    installHint: INSTALL_HINT,
    interactiveMode: 'IfAvailable',
    provideClusterInfo: false,
  };
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: cluster, cluster: { server, 'certificate-authority-data': base64(ca) } }],
      users: [{ name: 'oidc', user: { exec } }],
      contexts: [{ name: `oidc@${cluster}`, context: { cluster, user: 'oidc' } }],
      'current-context': `oidc@${cluster}`,
    },
    { lineWidth: 0 },
  );
};

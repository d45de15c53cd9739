import { WorldFailure, type Oidc } from '@fairlead/contracts';
import { stringify } from 'yaml';
import {
  administratorOf,
  checkSigned,
  type AdministratorPair,
  type SignedExpectation,
} from './kubeconfig.certificates.js';
import { fieldsOfKubeconfig, Unacceptable } from './kubeconfig.document.js';

/**
 * A cluster as its administrator reaches it, and all that is ever taken from a kubeconfig. Whoever is root on a control plane writes the
 * kubeconfig there as he likes; so none of it is given to a client, to kubectl or to a file but these texts, which were understood and
 * checked before.
 */
export interface Administrator extends AdministratorPair {
  /** `https://<host>:<port>`, with nothing behind it. */
  readonly server: string;
}

/** The platform's own data about the cluster whose kubeconfig a host has sent. */
export interface ExpectedCluster {
  /** The control plane that was asked. */
  readonly node: string;
  /** Where everyone reaches the API: the only address that is ever written into a kubeconfig. */
  readonly server: string;
  /** Its control plane's own addresses, which its file may name as well. */
  readonly addresses: readonly string[];
  /** The authority that was recorded when the cluster was initialised; null: this is when. */
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

/** As the URL has it, but without the slash at its end, and with its port. */
const plainServer = (server: string): string => {
  const { hostname, port } = urlOf(server);
  return `https://${hostname}:${port === '' ? '443' : port}`;
};

/** The address of an API server, for kubeconfigs. */
export const serverAt = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `https://${host.includes(':') ? `[${host}]` : host}:${port}`;

const refusing = <T>(target: string, retryable: boolean, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Unacceptable)) throw error;
    throw new WorldFailure({
      operation: OPERATION,
      target,
      message: `the kubeconfig is refused: ${error.message}`,
      retryable,
    });
  }
};

/** What the control plane sent, if it is what kubeadm writes for this very cluster; it is taken for the platform's own address. */
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

/** What the log contains about a cluster since it was initialized. */
export type RecordedCluster = Pick<ExpectedCluster, 'server'> & { readonly caCertHash: string };

/** A kubeconfig from among the secrets, also one that was sealed before these rules were; checked against the log, where it is known. */
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

/** What a cluster signed: the client certificate in PEM, and when it expires (RFC 3339). */
export interface SignedCertificate {
  readonly certificate: string;
  readonly expiresAt: string;
}

/**
 * The certificate that the API answered a signing request with (PEM in base64), if it is what was asked for: signed by the cluster's
 * authority, for this user and key, and for no longer than agreed.
 */
export const signedCertificate = (answer: string, cluster: string, expected: SignedExpectation): SignedCertificate => {
  try {
    return checkSigned(answer, expected);
  } catch (error) {
    if (!(error instanceof Unacceptable)) throw error;
    const message = `the answer of the API is refused: ${error.message}`;
    throw new WorldFailure({ operation: 'sign a client certificate', target: cluster, message, retryable: false });
  }
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A client certificate of a cluster with its key, and where it is used. PEM. */
export type ClientAccess = Pick<Administrator, 'server' | 'ca' | 'certificate' | 'key'>;

/** The kubeconfig of a cluster's user, by default its administrator, in the form that kubeadm writes. */
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
 * The same of the administrator, to be kept by the platform: as JSON, which is YAML, because every service that reaches the
 * cluster reads it, and reading YAML takes a hundred times as long.
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

/** kubelogin, which kubectl runs as `kubectl oidc-login`: it prints an address and a code, to be opened in a browser on any machine. */
const DEVICE_FLOW = ['oidc-login', 'get-token', '--grant-type=device-code'];
const INSTALL_HINT =
  'Signing in needs kubelogin: "kubectl krew install oidc-login", or see https://github.com/int128/kubelogin';

type SignIn = Pick<Oidc, 'issuerUrl' | 'clientId' | 'scopes' | 'ca'>;

/** A kubeconfig without a secret: its user signs in at the identity provider by the device flow (RFC 8628). */
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

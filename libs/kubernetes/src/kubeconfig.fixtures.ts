import { CertificateAuthority, kubeconfigText } from '@fairlead/lab/testing/certificates';
import { parse, stringify } from 'yaml';

export const SERVER = 'https://198.18.7.1:6443';
export const NODE_ADDRESS = '10.0.0.1';
export const ENDS_AT = '2027-01-20T10:00:00.000Z';
const YEAR_MS = 365 * 24 * 3_600_000;
const MADE_MS = Date.parse(ENDS_AT) - YEAR_MS;
const ADMINISTRATOR = { commonName: 'kubernetes-admin', organizations: ['system:masters'], usage: 'client' } as const;

interface Document {
  clusters: { cluster: Record<string, unknown> }[];
  users: { user: Record<string, unknown> }[];
  contexts: unknown[];
  [field: string]: unknown;
}

/** A malicious kubeconfig that root on a control plane could write. */
export interface Trick {
  readonly does: string;
  readonly text: string;
  /** Text that the refusal must contain. */
  readonly says: string;
}

export interface World {
  /** File that an executed program would create. */
  readonly marker: string;
  /** Address at which a leaked request would be seen. */
  readonly elsewhere: string;
}

export interface Kubeconfigs {
  readonly authority: CertificateAuthority;
  /** As written by kubeadm. */
  readonly genuine: string;
  readonly tricks: readonly Trick[];
}

type Write = (
  authority: CertificateAuthority,
  subject?: Parameters<CertificateAuthority['issue']>[0],
  server?: string,
) => Promise<string>;

export const writeKubeconfig: Write = async (authority, subject = ADMINISTRATOR, server = SERVER) =>
  kubeconfigText({
    cluster: 'demo',
    server,
    caPem: authority.pair.certPem,
    user: 'kubernetes-admin',
    credentials: await authority.issue(subject, MADE_MS),
  });

const changing =
  (genuine: string) =>
  (change: (document: Document) => void): string => {
    const document = parse(genuine) as Document;
    change(document);
    return stringify(document);
  };

const withUser = (document: Document, user: Record<string, unknown>): void => {
  document.users[0]!.user = user;
};

/** Fields that make a client run, read or reach something. */
const clientTricks = (genuine: string, { marker, elsewhere }: World): readonly Trick[] => {
  const changed = changing(genuine);
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'touch',
    args: [marker],
    interactiveMode: 'Never',
  };
  const provider = { name: 'gcp', config: { 'cmd-path': '/usr/bin/touch', 'cmd-args': marker } };
  const added = (field: Record<string, unknown>) => changed(({ users }) => Object.assign(users[0]!.user, field));
  const onCluster = (field: Record<string, unknown>) =>
    changed(({ clusters }) => Object.assign(clusters[0]!.cluster, field));
  return [
    { does: 'an exec plugin', text: changed((it) => withUser(it, { exec })), says: '"exec", which runs a program' },
    { does: 'an exec plugin beside a certificate', text: added({ exec }), says: '"exec", which runs a program' },
    {
      does: 'an auth provider with a command',
      text: changed((it) => withUser(it, { 'auth-provider': provider })),
      says: '"auth-provider", which runs a program',
    },
    { does: 'a token file', text: added({ tokenFile: '/etc/passwd' }), says: '"tokenFile", which reads a file' },
    {
      does: "a certificate's path",
      text: changed((it) => withUser(it, { 'client-certificate': '/etc/passwd', 'client-key': '/etc/shadow' })),
      says: '"client-certificate", which reads a file',
    },
    {
      does: "an authority's path",
      text: changed(({ clusters }) => {
        clusters[0]!.cluster = { server: SERVER, 'certificate-authority': '/etc/passwd' };
      }),
      says: '"certificate-authority", which reads a file',
    },
    {
      does: 'a proxy',
      text: onCluster({ 'proxy-url': elsewhere }),
      says: '"proxy-url", which sends requests elsewhere',
    },
    {
      does: 'no check of the server',
      text: onCluster({ 'insecure-skip-tls-verify': true }),
      says: '"insecure-skip-tls-verify", which believes any server',
    },
    { does: 'another field of any name', text: added({ '\u001b[2Jmagic': 'x' }), says: '"\\u001b[2Jmagic"' },
  ];
};

/** Ambiguous or misleading text. */
const textTricks = (genuine: string): readonly Trick[] => {
  const changed = changing(genuine);
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x]',
    ...[...'bcdefghi'].map((name, index) => {
      const before = '*' + 'abcdefgh'.charAt(index);
      return `${name}: &${name} [${Array.from({ length: 9 }, () => before).join(',')}]`;
    }),
  ].join('\n');
  return [
    { does: 'no YAML at all', text: 'a: [', says: 'it is not one YAML document' },
    { does: 'two documents', text: `${genuine}---\n${genuine}`, says: 'it is not one YAML document' },
    { does: 'an alias bomb', text: `${bomb}\n${genuine}`, says: 'it has YAML aliases' },
    { does: 'a tag', text: genuine.replace('kind: Config', 'kind: !!js/function Config'), says: 'YAML' },
    {
      does: 'two megabytes',
      text: `#${'x'.repeat(2 * 1_048_576)}\n${genuine}`,
      says: 'longer than 32768 bytes',
    },
    { does: 'collections in collections', text: '['.repeat(30_000), says: 'YAML' },
    {
      does: 'two contexts',
      text: changed(({ contexts }) => void contexts.push(structuredClone(contexts[0]))),
      says: 'contexts has 2 entries, not one',
    },
    {
      does: 'two clusters',
      text: changed(({ clusters }) => void clusters.push(structuredClone(clusters[0]!))),
      says: 'clusters has 2 entries, not one',
    },
    {
      does: 'a context that is not there',
      text: changed((document) => {
        document['current-context'] = 'other';
      }),
      says: 'its current context is not the one',
    },
  ];
};

const certificateTricks = async (genuine: string, authority: CertificateAuthority): Promise<readonly Trick[]> => {
  const changed = changing(genuine);
  const foreign = await CertificateAuthority.create(MADE_MS);
  const other = parse(await writeKubeconfig(foreign)) as Document;
  const again = parse(await writeKubeconfig(authority)) as Document;
  const userField = (from: Document, name: string) =>
    changed(({ users }) => {
      users[0]!.user[name] = from.users[0]!.user[name];
    });
  return [
    {
      does: "a certificate of another cluster's authority",
      text: changed((document) => {
        document.users = other.users;
      }),
      says: 'its client certificate is not signed by its certificate authority',
    },
    {
      does: 'the key of another certificate',
      text: userField(again, 'client-key-data'),
      says: 'its client key is not that of',
    },
    {
      does: "a kubelet's certificate",
      text: await writeKubeconfig(authority, {
        commonName: 'system:node:demo-cp-1',
        organizations: ['system:nodes'],
        usage: 'client',
      }),
      says: "its client certificate is not that of kubeadm's administrator",
    },
    {
      does: "a server's certificate",
      text: await writeKubeconfig(authority, { ...ADMINISTRATOR, usage: 'server' }),
      says: 'its client certificate is not one for clients',
    },
    {
      does: 'the authority itself as a client',
      text: changed(({ users, clusters }) => {
        users[0]!.user['client-certificate-data'] = clusters[0]!.cluster['certificate-authority-data'];
      }),
      says: 'its client certificate is not signed by',
    },
    {
      does: 'a certificate that is none',
      text: changed(({ users }) => {
        users[0]!.user['client-certificate-data'] = 'AAAA';
      }),
      says: 'its client certificate is not one PEM block in base64',
    },
  ];
};

/** A cluster's kubeconfig, and what a hostile control plane may return instead of it. */
export const makeKubeconfigs = async (world: World): Promise<Kubeconfigs> => {
  const authority = await CertificateAuthority.create(MADE_MS);
  const genuine = await writeKubeconfig(authority);
  return {
    authority,
    genuine,
    tricks: [...clientTricks(genuine, world), ...textTricks(genuine), ...(await certificateTricks(genuine, authority))],
  };
};

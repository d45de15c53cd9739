import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mirrorPaths } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { localMirror } from '@fairlead/mirror';
import { eventually } from '../../libs/kubernetes/test/workloads.js';
import { CertificateAuthority, kubeconfigText } from '@fairlead/lab/testing/certificates';

const PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
type Program = (typeof PROGRAMS)[number];

/**
 * In a separate network namespace every port is free, and the adapter expects an API server at its node's address and
 * this port.
 */
const API_PORT = 6443;
const ETCD_URL = 'https://127.0.0.1:2379';
const ETCD_PEER_URL = 'http://127.0.0.1:2380';
const SERVICE_CIDR = '10.96.0.0/16';
const SERVICE_ADDRESSES = ['10.96.0.1', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
const WORDS_MAX = 2_000;
const ENDS_WITHIN_MS = 10_000;

/** A real etcd, and real API servers, controller manager and scheduler. There are no kubelets. */
export interface ControlPlane {
  /** The administrator's, for the first API server. */
  readonly kubeconfig: string;
  /** For servers of the same cluster. */
  readonly authority: CertificateAuthority;
  stopApiServer(address: string): Promise<void>;
  stop(): Promise<void>;
}

/** Extracts the program from the mirror's image, where it is in the last layer. */
const unpack = (version: string, program: Program, folder: string): string => {
  const image = join(localMirror(process.env), mirrorPaths.image(version, program));
  const manifest = JSON.parse(execFileSync('tar', ['-xOf', image, 'manifest.json'], { encoding: 'utf8' })) as [
    { readonly Layers: readonly string[] },
  ];
  const script = 'tar -xOf "$1" "$2" | tar -xf - -C "$3" --strip-components=3 "usr/local/bin/$4"';
  execFileSync('sh', ['-c', script, 'sh', image, manifest[0].Layers.at(-1) ?? '', folder, program]);
  return join(folder, program);
};

/** Files for the programs: certificates, keys, the administrator's kubeconfig. */
const writePki = async (folder: string, addresses: readonly string[]) => {
  const authority = await CertificateAuthority.create(Date.now());
  const write = (name: string, text: string): string => {
    const file = join(folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const issue = async (name: string, request: Parameters<CertificateAuthority['issue']>[0]) => {
    const { certPem, keyPem } = await authority.issue(request, Date.now());
    return { cert: write(`${name}.crt`, certPem), key: write(`${name}.key`, keyPem), pair: { certPem, keyPem } };
  };
  const admin = { commonName: 'kubernetes-admin', organizations: ['system:masters'], usage: 'client' } as const;
  const administrator = await issue('admin', admin);
  const kubeconfig = kubeconfigText({
    cluster: 'demo',
    server: `https://${addresses[0]}:${API_PORT}`,
    caPem: authority.pair.certPem,
    user: admin.commonName,
    credentials: administrator.pair,
  });
  const accounts = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return {
    authority,
    kubeconfig,
    kubeconfigFile: write('admin.conf', kubeconfig),
    ca: write('ca.crt', authority.pair.certPem),
    caKey: write('ca.key', authority.pair.keyPem),
    accounts: { key: write('sa.key', accounts.privateKey), pub: write('sa.pub', accounts.publicKey) },
    etcd: await issue('etcd', { commonName: 'etcd', usage: 'server', sans: ['127.0.0.1'] }),
    etcdClient: await issue('etcd-client', { commonName: 'kube-apiserver-etcd-client', usage: 'client' }),
    server: await issue('apiserver', {
      commonName: 'kube-apiserver',
      usage: 'server',
      sans: [...addresses, ...SERVICE_ADDRESSES],
    }),
  };
};
type Pki = Awaited<ReturnType<typeof writePki>>;

/** Programs of this test, each ended by its own id. */
class Programs {
  private readonly running = new Map<string, ChildProcess>();

  constructor(
    private readonly folder: string,
    private readonly paths: Readonly<Record<Program, string>>,
  ) {}

  start(name: string, program: Program, options: readonly string[]): void {
    const log = openSync(join(this.folder, `${name}.log`), 'a');
    const child = spawn(this.paths[program], options, { stdio: ['ignore', log, log], env: {} });
    this.running.set(name, child);
  }

  /** Like a power failure. */
  async kill(name: string): Promise<void> {
    const child = this.running.get(name);
    this.running.delete(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const late = new Promise((_, reject) => {
      setTimeout(() => reject(new Error(`${name} did not end within ${ENDS_WITHIN_MS} ms`)), ENDS_WITHIN_MS).unref();
    });
    child.kill('SIGKILL');
    await Promise.race([ended, late]);
  }

  async killAll(): Promise<void> {
    await Promise.all([...this.running.keys()].map((name) => this.kill(name)));
  }

  /** The end of each log, for a failure. */
  words(): string {
    return [...this.running.keys()]
      .map((name) => `--- ${name}\n${readFileSync(join(this.folder, `${name}.log`), 'utf8').slice(-WORDS_MAX)}`)
      .join('\n');
  }
}

const etcdOptions = (folder: string, { etcd, ca }: Pki): readonly string[] => [
  '--name=demo',
  `--data-dir=${join(folder, 'etcd-data')}`,
  `--listen-client-urls=${ETCD_URL}`,
  `--advertise-client-urls=${ETCD_URL}`,
  `--listen-peer-urls=${ETCD_PEER_URL}`,
  `--initial-advertise-peer-urls=${ETCD_PEER_URL}`,
  `--initial-cluster=demo=${ETCD_PEER_URL}`,
  `--cert-file=${etcd.cert}`,
  `--key-file=${etcd.key}`,
  `--trusted-ca-file=${ca}`,
  '--client-cert-auth',
  '--enable-grpc-gateway=false',
  '--unsafe-no-fsync',
];

const apiServerOptions = (address: string, folder: string, pki: Pki): readonly string[] => [
  `--advertise-address=${address}`,
  `--bind-address=${address}`,
  `--secure-port=${API_PORT}`,
  `--cert-dir=${folder}`,
  `--etcd-servers=${ETCD_URL}`,
  `--etcd-cafile=${pki.ca}`,
  `--etcd-certfile=${pki.etcdClient.cert}`,
  `--etcd-keyfile=${pki.etcdClient.key}`,
  `--client-ca-file=${pki.ca}`,
  `--tls-cert-file=${pki.server.cert}`,
  `--tls-private-key-file=${pki.server.key}`,
  '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
  `--service-account-key-file=${pki.accounts.pub}`,
  `--service-account-signing-key-file=${pki.accounts.key}`,
  `--service-cluster-ip-range=${SERVICE_CIDR}`,
  '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
  '--authorization-mode=Node,RBAC',
  '--enable-admission-plugins=NodeRestriction',
  '--allow-privileged=true',
];

/**
 * A node without a kubelet becomes NotReady after 20 s instead of 50 s, to speed up the suite; everything else is
 * kubeadm's default.
 */
const controllerOptions = (pki: Pki): readonly string[] => [
  `--kubeconfig=${pki.kubeconfigFile}`,
  '--secure-port=0',
  `--root-ca-file=${pki.ca}`,
  `--cluster-signing-cert-file=${pki.ca}`,
  `--cluster-signing-key-file=${pki.caKey}`,
  `--service-account-private-key-file=${pki.accounts.key}`,
  '--node-monitor-period=1s',
  '--node-monitor-grace-period=20s',
];

const waitUntilReady = async (kubeconfig: string, addresses: readonly string[]): Promise<void> => {
  const client = new KubernetesClient('demo', kubeconfig, () => undefined);
  const isServed = async (): Promise<boolean> => {
    if ((await client.get('/readyz')).status !== 200) return false;
    const slice = await client.discovery.readNamespacedEndpointSlice({ namespace: 'default', name: 'kubernetes' });
    const served = slice.endpoints.flatMap((endpoint) => endpoint.addresses);
    // kube-controller-manager creates the service account of pods.
    await client.core.readNamespacedServiceAccount({ namespace: 'kube-system', name: 'default' });
    return addresses.every((address) => served.includes(address));
  };
  try {
    await eventually(() => isServed().catch(() => false), Boolean, 90_000);
  } finally {
    client.close();
  }
};

/**
 * Starts it on these addresses of this network namespace, which must be isolated. `flags`: additional ones of the API
 * servers.
 */
export const startControlPlane = async (
  version: string,
  addresses: readonly string[],
  flags: readonly string[] = [],
): Promise<ControlPlane> => {
  if (process.env['FAIRLEAD_OWN_NETWORK'] !== 'yes')
    throw new Error('this needs a network namespace of its own: npm run e2e:real -- kubernetes-api');
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-control-plane-'));
  const paths = Object.fromEntries(PROGRAMS.map((program) => [program, unpack(version, program, folder)]));
  const programs = new Programs(folder, paths as Record<Program, string>);
  const stop = async (): Promise<void> => {
    await programs.killAll();
    rmSync(folder, { recursive: true });
  };
  try {
    const pki = await writePki(folder, addresses);
    mkdirSync(join(folder, 'etcd-data'), { mode: 0o700 });
    programs.start('etcd', 'etcd', etcdOptions(folder, pki));
    for (const address of addresses)
      programs.start(`kube-apiserver-${address}`, 'kube-apiserver', [
        ...apiServerOptions(address, folder, pki),
        ...flags,
      ]);
    programs.start('kube-controller-manager', 'kube-controller-manager', controllerOptions(pki));
    programs.start('kube-scheduler', 'kube-scheduler', [`--kubeconfig=${pki.kubeconfigFile}`, '--secure-port=0']);
    await waitUntilReady(pki.kubeconfig, addresses);
    return {
      kubeconfig: pki.kubeconfig,
      authority: pki.authority,
      stopApiServer: (address) => programs.kill(`kube-apiserver-${address}`),
      stop,
    };
  } catch (error) {
    const words = programs.words();
    await stop();
    throw new Error(`the control plane is not ready: ${String(error)}\n${words}`, { cause: error });
  }
};

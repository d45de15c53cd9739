import { WorldFailure } from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import { mustRun } from '../software/item.js';
import { manifestOf, STATIC_PODS } from './static.pods.js';
import { etcdUnitOn } from './unit.etcd.js';

const ADMIN = '/etc/kubernetes/admin.conf';
/** Beside the folder that the kubelet watches, on its file system. */
const FOLDER = '/etc/kubernetes/fairlead-manifests';
/** What the manifests were made of: this node's part, and the cluster's own at the new version. */
export const KUBEADM_CONFIG = '/etc/kubernetes/fairlead-kubeadm.yaml';
const PRIVATE = 0o600;
const TIMEOUT_MS = 30_000;

/** kubeadm's own annotation: where this API server listens. */
const ADVERTISED = /kube-apiserver\.advertise-address\.endpoint: \[?([^\s\]]+)\]?:(\d+)\s*$/m;
const ETCD_NAME = /--name=(\S+)[\s\\]*$/m;
const CONFIG_VERSION = /^apiVersion: (\S+)$/m;
const KUBERNETES_VERSION = /^kubernetesVersion: \S+$/m;

export const newManifestOf = (name: string): string => `${FOLDER}/${name}.yaml`;

/** Where this node's API server listens and what its member of etcd is called, as kubeadm wrote it; undefined: someone else did. */
const ownPart = (apiServerManifest: string, etcd: string, patches: string | null): string | undefined => {
  const [, address, port] = ADVERTISED.exec(apiServerManifest) ?? [];
  const [, name] = ETCD_NAME.exec(etcd) ?? [];
  if (address === undefined || name === undefined) return undefined;
  return [
    'kind: InitConfiguration',
    'localAPIEndpoint:',
    `  advertiseAddress: ${JSON.stringify(address)}`,
    `  bindPort: ${port}`,
    'nodeRegistration:',
    `  name: ${name}`,
    ...(patches === null ? [] : ['patches:', `  directory: ${patches}`]),
  ].join('\n');
};

/** The configuration of which kubeadm makes manifests, at another version; the cluster's part as kubeadm keeps it there. */
const configurationOf = (own: string, cluster: string, version: string): string | undefined => {
  const [, apiVersion] = CONFIG_VERSION.exec(cluster) ?? [];
  if (apiVersion === undefined) return undefined;
  const changed = cluster.replace(KUBERNETES_VERSION, `kubernetesVersion: ${version}`);
  return `apiVersion: ${apiVersion}\n${own}\n---\n${changed.trim()}\n`;
};

const foreign = (what: string): WorldFailure =>
  new WorldFailure({ operation: `read ${what}`, target: 'host', message: 'it is not as kubeadm writes it' });

const mustRead = async (host: HostPort, path: string): Promise<string> => {
  const text = await host.readFile(path);
  if (text === undefined)
    throw new WorldFailure({ operation: `read ${path}`, target: 'host', message: 'it is not there' });
  return text;
};

interface Desired {
  readonly version: string;
  /** A folder of patches, the same as kubeadm's upgrade is given; null: none. */
  readonly patches: string | null;
}

/**
 * Has the new kubeadm write the manifests of this node as its upgrade would, into a folder of ours; nothing that runs is touched.
 * Answers with their texts by name. Throws where that is not available: then kubeadm exchanges them itself.
 */
export const writeNewManifests = async (
  host: HostPort,
  { version, patches }: Desired,
): Promise<ReadonlyMap<string, string>> => {
  const unit = await etcdUnitOn(host);
  const apiServer = await mustRead(host, manifestOf('kube-apiserver'));
  const etcd = unit ?? (await mustRead(host, manifestOf('etcd')));
  const own = ownPart(apiServer, etcd, patches);
  if (own === undefined) throw foreign('the manifests of this node');
  const get = ['--namespace', 'kube-system', 'get', 'configmap', 'kubeadm-config'];
  const output = ['--output', 'jsonpath={.data.ClusterConfiguration}', '--request-timeout', '10s'];
  const cluster = await mustRun(host, 'kubectl', ['--kubeconfig', ADMIN, ...get, ...output], TIMEOUT_MS);
  const text = configurationOf(own, cluster, version);
  if (text === undefined) throw foreign('the configuration of the cluster');
  await host.writeFile(KUBEADM_CONFIG, text, PRIVATE);
  // kubeadm writes none for an external etcd.
  for (const phase of [['control-plane', 'all'], ...(unit === undefined ? [['etcd', 'local']] : [])]) {
    const words = [`KUBEADM_INIT_DRYRUN_DIR=${FOLDER}`, 'kubeadm', 'init', 'phase', ...phase];
    await mustRun(host, 'env', [...words, '--config', KUBEADM_CONFIG, '--dry-run'], TIMEOUT_MS);
  }
  const names = STATIC_PODS.map(({ name }) => name).filter((name) => unit === undefined || name !== 'etcd');
  return new Map(
    await Promise.all(names.map(async (name) => [name, await mustRead(host, newManifestOf(name))] as const)),
  );
};

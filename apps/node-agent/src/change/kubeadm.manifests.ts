import { ExternalFailure } from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import { mustRun } from '../software/item.js';
import { manifestOf, STATIC_PODS } from './static.pods.js';
import { etcdUnitOn } from './unit.etcd.js';

const ADMIN = '/etc/kubernetes/admin.conf';
/** Next to the folder that the kubelet watches, on the same file system. */
const FOLDER = '/etc/kubernetes/fairlead-manifests';
/** The configuration from which the manifests are generated: this node's part, and the cluster's at the new version. */
export const KUBEADM_CONFIG = '/etc/kubernetes/fairlead-kubeadm.yaml';
const PRIVATE = 0o600;
const TIMEOUT_MS = 30_000;

/** kubeadm's annotation with the address of this API server. */
const ADVERTISED = /kube-apiserver\.advertise-address\.endpoint: \[?([^\s\]]+)\]?:(\d+)\s*$/m;
const ETCD_NAME = /--name=([^\s\\]+)[ \t\\]*$/m;
const CONFIG_VERSION = /^apiVersion: (\S+)$/m;
const KUBERNETES_VERSION = /^kubernetesVersion: \S+$/m;

export const newManifestOf = (name: string): string => `${FOLDER}/${name}.yaml`;

/**
 * The address of this node's API server and the name of its etcd member, from kubeadm's manifests; undefined if kubeadm
 * did not write them.
 */
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

/** The kubeadm configuration at another version; the cluster's part is the one that kubeadm stores in the cluster. */
const configurationOf = (own: string, cluster: string, version: string): string | undefined => {
  const [, apiVersion] = CONFIG_VERSION.exec(cluster) ?? [];
  if (apiVersion === undefined) return undefined;
  const changed = cluster.replace(KUBERNETES_VERSION, `kubernetesVersion: ${version}`);
  return `apiVersion: ${apiVersion}\n${own}\n---\n${changed.trim()}\n`;
};

const foreign = (what: string): ExternalFailure =>
  new ExternalFailure({ operation: `read ${what}`, target: 'host', message: 'it is not as kubeadm writes it' });

const mustRead = async (host: HostPort, path: string): Promise<string> => {
  const text = await host.readFile(path);
  if (text === undefined)
    throw new ExternalFailure({ operation: `read ${path}`, target: 'host', message: 'it is not there' });
  return text;
};

interface Desired {
  readonly version: string;
  /** The folder of patches that kubeadm's upgrade receives; null: none. */
  readonly patches: string | null;
}

/**
 * Generates the manifests of this node with the new kubeadm, as its upgrade would, into a separate folder, without
 * changing anything that runs. Returns their texts by name. Throws if that is not possible: kubeadm then replaces the
 * static pods itself.
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
  // kubeadm generates none for an external etcd.
  for (const phase of [['control-plane', 'all'], ...(unit === undefined ? [['etcd', 'local']] : [])]) {
    const words = [`KUBEADM_INIT_DRYRUN_DIR=${FOLDER}`, 'kubeadm', 'init', 'phase', ...phase];
    await mustRun(host, 'env', [...words, '--config', KUBEADM_CONFIG, '--dry-run'], TIMEOUT_MS);
  }
  const names = STATIC_PODS.map(({ name }) => name).filter((name) => unit === undefined || name !== 'etcd');
  return new Map(
    await Promise.all(names.map(async (name) => [name, await mustRead(host, newManifestOf(name))] as const)),
  );
};

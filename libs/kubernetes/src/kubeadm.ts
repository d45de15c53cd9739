import { ExternalFailure, type KubernetesRelease } from '@fairlead/contracts';
import { parseYaml, ParseFailure } from '@fairlead/parsers';
import type { Manifest } from './cluster.ports.js';

const KUBE_SYSTEM = 'kube-system';
const CONFIG_LENGTH_MAX = 256 * 1_024;
const DEFAULT_REPOSITORY = 'registry.k8s.io';

type Document = Readonly<Record<string, unknown>>;

const isDocument = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const failed = (message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'read kubeadm-config', target: 'ConfigMap kube-system/kubeadm-config', message });

const VERSION_LINE = /^kubernetesVersion:.*$/m;

/** Everything else is kept verbatim, including comments. */
const atVersion = (text: string, version: string): string => {
  if (!VERSION_LINE.test(text)) throw failed('kubernetesVersion has no line of its own');
  return text.replace(VERSION_LINE, `kubernetesVersion: ${version}`);
};

const parsed = (text: string): Document => {
  try {
    const document = parseYaml(text, { lengthMax: CONFIG_LENGTH_MAX });
    if (isDocument(document)) return document;
  } catch (error) {
    if (!(error instanceof ParseFailure)) throw error;
    throw failed(error.message);
  }
  throw failed('it has no ClusterConfiguration');
};

const textIn = (document: unknown, field: string): string | undefined => {
  const value = isDocument(document) ? document[field] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
};

const configMap = (text: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'kubeadm-config', namespace: KUBE_SYSTEM },
  data: { ClusterConfiguration: text },
});

/** Contains only the image: the rest of the object is unchanged. */
const workload = (kind: 'DaemonSet' | 'Deployment', name: string, image: string): Manifest => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace: KUBE_SYSTEM },
  spec: { template: { spec: { containers: [{ name, image }] } } },
});

/** kubeadm-config at a version: control planes that join from now on run it. */
export const kubeadmConfigAt = (version: string, clusterConfiguration: string): Manifest =>
  configMap(atVersion(clusterConfiguration, version));

/** Existing objects of kubeadm: a cluster may run without kube-proxy. */
export interface KubeadmObjects {
  /** The ClusterConfiguration of kubeadm-config in the snapshot. */
  readonly clusterConfiguration: string;
  readonly kubeProxy: boolean;
  readonly coreDns: boolean;
}

/**
 * Upgrades kubeadm-config, kube-proxy and CoreDNS to a release. Image repositories are those of kubeadm-config. Throws
 * ExternalFailure if kubeadm-config cannot be read.
 */
export const kubeadmManifests = (
  { version, coredns }: Pick<KubernetesRelease, 'version' | 'coredns'>,
  { clusterConfiguration, kubeProxy, coreDns }: KubeadmObjects,
): readonly Manifest[] => {
  const document = parsed(clusterConfiguration);
  const repository = textIn(document, 'imageRepository') ?? DEFAULT_REPOSITORY;
  const ofDns = textIn(document['dns'], 'imageRepository') ?? repository;
  const dnsRepository = ofDns === DEFAULT_REPOSITORY ? `${ofDns}/coredns` : ofDns;
  return [
    kubeadmConfigAt(version, clusterConfiguration),
    ...(kubeProxy ? [workload('DaemonSet', 'kube-proxy', `${repository}/kube-proxy:${version}`)] : []),
    ...(coreDns ? [workload('Deployment', 'coredns', `${dnsRepository}/coredns:${coredns}`)] : []),
  ];
};

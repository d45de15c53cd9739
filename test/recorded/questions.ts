import type { RecordedVersion } from './recorded.js';

const FORMAT = '${Package}\\t${Version}\\t${db:Status-Want}\\t${db:Status-Status}\\n';
const MIRROR = '/opt/fairlead/mirror';
const ETCD_PKI = '/etc/kubernetes/pki/etcd';
const PACKAGES = 'deb [trusted=yes] file:/opt/fairlead/mirror/packages/debian-13 ./';
const SNAPSHOT = '/tmp/snapshot.db';
const UPLOAD = '/tmp/upload-certs.yaml';
const ETCD_CONTAINERS = 'labels."io.kubernetes.container.name"==etcd,labels."io.kubernetes.pod.namespace"==kube-system';

/** What the questions take for granted: who may ask etcd, where its tools are, packages that apt knows. */
export const PREPARATION = (version: RecordedVersion): string => `set -e
echo '${PACKAGES}' >/etc/apt/sources.list.d/fairlead.list
apt-get update -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/fairlead.list -o Dir::Etc::sourceparts=- >/dev/null
printf 'apiVersion: kubeadm.k8s.io/v1beta4\\nkind: ClusterConfiguration\\nkubernetesVersion: ${version}\\n' >${UPLOAD}
rm -f ${SNAPSHOT}`;

/** Before each question, in the same shell. */
export const surroundings = (etcdTools: string): string =>
  [
    `export PATH="$PATH:/opt/fairlead:${MIRROR}/${etcdTools}"`,
    'export KUBECONFIG=/etc/kubernetes/admin.conf',
    'export ETCDCTL_ENDPOINTS=https://127.0.0.1:2379',
    `export ETCDCTL_CACERT=${ETCD_PKI}/ca.crt ETCDCTL_CERT=${ETCD_PKI}/server.crt ETCDCTL_KEY=${ETCD_PKI}/server.key`,
  ].join('; ');

/** Whose output our code reads, by the words with which it asks; first the versions of all tools that are asked. */
export const QUESTIONS = {
  containerd: 'containerd --version',
  runc: 'runc --version',
  systemd: 'systemctl --version',
  apt: 'apt-get --version',
  iproute: 'ip -V',
  etcdctl: 'etcdctl version',
  etcdutl: 'etcdutl version',
  node: 'node --version',

  kubeadm: 'kubeadm version -o short',
  kubelet: 'kubelet --version',
  kubectl: 'kubectl version --client',
  images: 'kubeadm config images list',
  expiration: 'kubeadm certs check-expiration',
  token: 'kubeadm token create --ttl 60s',
  certificateKey: `kubeadm init phase upload-certs --upload-certs --config ${UPLOAD}`,
  clusterConfiguration:
    'kubectl --namespace kube-system get configmap kubeadm-config --output jsonpath={.data.ClusterConfiguration}',
  etcdManifest: 'cat /etc/kubernetes/manifests/etcd.yaml',
  apiServerManifest: 'cat /etc/kubernetes/manifests/kube-apiserver.yaml',
  kubeletServer: 'grep server: /etc/kubernetes/kubelet.conf',
  adminCertificate: 'grep client-certificate-data: /etc/kubernetes/admin.conf',

  installed: `dpkg-query -W -f='${FORMAT}' containerd runc conntrack kubelet`,
  offered: 'apt-cache madison containerd',
  unknownPackage: 'apt-get install -y --no-install-recommends nothing-of-this-name',
  unknownVersion: "apt-get install -y --no-install-recommends 'containerd=0.1*'",

  importedImages: 'ctr -n k8s.io images ls -q',
  etcdContainers: `ctr -n k8s.io containers ls -q '${ETCD_CONTAINERS}'`,
  tasks: 'ctr -n k8s.io tasks ls',

  unit: 'systemctl show --property=LoadState,NeedDaemonReload kubelet.service',
  noUnit: 'systemctl show --property=LoadState,NeedDaemonReload nothing.service',
  forwarding: 'sysctl -n net.ipv4.ip_forward',
  osRelease: 'cat /etc/os-release',
  swaps: 'cat /proc/swaps',
  capabilities: 'grep CapBnd /proc/1/status',
  addresses: 'ip -o address show',
  listeners: 'ss -Htln',

  members: 'etcdctl member list',
  health: 'etcdctl endpoint health --cluster',
  membersJson: 'etcdctl member list -w json',
  statusJson: 'etcdctl endpoint status --cluster -w json',
  healthJson: 'etcdctl endpoint health --cluster -w json',
  alarmsJson: 'etcdctl alarm list -w json',
  snapshot: `etcdctl snapshot save ${SNAPSHOT}`,
  snapshotStatus: `etcdutl snapshot status ${SNAPSHOT} -w json`,
  restoreHelp: 'etcdutl snapshot restore --help',
} as const;
export type Question = keyof typeof QUESTIONS;

/** What must not lie about, though its cluster is long gone. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/^[a-z0-9]{6}\.[a-z0-9]{16}$/gm, 'abcdef.0123456789abcdef'],
  [/^[0-9a-f]{64}$/gm, '0123456789abcdef'.repeat(4)],
];
const WITH_SECRETS: readonly Question[] = ['token', 'certificateKey'];

export const withoutSecrets = (question: Question, answer: string): string =>
  WITH_SECRETS.includes(question)
    ? SECRETS.reduce((text, [secret, stand]) => text.replaceAll(secret, stand), answer)
    : answer;

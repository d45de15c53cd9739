import { MONITOR_PORT } from '../../libs/node-scripts/src/balancer/haproxy.config.js';
import { PREPARED } from './preparation.js';

const FORMAT = '${Package}\\t${Version}\\t${db:Status-Want}\\t${db:Status-Status}\\n';
const MIRROR = '/opt/fairlead/mirror';
const ETCD_PKI = '/etc/kubernetes/pki/etcd';
const { snapshot: SNAPSHOT, upload: UPLOAD } = PREPARED;
const ETCD_CONTAINERS = 'labels."io.kubernetes.container.name"==etcd,labels."io.kubernetes.pod.namespace"==kube-system';

/** Like keepalived's check of haproxy on the host itself. */
const monitor = (port: number): string =>
  `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}; printf "GET / HTTP/1.0\\r\\n\\r\\n" >&3; cat <&3'`;

const EVICTION =
  '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"\'"$pod"\'","namespace":"kube-system"}}';
const PODS = 'http://127.0.0.1:8001/api/v1/namespaces/kube-system/pods';
/** kubectl does not show the whole refusal, so the API server's own response is read. */
const EVICT = [
  "pod=$(kubectl --namespace kube-system get pods --selector k8s-app=kube-dns --output jsonpath='{.items[0].metadata.name}')",
  'kubectl proxy --port=8001 >/dev/null 2>&1 & sleep 1',
  `curl --silent --request POST --header 'Content-Type: application/json' --data '${EVICTION}' ${PODS}/$pod/eviction`,
  'kill $!',
].join('; ');

/** The API server does not evict a pod with two budgets. */
const EVICT_OF_TWO = [
  'kubectl --namespace kube-system create poddisruptionbudget second --selector=k8s-app=kube-dns --max-unavailable=1 >/dev/null',
  EVICT,
  'kubectl --namespace kube-system delete poddisruptionbudget second >/dev/null',
].join('; ');

/** Run before each question, in the same shell. */
export const surroundings = (etcdTools: string): string =>
  [
    `export PATH="$PATH:/opt/fairlead:${MIRROR}/${etcdTools}"`,
    'export KUBECONFIG=/etc/kubernetes/admin.conf',
    'export ETCDCTL_ENDPOINTS=https://127.0.0.1:2379',
    `export ETCDCTL_CACERT=${ETCD_PKI}/ca.crt ETCDCTL_CERT=${ETCD_PKI}/server.crt ETCDCTL_KEY=${ETCD_PKI}/server.key`,
  ].join('; ');

/** The commands whose output Fairlead parses; first the versions of all tools involved. */
export const QUESTIONS = {
  containerd: 'containerd --version',
  runc: 'runc --version',
  systemd: 'systemctl --version',
  apt: 'apt-get --version',
  iproute: 'ip -V',
  etcdctl: 'etcdctl version',
  etcdutl: 'etcdutl version',
  node: 'node --version',
  haproxy: 'haproxy -v | head -n 1',
  keepalived: 'keepalived --version 2>&1 | head -n 1',
  nftables: 'nft --version',

  kubeadm: 'kubeadm version -o short',
  kubelet: 'kubelet --version',
  kubectl: 'kubectl version --client',
  versions: 'kubectl version -o json',
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
  taskIds: 'ctr --namespace k8s.io tasks list --quiet',
  containerIds: 'ctr --namespace k8s.io containers list --quiet',
  containerdReads:
    "containerd --config /etc/containerd/config.toml config dump | grep -E 'sandbox_image|restrict_oom_score_adj|bin_dir|^version'",

  unit: 'systemctl show --property=LoadState,NeedDaemonReload kubelet.service',
  noUnit: 'systemctl show --property=LoadState,NeedDaemonReload nothing.service',
  units:
    'systemd-analyze verify kubelet.service fairlead-agent.service fairlead-haproxy.service fairlead-keepalived.service',
  forwarding: 'sysctl -n net.ipv4.ip_forward',
  osRelease: 'cat /etc/os-release',
  swaps: 'cat /proc/swaps',
  swapon: 'swapon --show=NAME --noheadings',
  machine: 'uname -m',
  user: 'id -u',
  sudoRefuses: 'setpriv --reuid=nobody --regid=nogroup --clear-groups sudo -n true',
  capabilities: 'grep CapBnd /proc/1/status',
  addresses: 'ip -o address show',
  addressesJson: 'ip -json address show',
  links: 'ip -o link show',
  linksJson: 'ip -json link show',
  noDevice: 'ip link delete nothing',
  noDeviceOfAddress: 'ip address delete 192.0.2.9/32 dev nothing',
  noAddress: 'ip address delete 192.0.2.9/32 dev host0',
  podRoutes: 'ip route show root 10.244.0.0/16',
  tables: 'nft list tables',
  sets: 'ipset create KUBE-RECORDED hash:ip; ipset list -name; ipset destroy KUBE-RECORDED',
  rules: "iptables-save -t mangle | grep -v '^#'",
  listeners: 'ss -Htln',
  apiListener: "ss -Htln 'sport = :6443'",
  noListener: "ss -Htln 'sport = :6444'",
  haproxyCheck: `haproxy -c -V -f ${PREPARED.haproxy}`,
  keepalivedCheck: `keepalived --config-test --use-file ${PREPARED.keepalived}`,
  balanced: monitor(MONITOR_PORT),
  unbalanced: monitor(PREPARED.deadMonitorPort),

  ready: "kubectl get --raw '/readyz?verbose'",
  eviction: EVICT,
  evictionOfTwo: EVICT_OF_TWO,
  figures: `kubectl get --raw "/api/v1/nodes/$(hostname)/proxy/stats/summary?only_cpu_and_memory=false" | sed -n '/^  "fs": {/,/^  }/p; /^  "runtime": {/,/^  }/p'`,
  deprecated: 'kubectl get --raw /metrics | grep ^apiserver_requested_deprecated_apis',

  members: 'etcdctl member list',
  health: 'etcdctl endpoint health --cluster',
  membersJson: 'etcdctl member list -w json',
  statusJson: 'etcdctl endpoint status --cluster -w json',
  healthJson: 'etcdctl endpoint health --cluster -w json',
  alarmsJson: 'etcdctl alarm list -w json',
  snapshot: `etcdctl snapshot save ${SNAPSHOT}`,
  snapshotStatus: `etcdutl snapshot status ${SNAPSHOT} -w json`,
  v2Store: 'etcdutl check v2store --data-dir=/var/lib/etcd',
  restoreHelp: 'etcdutl snapshot restore --help',
} as const;
export type Question = keyof typeof QUESTIONS;

/** Secrets that must not be stored, although their cluster is long gone. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/^[a-z0-9]{6}\.[a-z0-9]{16}$/gm, 'abcdef.0123456789abcdef'],
  [/^[0-9a-f]{64}$/gm, '0123456789abcdef'.repeat(4)],
];
const WITH_SECRETS: readonly Question[] = ['token', 'certificateKey'];

export const withoutSecrets = (question: Question, answer: string): string =>
  WITH_SECRETS.includes(question)
    ? SECRETS.reduce((text, [secret, stand]) => text.replaceAll(secret, stand), answer)
    : answer;

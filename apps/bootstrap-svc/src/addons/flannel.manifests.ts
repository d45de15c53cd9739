import { SHARED_IMAGES } from '@fairlead/contracts';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import { upstreamManifests } from '../upstream.files.js';
import type { NetworkSettings } from './addon.settings.js';
import { inContainer, inPod, named, patched, remove, set, setEnv, type Patch, type Path } from './manifest.patches.js';
import { CNI_CONFIGURATION, fromField, hostPath, mount } from './manifest.parts.js';

const DAEMON = 'DaemonSet/kube-flannel-ds';
const SETTINGS = 'ConfigMap/kube-flannel-cfg';

/** Routes without a tunnel if nodes share a segment, otherwise VXLAN; with the same rule backend as kube-proxy. */
export const flannelNetwork = ({ podCidr, oneSegment, nftables }: NetworkSettings): string =>
  JSON.stringify({ Network: podCidr, EnableNFTables: nftables, Backend: { Type: oneSegment ? 'host-gw' : 'vxlan' } });

const network = (settings: NetworkSettings): Patch =>
  set(SETTINGS, ['data', 'net-conf.json'], flannelNetwork(settings));

const NODE_IP = 'NODE_IP';
/**
 * The address configured for the kubelet: by default flanneld uses that of the default route, which may be behind NAT
 * and the same on all nodes.
 */
const nodeIp = fromField(NODE_IP, 'status.hostIP');
const FLANNELD_OPTIONS = ['--ip-masq', '--kube-subnet-mgr', `--iface=$(${NODE_IP})`];
const flanneld = (...path: Path): Path => inContainer('kube-flannel', ...path);

/** github.com/flannel-io/flannel: pod network without network policies. */
export const flannel =
  (version: string) =>
  (settings: NetworkSettings): readonly Manifest[] =>
    patched(upstreamManifests(`flannel/${version}/kube-flannel.yml`), [
      network(settings),
      set(DAEMON, flanneld('env', named(NODE_IP)), nodeIp),
      set(DAEMON, flanneld('args'), FLANNELD_OPTIONS),
    ]);

/**
 * flanneld writes the first address of the node's range with its mask, such as 10.244.1.129/25; `subnet` is
 * 10.244.1.128/25.
 */
export const SUBNET_OF_NODE =
  'address=${FLANNEL_SUBNET%/*}; subnet=${address%.*}.$((${address##*.} - 1))/${FLANNEL_SUBNET#*/}';

/**
 * No mirror has flannel's own CNI plugin, so the bridge plugin with the node's subnet replaces it: flanneld writes the
 * subnet, and this container generates the configuration from it. It keeps running, because pods of a DaemonSet must.
 */
const WRITE_CONFIGURATION = `until [ -s /run/flannel/subnet.env ]; do sleep 0.2; done
. /run/flannel/subnet.env
${SUBNET_OF_NODE}
printf '{"cniVersion":"1.0.0","name":"flannel","plugins":[{"type":"bridge","bridge":"cni0","mtu":%s,"isDefaultGateway":true,"hairpinMode":true,"ipMasq":false,"ipam":{"type":"host-local","ranges":[[{"subnet":"%s"}]],"routes":[{"dst":"%s"}]}},{"type":"portmap","capabilities":{"portMappings":true}}]}' "$FLANNEL_MTU" "$subnet" "$FLANNEL_NETWORK" >/cni/.10-flannel.conflist
mv /cni/.10-flannel.conflist /cni/10-flannel.conflist
trap 'exit 0' TERM
while :; do sleep 3600 & wait $!; done
`;

const cniConfiguration = {
  name: 'cni-configuration',
  image: SHARED_IMAGES.busybox.reference,
  imagePullPolicy: 'Never',
  command: ['sh', '-c', WRITE_CONFIGURATION],
  resources: { requests: { cpu: '1m', memory: '4Mi' } },
  volumeMounts: [mount('run', '/run/flannel'), mount('cni', '/cni')],
};

const TOLERATIONS = [
  { operator: 'Exists', effect: 'NoSchedule' },
  { operator: 'Exists', effect: 'NoExecute' },
];

/** flannel from the images of a mirror, for hosts that do not pull: the images are loaded before Kubernetes starts. */
export const flannelPreloaded =
  (version: string) =>
  (settings: NetworkSettings): readonly Manifest[] =>
    patched(upstreamManifests(`flannel/${version}/kube-flannel.yml`), [
      network(settings),
      // There is no plugin to copy, and the container next to flanneld writes the configuration.
      remove(SETTINGS, ['data', 'cni-conf.json']),
      remove(DAEMON, inPod('initContainers')),
      remove(DAEMON, inPod('volumes', named('cni-plugin'))),
      set(DAEMON, inPod('containers', named('cni-configuration')), cniConfiguration),
      // The mirror's image is built from flannel's Go module: flanneld is in its PATH.
      set(DAEMON, flanneld('image'), SHARED_IMAGES.flannel.reference),
      set(DAEMON, flanneld('imagePullPolicy'), 'Never'),
      set(DAEMON, flanneld('command'), ['flanneld', ...FLANNELD_OPTIONS]),
      set(DAEMON, flanneld('env', named(NODE_IP)), nodeIp),
      remove(DAEMON, flanneld('args')),
      // Uses the load-balanced address, which does not depend on kube-proxy.
      setEnv(DAEMON, flanneld(), 'KUBERNETES_SERVICE_HOST', settings.endpoint.host),
      setEnv(DAEMON, flanneld(), 'KUBERNETES_SERVICE_PORT', String(settings.endpoint.port)),
      // As measured on hosts with one CPU.
      set(DAEMON, flanneld('resources'), { requests: { cpu: '20m', memory: '30Mi' } }),
      set(DAEMON, inPod('terminationGracePeriodSeconds'), 2),
      set(DAEMON, inPod('tolerations'), TOLERATIONS),
      set(DAEMON, inPod('volumes', named('run')), hostPath('run', '/run/flannel')),
      set(DAEMON, inPod('volumes', named('cni')), { ...CNI_CONFIGURATION, name: 'cni' }),
    ]);

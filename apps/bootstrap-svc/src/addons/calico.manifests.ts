import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import { upstreamManifests } from '../upstream.files.js';
import type { NetworkSettings } from './addon.settings.js';
import { flannelNetwork } from './flannel.manifests.js';
import { fromField } from './manifest.parts.js';
import { fromRegistry, inContainer, named, patched, set, setEnv, type Patch } from './manifest.patches.js';

const NODE = inContainer('calico-node');
/** flanneld's option for the interface with this address. */
const FLANNELD_IFACE = 'FLANNELD_IFACE';

/** Calico publishes the same images to both registries; Docker Hub limits anonymous pulls. */
const QUAY = fromRegistry('docker.io/calico/', 'quay.io/calico/');

/** Removes the status that controller-gen leaves in a definition; only the API server writes it. */
const withoutStatus: Patch = (manifests) =>
  manifests.map(({ status: _status, ...manifest }) => manifest as unknown as Manifest);

/** github.com/projectcalico/calico: pod network with policies. VXLAN only between segments, no BGP. */
export const calico =
  (version: string) =>
  ({ podCidr, oneSegment }: NetworkSettings): readonly Manifest[] =>
    patched(upstreamManifests(`calico/${version}/calico-vxlan.yaml`), [
      withoutStatus,
      QUAY,
      // By default it uses the first interface that it finds.
      setEnv('DaemonSet/calico-node', NODE, 'IP_AUTODETECTION_METHOD', 'kubernetes-internal-ip'),
      setEnv('DaemonSet/calico-node', NODE, 'CALICO_IPV4POOL_CIDR', podCidr),
      setEnv('DaemonSet/calico-node', NODE, 'CALICO_IPV4POOL_VXLAN', oneSegment ? 'CrossSubnet' : 'Always'),
    ]);

/** Flannel routes packets, Calico enforces policies: one DaemonSet with both. */
export const canal =
  (version: string) =>
  (settings: NetworkSettings): readonly Manifest[] =>
    patched(upstreamManifests(`calico/${version}/canal.yaml`), [
      withoutStatus,
      QUAY,
      set('ConfigMap/canal-config', ['data', 'net-conf.json'], flannelNetwork(settings)),
      set(
        'DaemonSet/canal',
        inContainer('kube-flannel', 'env', named(FLANNELD_IFACE)),
        fromField(FLANNELD_IFACE, 'status.hostIP'),
      ),
    ]);

import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import { upstreamManifests } from '../upstream.files.js';
import type { NetworkSettings } from './addon.settings.js';
import { inContainer, inPod, named, patched, set, setEnv, type Patch, type Path } from './manifest.patches.js';

const SETTINGS = 'ConfigMap/cilium-config';
const AGENT = 'DaemonSet/cilium';

/** All clients of the API server; the chart has a placeholder there. */
const CLIENTS: readonly (readonly [object: string, container: Path])[] = [
  [AGENT, inContainer('cilium-agent')],
  [AGENT, inPod('initContainers', named('config'))],
  [AGENT, inPod('initContainers', named('clean-cilium-state'))],
  ['Deployment/cilium-operator', inContainer('cilium-operator')],
];

/** Uses the load-balanced address: the address of the service depends on kube-proxy. */
const endpoint = ({ endpoint: { host, port } }: NetworkSettings): readonly Patch[] =>
  CLIENTS.flatMap(([object, container]) => [
    setEnv(object, container, 'KUBERNETES_SERVICE_HOST', host),
    setEnv(object, container, 'KUBERNETES_SERVICE_PORT', String(port)),
  ]);

/** Routes without a tunnel if nodes share a segment; otherwise upstream's VXLAN. */
const routing = ({ podCidr, oneSegment }: NetworkSettings): readonly Patch[] =>
  oneSegment
    ? [
        set(SETTINGS, ['data', 'routing-mode'], 'native'),
        set(SETTINGS, ['data', 'ipv4-native-routing-cidr'], podCidr),
        set(SETTINGS, ['data', 'auto-direct-node-routes'], 'true'),
      ]
    : [];

/**
 * github.com/cilium/cilium: pod network with policies, in the kernel with eBPF. Most settings are in the values with
 * which the chart was rendered (upstream/cilium); its operator creates its custom resources.
 */
export const cilium =
  (version: string) =>
  (settings: NetworkSettings): readonly Manifest[] =>
    patched(upstreamManifests(`cilium/${version}/cilium.yaml`), [...endpoint(settings), ...routing(settings)]);

import { SHARED_IMAGES } from '@fairlead/contracts';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import type { NetworkSettings } from './catalogue.js';
import { FLANNEL_RULES, flannelNetwork } from './flannel.manifests.js';
import {
  CNI_CONFIGURATION,
  clusterAccount,
  configMap,
  fromField,
  hostPath,
  mount,
  namespaceOf,
  nodeDaemon,
} from './manifest.parts.js';

const NAME = 'kube-flannel';

/**
 * flannel's own CNI plugin is in no mirror, so a bridge with the node's subnet does its work: flanneld writes down which
 * subnet that is, and this container makes the configuration of it. It stays, because pods of a DaemonSet must.
 */
const WRITE_CONFIGURATION = `until [ -s /run/flannel/subnet.env ]; do sleep 0.2; done
. /run/flannel/subnet.env
subnet=$(echo "$FLANNEL_SUBNET" | sed 's#[.][0-9]*/#.0/#')
printf '{"cniVersion":"1.0.0","name":"flannel","plugins":[{"type":"bridge","bridge":"cni0","mtu":%s,"isDefaultGateway":true,"hairpinMode":true,"ipMasq":false,"ipam":{"type":"host-local","ranges":[[{"subnet":"%s"}]],"routes":[{"dst":"%s"}]}},{"type":"portmap","capabilities":{"portMappings":true}}]}' "$FLANNEL_MTU" "$subnet" "$FLANNEL_NETWORK" >/cni/.10-flannel.conflist
mv /cni/.10-flannel.conflist /cni/10-flannel.conflist
trap 'exit 0' TERM
while :; do sleep 3600 & wait $!; done
`;

/** flannel from the images of a mirror, for hosts that pull none: they have them before Kubernetes starts. */
export const flannelPreloaded = (settings: NetworkSettings): readonly Manifest[] => [
  namespaceOf(NAME),
  ...clusterAccount('flannel', NAME, FLANNEL_RULES),
  configMap('kube-flannel-cfg', NAME, { 'net-conf.json': flannelNetwork(settings) }),
  nodeDaemon('kube-flannel-ds', NAME, {
    serviceAccountName: 'flannel',
    terminationGracePeriodSeconds: 2,
    containers: [
      {
        name: 'kube-flannel',
        image: SHARED_IMAGES.flannel.reference,
        imagePullPolicy: 'Never',
        command: ['flanneld', '--ip-masq', '--kube-subnet-mgr'],
        resources: { requests: { cpu: '20m', memory: '30Mi' } },
        securityContext: { privileged: false, capabilities: { add: ['NET_ADMIN', 'NET_RAW'] } },
        env: [
          fromField('POD_NAME', 'metadata.name'),
          fromField('POD_NAMESPACE', 'metadata.namespace'),
          // By the balanced address: it need not wait until kube-proxy has made the service's.
          { name: 'KUBERNETES_SERVICE_HOST', value: settings.endpoint.host },
          { name: 'KUBERNETES_SERVICE_PORT', value: String(settings.endpoint.port) },
        ],
        volumeMounts: [mount('run', '/run/flannel'), mount('flannel-cfg', '/etc/kube-flannel/')],
      },
      {
        name: 'cni-configuration',
        image: SHARED_IMAGES.busybox.reference,
        imagePullPolicy: 'Never',
        command: ['sh', '-c', WRITE_CONFIGURATION],
        resources: { requests: { cpu: '1m', memory: '4Mi' } },
        volumeMounts: [mount('run', '/run/flannel'), mount('cni-conf', '/cni')],
      },
    ],
    volumes: [
      hostPath('run', '/run/flannel'),
      CNI_CONFIGURATION,
      { name: 'flannel-cfg', configMap: { name: 'kube-flannel-cfg' } },
    ],
  }),
];

import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import type { NetworkSettings } from './catalogue.js';
import {
  CNI_CONFIGURATION,
  CNI_PROGRAMS,
  clusterAccount,
  configMap,
  fromField,
  hostPath,
  mount,
  namespaceOf,
  nodeDaemon,
  type Rule,
} from './manifest.parts.js';

const NAME = 'kube-flannel';
const PLUGIN_IMAGE = 'ghcr.io/flannel-io/flannel-cni-plugin:v1.8.0-flannel1';

export const flannelImage = (version: string): string => `ghcr.io/flannel-io/flannel:${version}`;

export const FLANNEL_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] },
];

/** Routes without a tunnel where nodes share a segment, VXLAN elsewhere; its rules in the same place as kube-proxy's. */
export const flannelNetwork = ({ podCidr, oneSegment, nftables }: NetworkSettings): string =>
  JSON.stringify({ Network: podCidr, EnableNFTables: nftables, Backend: { Type: oneSegment ? 'host-gw' : 'vxlan' } });

const cniConfiguration = JSON.stringify({
  name: 'cbr0',
  cniVersion: '0.3.1',
  plugins: [
    { type: 'flannel', delegate: { hairpinMode: true, isDefaultGateway: true } },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
});

export const flannelContainer = (version: string): Readonly<Record<string, unknown>> => ({
  name: 'kube-flannel',
  image: flannelImage(version),
  command: ['/opt/bin/flanneld'],
  args: ['--ip-masq', '--kube-subnet-mgr'],
  resources: { requests: { cpu: '100m', memory: '50Mi' } },
  securityContext: { privileged: false, capabilities: { add: ['NET_ADMIN', 'NET_RAW'] } },
  env: [fromField('POD_NAME', 'metadata.name'), fromField('POD_NAMESPACE', 'metadata.namespace')],
  volumeMounts: [
    mount('run', '/run/flannel'),
    mount('flannel-cfg', '/etc/kube-flannel/'),
    mount('xtables-lock', '/run/xtables.lock'),
  ],
});

/** github.com/flannel-io/flannel: pod network without network policies. */
export const flannel =
  (version: string) =>
  (settings: NetworkSettings): readonly Manifest[] => [
    namespaceOf(NAME),
    ...clusterAccount('flannel', NAME, FLANNEL_RULES),
    configMap('kube-flannel-cfg', NAME, {
      'cni-conf.json': cniConfiguration,
      'net-conf.json': flannelNetwork(settings),
    }),
    nodeDaemon('kube-flannel-ds', NAME, {
      serviceAccountName: 'flannel',
      initContainers: [
        {
          name: 'install-cni-plugin',
          image: PLUGIN_IMAGE,
          command: ['cp'],
          args: ['-f', '/flannel', '/opt/cni/bin/flannel'],
          volumeMounts: [mount('cni-bin', '/opt/cni/bin')],
        },
        {
          name: 'install-cni',
          image: flannelImage(version),
          command: ['cp'],
          args: ['-f', '/etc/kube-flannel/cni-conf.json', '/etc/cni/net.d/10-flannel.conflist'],
          volumeMounts: [mount('cni-conf', '/etc/cni/net.d'), mount('flannel-cfg', '/etc/kube-flannel/')],
        },
      ],
      containers: [flannelContainer(version)],
      volumes: [
        hostPath('run', '/run/flannel'),
        CNI_PROGRAMS,
        CNI_CONFIGURATION,
        { name: 'flannel-cfg', configMap: { name: 'kube-flannel-cfg' } },
        hostPath('xtables-lock', '/run/xtables.lock', 'FileOrCreate'),
      ],
    }),
  ];

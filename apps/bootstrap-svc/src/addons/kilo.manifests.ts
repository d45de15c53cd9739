import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import {
  CNI_CONFIGURATION,
  CNI_PROGRAMS,
  clusterAccount,
  configMap,
  fromField,
  hostPath,
  mount,
  nodeDaemon,
} from './manifest.parts.js';

const NAMESPACE = 'kube-system';
const PEERS_GROUP = 'kilo.squat.ai';

const cniConfiguration = JSON.stringify({
  cniVersion: '0.4.0',
  name: 'kilo',
  plugins: [
    {
      name: 'kubernetes',
      type: 'bridge',
      bridge: 'kube-bridge',
      isDefaultGateway: true,
      forceAddress: true,
      // WireGuard adds 80 bytes to each packet.
      mtu: 1420,
      ipam: { type: 'host-local' },
    },
    { type: 'portmap', snat: true, capabilities: { portMappings: true } },
  ],
});

const peers: Manifest = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `peers.${PEERS_GROUP}` },
  spec: {
    group: PEERS_GROUP,
    scope: 'Cluster',
    names: { kind: 'Peer', plural: 'peers', singular: 'peer' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

/**
 * By default Kilo takes the address of the default route, which may be behind NAT and the same on all nodes. It prefers
 * the address to which the node's name resolves: here the one configured for the kubelet. Other names of the host are
 * kept, because the name of the API may be among them.
 */
export const WRITE_HOSTS = `{ printf '%s %s\\n' "$NODE_IP" "$NODE_NAME"; grep -vwF "$NODE_NAME" /etc/hosts || true; } >/hosts/hosts`;
const NODE_NAME = fromField('NODE_NAME', 'spec.nodeName');
const NODE_IP = fromField('NODE_IP', 'status.hostIP');

/**
 * github.com/squat/kilo: a WireGuard mesh between clouds; every node is a separate location (CB-Ladybug's full mesh).
 */
export const kilo = (version: string) => (): readonly Manifest[] => {
  const image = `squat/kilo:${version}`;
  return [
    peers,
    ...clusterAccount('kilo', NAMESPACE, [
      { apiGroups: [''], resources: ['nodes'], verbs: ['list', 'patch', 'watch'] },
      { apiGroups: [PEERS_GROUP], resources: ['peers'], verbs: ['list', 'watch'] },
      { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get'] },
    ]),
    configMap('kilo', NAMESPACE, { 'cni-conf.json': cniConfiguration }),
    nodeDaemon('kilo', NAMESPACE, {
      serviceAccountName: 'kilo',
      initContainers: [
        {
          name: 'install-cni',
          image,
          command: ['/bin/sh', '-c'],
          args: [
            'set -e; cp /opt/cni/bin/* /host/opt/cni/bin/; ' +
              'cp /etc/kilo/cni-conf.json /host/etc/cni/net.d/.10-kilo.conflist; ' +
              'mv /host/etc/cni/net.d/.10-kilo.conflist /host/etc/cni/net.d/10-kilo.conflist; ' +
              WRITE_HOSTS,
          ],
          env: [NODE_NAME, NODE_IP],
          volumeMounts: [
            mount('cni-bin', '/host/opt/cni/bin'),
            mount('cni-conf', '/host/etc/cni/net.d'),
            mount('kilo-cfg', '/etc/kilo'),
            mount('hosts', '/hosts'),
          ],
        },
      ],
      containers: [
        {
          name: 'kilo',
          image,
          args: ['--kubeconfig=/etc/kubernetes/kubeconfig', '--hostname=$(NODE_NAME)', '--mesh-granularity=full'],
          env: [NODE_NAME],
          securityContext: { privileged: true },
          volumeMounts: [
            mount('cni-conf', '/etc/cni/net.d'),
            mount('kilo-dir', '/var/lib/kilo'),
            { ...mount('hosts', '/etc/hosts'), subPath: 'hosts', readOnly: true },
            { ...mount('kubeconfig', '/etc/kubernetes'), readOnly: true },
            { ...mount('lib-modules', '/lib/modules'), readOnly: true },
            mount('xtables-lock', '/run/xtables.lock'),
          ],
        },
      ],
      volumes: [
        CNI_PROGRAMS,
        CNI_CONFIGURATION,
        { name: 'kilo-cfg', configMap: { name: 'kilo' } },
        { name: 'hosts', emptyDir: {} },
        hostPath('kilo-dir', '/var/lib/kilo'),
        // kubeadm's kubeconfig for kube-proxy: it has the load-balanced address, and pods find their token next to it.
        {
          name: 'kubeconfig',
          configMap: { name: 'kube-proxy', items: [{ key: 'kubeconfig.conf', path: 'kubeconfig' }] },
        },
        hostPath('lib-modules', '/lib/modules'),
        hostPath('xtables-lock', '/run/xtables.lock', 'FileOrCreate'),
      ],
    }),
  ];
};

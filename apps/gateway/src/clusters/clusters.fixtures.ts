import { KUBERNETES_RELEASES, versionRanges, type ClusterRequest, type RefusalCode } from '@fairlead/contracts';

/** What CB-Ladybug's clients send. */
export const goodRequest: ClusterRequest = {
  name: 'demo',
  controlPlane: [{ connection: 'lab', count: 3, spec: 'lab.medium' }],
  worker: [{ connection: 'lab', count: 2, spec: 'lab.small' }],
  serviceType: 'multi',
};

const kubernetes = (change: NonNullable<NonNullable<ClusterRequest['config']>['kubernetes']>): ClusterRequest => ({
  ...goodRequest,
  config: { kubernetes: change },
});
const controlPlane = (count: number): ClusterRequest => ({
  ...goodRequest,
  controlPlane: [{ connection: 'lab', count, spec: 'lab.medium' }],
});
const workers = (count: number, connection = 'lab') => [{ connection, count, spec: 'lab.small' }];

export interface WrongRequest {
  readonly rule: string;
  readonly body: ClusterRequest;
  readonly code: RefusalCode;
  readonly status: number;
  readonly message: string;
  readonly field: string;
}

const wrong = (
  rule: string,
  body: ClusterRequest,
  [code, status, message, field]: readonly [RefusalCode, number, string, string],
): WrongRequest => ({ rule, body, code, status, message, field });

/** One wrong body for each rule about a request alone, in CB-Ladybug's order. */
export const WRONG_REQUESTS: readonly WrongRequest[] = [
  wrong('no control plane set', { ...goodRequest, controlPlane: [] }, [
    'cluster.control-plane-missing',
    400,
    'A cluster needs at least one control plane',
    'controlPlane',
  ]),
  wrong(
    'two control plane sets',
    { ...goodRequest, controlPlane: [...goodRequest.controlPlane!, ...goodRequest.controlPlane!] },
    ['cluster.control-plane-sets', 400, 'A cluster has exactly one set of control planes', 'controlPlane'],
  ),
  wrong('no worker set', { ...goodRequest, worker: [] }, [
    'cluster.worker-missing',
    400,
    'At least one set of workers is needed',
    'worker',
  ]),
  wrong('too many worker sets', { ...goodRequest, worker: Array.from({ length: 51 }, () => workers(1)[0]!) }, [
    'cluster.too-many-sets',
    400,
    'At most 50 worker sets are supported, not 51',
    'worker',
  ]),
  wrong('workers of a single-node cluster', { ...controlPlane(1), singleNode: true }, [
    'cluster.single-node',
    400,
    'A single-node cluster has one control plane and no workers',
    'worker',
  ]),
  wrong('an unknown service type', { ...goodRequest, serviceType: 'both' }, [
    'cluster.service-type',
    400,
    'serviceType must be multi or single',
    'serviceType',
  ]),
  wrong('a CNI that is not for multi', kubernetes({ networkCni: 'flannel' }), [
    'cluster.cni-multi',
    400,
    'The pod network does not suit serviceType multi',
    'config.kubernetes.networkCni',
  ]),
  wrong('a CNI that is not for single', { ...kubernetes({ networkCni: 'kilo' }), serviceType: 'single' }, [
    'cluster.cni-single',
    400,
    'The pod network does not suit serviceType single',
    'config.kubernetes.networkCni',
  ]),
  wrong('an unknown load balancer', kubernetes({ loadbalancer: 'f5' }), [
    'cluster.loadbalancer',
    400,
    'loadbalancer must be haproxy or nlb',
    'config.kubernetes.loadbalancer',
  ]),
  wrong('an unknown etcd', kubernetes({ etcd: 'remote' }), [
    'cluster.etcd',
    400,
    'etcd must be local or external',
    'config.kubernetes.etcd',
  ]),
  wrong('external etcd with one control plane', { ...controlPlane(1), config: { kubernetes: { etcd: 'external' } } }, [
    'cluster.etcd-external-count',
    400,
    'An external etcd needs 3, 5 or 7 control planes',
    'controlPlane[0].count',
  ]),
  wrong('no name', { ...goodRequest, name: '' }, [
    'cluster.name-empty',
    400,
    'The name of the cluster is empty',
    'name',
  ]),
  wrong('a name with a capital letter', { ...goodRequest, name: 'Demo' }, [
    'cluster.name-invalid',
    400,
    "'Demo' is not a valid name of a cluster",
    'name',
  ]),
  wrong('a name that ends in a dash', { ...goodRequest, name: 'demo-' }, [
    'cluster.name-invalid',
    400,
    "'demo-' is not a valid name of a cluster",
    'name',
  ]),
  wrong('a name of 64 characters', { ...goodRequest, name: 'a'.repeat(64) }, [
    'cluster.name-too-long',
    400,
    `The name '${'a'.repeat(64)}' has 64 characters; the maximum is 63`,
    'name',
  ]),
  wrong('a pod network with an octet above 255', kubernetes({ podCidr: '999.999.999.999/99' }), [
    'cluster.pod-cidr',
    400,
    'podCidr 999.999.999.999/99 is not an IPv4 network in CIDR notation',
    'config.kubernetes.podCidr',
  ]),
  wrong('a service network that is none', kubernetes({ serviceCidr: '10x96x0x0/12' }), [
    'cluster.service-cidr',
    400,
    'serviceCidr 10x96x0x0/12 is not an IPv4 network in CIDR notation',
    'config.kubernetes.serviceCidr',
  ]),
  wrong('a service network that kubeadm refuses', kubernetes({ serviceCidr: '172.16.0.0/30' }), [
    'cluster.service-cidr-size',
    400,
    'serviceCidr 172.16.0.0/30 must be between a /12 and a /28',
    'config.kubernetes.serviceCidr',
  ]),
  wrong('a pod network of loopback addresses', kubernetes({ podCidr: '127.0.0.0/16' }), [
    'cluster.cidr-special',
    400,
    'podCidr 127.0.0.0/16 is not usable: 127.0.0.0/8 is loopback',
    'config.kubernetes.podCidr',
  ]),
  wrong('a pod network that holds the loopback addresses', kubernetes({ podCidr: '126.0.0.0/7' }), [
    'cluster.cidr-special',
    400,
    'podCidr 126.0.0.0/7 is not usable: 127.0.0.0/8 is loopback',
    'config.kubernetes.podCidr',
  ]),
  wrong('a service network of multicast addresses', kubernetes({ serviceCidr: '224.0.0.0/16' }), [
    'cluster.cidr-special',
    400,
    'serviceCidr 224.0.0.0/16 is not usable: 224.0.0.0/4 is multicast',
    'config.kubernetes.serviceCidr',
  ]),
  wrong('a pod network of link-local addresses', kubernetes({ podCidr: '169.254.0.0/16' }), [
    'cluster.cidr-special',
    400,
    'podCidr 169.254.0.0/16 is not usable: 169.254.0.0/16 is link-local',
    'config.kubernetes.podCidr',
  ]),
  wrong('a service network of reserved addresses', kubernetes({ serviceCidr: '240.0.0.0/12' }), [
    'cluster.cidr-special',
    400,
    'serviceCidr 240.0.0.0/12 is not usable: 240.0.0.0/4 is reserved',
    'config.kubernetes.serviceCidr',
  ]),
  wrong('a pod network with host bits', kubernetes({ podCidr: '10.244.7.1/16' }), [
    'cluster.cidr-host-bits',
    400,
    'podCidr 10.244.7.1/16 has host bits set',
    'config.kubernetes.podCidr',
  ]),
  wrong('a service network with host bits', kubernetes({ serviceCidr: '10.96.0.1/12' }), [
    'cluster.cidr-host-bits',
    400,
    'serviceCidr 10.96.0.1/12 has host bits set',
    'config.kubernetes.serviceCidr',
  ]),
  ...['nfs server', '10.0.0.256', 'nfs.example.com:/x', '-nfs', 'fe80::1%eth0', 'nfs\n'].map((server) =>
    wrong(
      `${JSON.stringify(server)} for an NFS server`,
      kubernetes({ storageclass: { nfs: { server, path: '/a' } } }),
      [
        'cluster.nfs-server',
        400,
        'storageclass.nfs.server is neither a host name nor an IP address',
        'config.kubernetes.storageclass.nfs.server',
      ],
    ),
  ),
  ...['data', '/data/../etc', '/data/..', '/da\u202eta'].map((path) =>
    wrong(
      `${JSON.stringify(path)} for an NFS path`,
      kubernetes({ storageclass: { nfs: { server: '10.0.0.5', path } } }),
      [
        'cluster.nfs-path',
        400,
        "storageclass.nfs.path is not an absolute path, or has '..' or control characters in it",
        'config.kubernetes.storageclass.nfs.path',
      ],
    ),
  ),
  wrong('networks that overlap', kubernetes({ podCidr: '10.96.0.0/16' }), [
    'cluster.cidr-overlap',
    400,
    'podCidr 10.96.0.0/16 and serviceCidr 10.96.0.0/12 overlap',
    'config.kubernetes.podCidr',
  ]),
  wrong('a DNS domain that is none', kubernetes({ serviceDnsDomain: 'cluster_local' }), [
    'cluster.dns-domain',
    400,
    'serviceDnsDomain cluster_local is not a DNS name',
    'config.kubernetes.serviceDnsDomain',
  ]),
  wrong('an unknown Kubernetes version', kubernetes({ version: '1.23.13' }), [
    'cluster.version-unknown',
    400,
    `Kubernetes 1.23.13 is not available; available versions: ${versionRanges(KUBERNETES_RELEASES.map((release) => release.version))}`,
    'config.kubernetes.version',
  ]),
  wrong('an unknown monitoring request', { ...goodRequest, config: { installMonAgent: 'maybe' } }, [
    'cluster.mon-agent',
    400,
    'installMonAgent must be yes or no',
    'config.installMonAgent',
  ]),
  wrong('a monitoring agent, which Fairlead does not install', { ...goodRequest, config: { installMonAgent: 'yes' } }, [
    'cluster.mon-agent-unsupported',
    400,
    'Fairlead installs no monitoring agent',
    'config.installMonAgent',
  ]),
  wrong('a set without a connection', { ...goodRequest, worker: [{ count: 1, spec: 'lab.small' }] }, [
    'cluster.connection-empty',
    400,
    'A node set names no connection',
    'worker[0].connection',
  ]),
  wrong('a set whose connection cannot be one', { ...goodRequest, worker: workers(1, 'My Cloud') }, [
    'connection.name-invalid',
    400,
    'My Cloud is not a connection name',
    'worker[0].connection',
  ]),
  wrong('a set without a spec', { ...goodRequest, worker: [{ connection: 'lab', count: 1 }] }, [
    'cluster.spec-empty',
    400,
    'A node set names no machine type',
    'worker[0].spec',
  ]),
  wrong('no control plane in the set', controlPlane(0), [
    'cluster.control-plane-count',
    400,
    'The number of control planes must be at least 1',
    'controlPlane[0].count',
  ]),
  wrong('an even number of control planes', controlPlane(4), [
    'cluster.control-plane-even',
    400,
    'The number of control planes must be odd (etcd needs a majority), not 4',
    'controlPlane[0].count',
  ]),
  wrong('seven control planes', controlPlane(7), [
    'cluster.control-plane-too-many',
    400,
    'The number of control planes must be at most 5, not 7',
    'controlPlane[0].count',
  ]),
  wrong(
    'three control planes of a single-node cluster',
    { name: 'demo', singleNode: true, controlPlane: controlPlane(3).controlPlane! },
    ['cluster.single-node', 400, 'A single-node cluster has one control plane and no workers', 'controlPlane[0].count'],
  ),
  wrong('no worker in a set', { ...goodRequest, worker: workers(0) }, [
    'cluster.worker-count',
    400,
    'The number of workers must be at least 1 (connection lab)',
    'worker[0].count',
  ]),
  wrong('more nodes than a cluster may have', { ...kubernetes({ podCidr: '10.0.0.0/11' }), worker: workers(505) }, [
    'cluster.too-many-nodes',
    400,
    'A cluster may have at most 500 workers, not 505',
    'worker',
  ]),
  wrong(
    'more nodes than the pod network has room for',
    { ...kubernetes({ podCidr: '10.244.0.0/22' }), worker: workers(6) },
    [
      'cluster.pod-cidr-small',
      400,
      'podCidr 10.244.0.0/22 has room for 8 nodes, not 9: each takes a /25 of it',
      'config.kubernetes.podCidr',
    ],
  ),
  wrong('two connections in a single cluster', { ...goodRequest, serviceType: 'single', worker: workers(1, 'other') }, [
    'cluster.single-connection',
    422,
    'All nodes must use one connection with serviceType single (found other)',
    'worker[0].connection',
  ]),
];

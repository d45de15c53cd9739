import { INNER_SERVICES } from '@fairlead/contracts';
/** What `fairlead up` was asked for, with every default filled in. */
export interface UpSettings {
  readonly dataDir: string;
  readonly port: number;
  readonly http: HttpSettings;
  readonly provider: Provider;
  readonly delays: LabDelays;
  readonly light: boolean;
  /** Of this machine, on which hosts of others reach NATS; undefined: no host of another machine does. */
  readonly natsAddress: string | undefined;
  /** On which NATS takes websockets as well; undefined: none. */
  readonly natsWebsocketPort: number | undefined;
  /** Where APIs of clusters are published; undefined: none is. */
  readonly publish: PublishSettings | undefined;
  /** On how many NATS servers each store is kept; undefined: as before. */
  readonly replicas: number | undefined;
  readonly demo: DemoSettings | undefined;
  /** A service that its developer starts. */
  readonly without: DebuggableService | undefined;
}

/** The tunnel, and the names of clusters that are reached through it. */
export interface PublishSettings {
  readonly domain: string;
  /** On which clusters and clients connect. */
  readonly address: string;
  readonly sshPort: number;
  readonly tlsPort: number;
}

/** Where the REST API listens, and how it is protected there. */
export interface HttpSettings {
  readonly address: string;
  /** undefined: plain text. */
  readonly tls:
    { readonly certFile: string; readonly keyFile: string; readonly caFile: string | undefined } | undefined;
  /** Plain text is desired beyond loopback, too. */
  readonly plainText: boolean;
}

export interface DemoSettings {
  readonly controlPlanes: number;
  readonly workers: number;
  /** undefined: the server's default. */
  readonly kubernetesVersion: string | undefined;
  readonly etcd: Etcd;
}

/** Who runs it: kubeadm, or units of the hosts beside it. */
export const ETCDS = ['local', 'external'] as const;
export type Etcd = (typeof ETCDS)[number];

/** What this version can build machines with. */
export const PROVIDERS = ['lab', 'nspawn'] as const;
export type Provider = (typeof PROVIDERS)[number];

/** Those that an instance can start without. The gateway is not one: `fairlead up` itself calls it. */
export const DEBUGGABLE_SERVICES = INNER_SERVICES;
export type DebuggableService = (typeof DEBUGGABLE_SERVICES)[number];

export const LAB_DELAYS = ['real', 'none'] as const;
export type LabDelays = (typeof LAB_DELAYS)[number];

export const DEFAULT_PORT = 7080;
/** Of the tunnel: 443 is for the superuser. */
export const TUNNEL_PORTS = { ssh: 2222, tls: 8443 } as const;
export const DEFAULT_NAMESPACE = 'default';
export const DEMO = { cluster: 'demo', serviceType: 'single', networkCni: 'flannel' } as const;

/** The connection that an instance begins with, and what its machines are. */
export interface Site {
  readonly connection: string;
  readonly region: string;
  /** Empty: any. */
  readonly zone: string;
  /** The size of the demo's machines. */
  readonly spec: string;
  readonly machines: string;
  /** Whether this machine simulates its hosts, or runs them. */
  readonly hosts: 'lab' | 'local';
  /** What these machines do not protect from. */
  readonly caution: string;
}

export const SITES: Readonly<Record<Provider, Site>> = {
  lab: {
    connection: 'lab',
    region: 'lab-1',
    zone: 'lab-1a',
    spec: 'lab.medium',
    machines: 'simulated (the lab)',
    hosts: 'lab',
    caution:
      'The lab is no security boundary: its hosts are processes of this user. Do not use it for people or workloads that you do not trust.',
  },
  nspawn: {
    connection: 'nspawn',
    region: 'local',
    zone: '',
    spec: 'nspawn.medium',
    machines: 'real Linux hosts on this machine (systemd-nspawn)',
    hosts: 'local',
    caution:
      'These hosts are no security boundary: they share the kernel of this machine. Do not use them for people or workloads that you do not trust.',
  },
};

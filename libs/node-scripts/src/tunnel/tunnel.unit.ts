/** What holds the name of the API on a control plane: OpenSSH's client as a unit of our own. */
export const TUNNEL_CLIENT = {
  folder: '/etc/fairlead/tunnel',
  key: '/etc/fairlead/tunnel/key',
  knownHosts: '/etc/fairlead/tunnel/known_hosts',
  unit: 'fairlead-tunnel.service',
  servicesUnit: 'fairlead-tunnel-services.service',
} as const;

/** The name of the tunnel among known hosts, whatever its address is. */
const HOST_ALIAS = 'fairlead-tunnel';

export interface TunnelClient {
  /** The name that is held. */
  readonly name: string;
  /** The port that clients connect to. */
  readonly port: number;
  /** Where the API is reached from here. */
  readonly target: { readonly host: string; readonly port: number };
  readonly tunnel: { readonly host: string; readonly port: number; readonly hostKey: string };
}

export const knownHosts = ({ tunnel }: Pick<TunnelClient, 'tunnel'>): string => `${HOST_ALIAS} ${tunnel.hostKey}\n`;

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

export interface PublishedTarget {
  /** The name that is held. */
  readonly name: string;
  /** Where the service answers in the cluster. */
  readonly target: { readonly host: string; readonly port: number };
}

interface Unit extends Pick<TunnelClient, 'name' | 'port' | 'tunnel'> {
  readonly what: string;
  readonly held: readonly PublishedTarget[];
}

/** A lost connection is noticed after 30 seconds at both ends, and made again after two. */
const unitOf = ({ what, name, port, tunnel, held }: Unit): string => `[Unit]
Description=Publishes ${what} of this cluster (Fairlead)
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=simple
WorkingDirectory=${TUNNEL_CLIENT.folder}
ExecStart=/usr/bin/ssh -F none -N -T -i key -p ${tunnel.port} \\
  -o UserKnownHostsFile=known_hosts -o GlobalKnownHostsFile=none -o HostKeyAlias=${HOST_ALIAS} \\
  -o StrictHostKeyChecking=yes -o UpdateHostKeys=no -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes \\
  -o ExitOnForwardFailure=yes -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ServerAliveCountMax=3 \\
${held.map((one) => `  -R ${one.name}:${port}:${bracketed(one.target.host)}:${one.target.port} \\\n`).join('')}  ${name}@${tunnel.host}
Restart=always
RestartSec=2
CapabilityBoundingSet=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes

[Install]
WantedBy=multi-user.target
`;

export const tunnelUnit = ({ target, ...client }: TunnelClient): string =>
  unitOf({ ...client, what: 'the Kubernetes API', held: [{ name: client.name, target }] });

/** A unit of its own: the API stays connected while services come and go. */
export const servicesUnit = (client: TunnelClient, services: readonly PublishedTarget[]): string =>
  unitOf({ ...client, what: 'services', held: services });

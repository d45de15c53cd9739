/** What holds the name of the API on a control plane: OpenSSH's client as a unit of our own. */
export const TUNNEL_CLIENT = {
  folder: '/etc/fairlead/tunnel',
  key: '/etc/fairlead/tunnel/key',
  knownHosts: '/etc/fairlead/tunnel/known_hosts',
  unit: 'fairlead-tunnel.service',
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

/** A lost connection is noticed after 30 seconds at both ends, and made again after two. */
export const tunnelUnit = ({ name, port, target, tunnel }: TunnelClient): string => `[Unit]
Description=Publishes the Kubernetes API of this cluster (Fairlead)
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
  -R ${name}:${port}:${bracketed(target.host)}:${target.port} ${name}@${tunnel.host}
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

import { API_PORT } from '../kubeadm/kubeadm.types.js';

/** A control plane, as its peers reach it. */
export interface ControlPlanePeer {
  readonly name: string;
  readonly address: string;
}

/** Where haproxy says, on the host itself, whether it reaches an API server. Below the node ports and the ephemeral ones. */
export const MONITOR_PORT = 29_998;

const hostPort = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;

/**
 * haproxy in front of every API server. It passes TLS through, asks each for /readyz once a second, and takes one out after
 * three seconds without; then its connections end, so that clients find another one.
 */
export const haproxyConfig = (
  listen: { readonly ipv6: boolean; readonly port: number },
  peers: readonly ControlPlanePeer[],
): string => `# Made by Fairlead, and made anew when control planes come and go.
global
  user haproxy
  group haproxy
  maxconn 8192

defaults
  mode tcp
  timeout connect 5s
  # Watches are silent for minutes; TCP itself finds out who is gone.
  timeout client 1h
  timeout server 1h
  option clitcpka
  option srvtcpka

frontend api
  bind ${listen.ipv6 ? `[::]:${listen.port} v4v6` : `*:${listen.port}`}
  default_backend api

backend api
  balance leastconn
  option httpchk GET /readyz
  http-check expect status 200
  default-server check check-ssl verify none inter 1s fall 3 rise 2 on-marked-down shutdown-sessions
${peers.map(({ name, address }) => `  server ${name} ${hostPort(address, API_PORT)}`).join('\n')}

frontend monitor
  mode http
  bind 127.0.0.1:${MONITOR_PORT}
  timeout client 5s
  monitor-uri /
  monitor fail if { nbsrv(api) lt 1 }
`;

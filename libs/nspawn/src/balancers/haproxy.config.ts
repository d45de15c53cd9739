import { apiBackends, DEAD_PEERS, hostPort, OLD_CONNECTIONS_KEPT } from '@fairlead/node-scripts';

/** A load balancer: one address and port in front of the API servers of one cluster. */
export interface BalancerConfig {
  readonly address: string;
  readonly port: number;
  readonly healthPath: string;
  readonly targets: readonly { readonly name: string; readonly address: string; readonly port: number }[];
}

/** The admin socket of a running haproxy, in the load balancer's folder. */
export const ADMIN_SOCKET = 'admin.sock';

/**
 * TCP to any API server that reports over TLS that it is ready; one that fails three checks loses its connections, so
 * that clients go elsewhere instead of waiting (`apiBackends`). A dead host does not accept a check's connection, which
 * is known after a second; one that accepts it and is slow has five seconds to answer, more than etcd has for an API
 * server's own check of it. API servers answer idle watches within an hour. After a reload the old process hands its
 * listening sockets to the new one, and keeps its connections. It connects from its own address, which the control
 * planes' firewall accepts.
 */
export const haproxyConfig = ({ address, port, healthPath, targets }: BalancerConfig): string => `global
  stats socket unix@./${ADMIN_SOCKET} mode 600 level admin expose-fd listeners
  hard-stop-after ${OLD_CONNECTIONS_KEPT}

defaults
  mode tcp
  retries 3
  option redispatch 1
  timeout connect 1s
  timeout check 5s
  timeout client 1h
  timeout server 1h
${DEAD_PEERS}

frontend api
  bind ${address}:${port}
  default_backend control-planes

${apiBackends({
  name: 'control-planes',
  healthPath,
  rise: 1,
  words: `source ${address} `,
  servers: targets.map((target) => ({ name: target.name, at: hostPort(target.address, target.port) })),
})}`;

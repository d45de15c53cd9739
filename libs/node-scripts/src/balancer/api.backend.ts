/** An API server behind a load balancer. `at`: its address and port in haproxy's notation. */
export interface BalancedServer {
  readonly name: string;
  readonly at: string;
}

export interface ApiBackend {
  readonly name: string;
  readonly healthPath: string;
  /** Successful checks in a row that restore a server. */
  readonly rise: number;
  /** Additional options of every server. */
  readonly words?: string;
  readonly servers: readonly BalancedServer[];
}

/** How long an old process keeps its connections after a reload. It checks no servers; only TCP detects a dead host. */
export const OLD_CONNECTIONS_KEPT = '30m';

/**
 * TCP closes a connection to a dead host after 15 seconds without an acknowledgement. Probes of an idle connection
 * start after ten. A process from before a reload has no other means, because it no longer checks servers.
 */
export const DEAD_PEERS = `  option srvtcpka
  srvtcpka-idle 10s
  srvtcpka-intvl 2s`;

/** A server option: haproxy 2.6 and 3.0 ignore it in a default-server. */
export const UNACKNOWLEDGED = 'tcp-ut 15s';

/** The backend in which haproxy quickly detects dead hosts. */
const REACHABLE = 'reachable';

const serverLines = (servers: readonly BalancedServer[], words = ''): string =>
  servers.map(({ name, at }) => `  server ${name} ${at}${words}\n`).join('');

const elsewhereLines = (backend: string, servers: readonly BalancedServer[]): string =>
  [
    ...servers.map(
      ({ name }) =>
        `  tcp-request content set-var(txn.elsewhere) bool(true) if { srv_is_up(${backend}/${name}) } !{ srv_is_up(${REACHABLE}/${name}) }\n`,
    ),
    ...servers.map(
      ({ name }) => `  use-server ${name} if { var(txn.elsewhere) -m bool } { srv_is_up(${REACHABLE}/${name}) }\n`,
    ),
  ].join('');

/**
 * API servers behind one address. haproxy checks each one's health over TLS. A server that fails three checks is
 * removed and its connections are closed, so that clients choose another one. A connection waiting for a server at that
 * moment is lost: haproxy 2.6 closes it, and 3.0 never answers it. Connections only wait for dead hosts, so two cheap
 * TCP checks come first: from their failure until the API server is removed, three to four seconds later, new
 * connections go elsewhere. Waiting ones time out after a second, and are retried elsewhere.
 */
export const apiBackends = ({ name, healthPath, rise, words = '', servers }: ApiBackend): string => `backend ${name}
  balance roundrobin
${elsewhereLines(name, servers)}  option httpchk GET ${healthPath}
  http-check expect status 200
  default-server ${words}check check-ssl verify none inter 1s fall 3 rise ${rise} on-marked-down shutdown-sessions
${serverLines(servers, ` ${UNACKNOWLEDGED}`)}
backend ${REACHABLE}
  timeout connect 500ms
  default-server ${words}check inter 500ms fall 2 rise 2
${serverLines(servers)}`;

/** An API server behind a balancer. `at`: its address and port, as haproxy writes them. */
export interface BalancedServer {
  readonly name: string;
  readonly at: string;
}

export interface ApiBackend {
  readonly name: string;
  readonly healthPath: string;
  /** How many checks in a row bring a server back. */
  readonly rise: number;
  /** More words of every server. */
  readonly words?: string;
  readonly servers: readonly BalancedServer[];
}

/** How long an old process keeps its connections after a reload. It checks no server; only TCP notices a host that is gone. */
export const OLD_CONNECTIONS_KEPT = '30m';

/**
 * When TCP ends a connection to a host that is gone: after 15 seconds without an acknowledgement. Probes of a silent connection begin
 * after ten. A process from before a reload has nothing else to find that out with, as it checks no server any more.
 */
export const DEAD_PEERS = `  option srvtcpka
  srvtcpka-idle 10s
  srvtcpka-intvl 2s`;

/** A word of each server: haproxy 2.6 and 3.0 ignore it in a default-server. */
export const UNACKNOWLEDGED = 'tcp-ut 15s';

/** The backend in which haproxy finds out early which hosts are gone. */
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
 * API servers behind one address. haproxy asks each for its health over TLS. One that fails three checks is taken out, and its
 * connections end, so that clients find another one. A connection that waits for a server at that moment is lost: haproxy 2.6 ends it,
 * and 3.0 never answers it. Only a host that is gone lets connections wait, so two cheap checks of whether it accepts any come first:
 * from the moment that they fail until the API server is taken out, three to four seconds later, new connections go elsewhere. Those that
 * already wait are given up after a second, and tried elsewhere.
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

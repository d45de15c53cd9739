import { upstreamsOf, type AddressReport, type NodeLoadBalancing } from '@fairlead/contracts';

/** The observed state of a node's addresses. */
export interface AddressLook {
  /** haproxy's response to `show stat`; undefined if it does not respond. */
  readonly stats: string | undefined;
  /** Addresses of the host's interfaces. */
  readonly own: ReadonlySet<string>;
  /** `<address>.<transport>`: whether the port accepts connections. */
  readonly reached: ReadonlyMap<string, boolean>;
}

/** States of a server to which haproxy sends connections. */
const UP = /^(UP|no check|NOLB)/;

const LINES_MAX = 20_000;

/** Whether each server of each backend is up. Output that is not haproxy's CSV has no servers. */
export const serversIn = (stats: string): ReadonlyMap<string, ReadonlyMap<string, boolean>> => {
  const [header = '', ...lines] = stats.split('\n', LINES_MAX);
  const columns = header.replace(/^# /, '').split(',');
  const [backendAt, serverAt, statusAt] = ['pxname', 'svname', 'status'].map((name) => columns.indexOf(name));
  const backends = new Map<string, Map<string, boolean>>();
  for (const line of lines) {
    const cells = line.split(',');
    const [backend, server, status] = [cells[backendAt ?? -1], cells[serverAt ?? -1], cells[statusAt ?? -1]];
    if (backend === undefined || server === undefined || status === undefined) continue;
    const servers = backends.get(backend) ?? new Map<string, boolean>();
    backends.set(backend, servers.set(server, UP.test(status)));
  }
  return backends;
};

/** A message of an agent has at most 32 KiB. */
const NAMES_BYTES_MAX = 20_000;
const byName = ([one]: readonly [string, boolean], [other]: readonly [string, boolean]): number =>
  one < other ? -1 : 1;

/** Nodes that are down come first, so that truncation drops nodes that need no attention. */
const listed = (upstreams: readonly (readonly [string, boolean])[], bytes: number): Record<string, boolean> => {
  const inOrder = [
    ...upstreams.filter(([, isUp]) => !isUp).toSorted(byName),
    ...upstreams.filter(([, isUp]) => isUp).toSorted(byName),
  ];
  let left = bytes;
  return Object.fromEntries(
    inOrder.filter(([name, isUp]) => {
      left -= JSON.stringify({ [name]: isUp }).length;
      return left >= 0;
    }),
  );
};

/** A node's report of its virtual addresses. */
export const reportsOf = (balancing: NodeLoadBalancing, { stats, own, reached }: AddressLook): AddressReport[] => {
  const { addresses } = balancing;
  const backends = serversIn(stats ?? '');
  const ports = addresses.reduce((sum, { transports }) => sum + transports.length, 0);
  return addresses.map(({ name, address, transports }) => ({
    name,
    held: own.has(address),
    transports: transports.map((transport) => {
      const id = `${name}.${transport.name}`;
      const servers = backends.get(id);
      const upstreams = upstreamsOf(balancing, transport).map(
        ({ node }) => [node, servers?.get(node) === true] as const,
      );
      return {
        name: transport.name,
        reached: reached.get(id) === true,
        up: upstreams.filter(([, isUp]) => isUp).length,
        of: upstreams.length,
        upstreams: listed(upstreams, Math.floor(NAMES_BYTES_MAX / ports)),
      };
    }),
  }));
};

/** Services accept 200 bytes per second of a node on average; reports may use half of that. */
const BYTES_PER_MS = 0.1;
const REPORT_EVERY_MIN_MS = 10_000;

/** How long a node waits after a report of this size before the next one. */
export const pauseAfter = (bytes: number): number => Math.max(REPORT_EVERY_MIN_MS, bytes / BYTES_PER_MS);

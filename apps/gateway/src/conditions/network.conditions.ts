import { NODE_LOST_AFTER_MS } from '@fairlead/contracts';
import { NAMED_MAX, earliestOf, found, holds, latestOf, named, type Read } from './condition.reading.js';

/** Of a cluster that declares a firewall or SSH servers. */
export const networkApplied: Read = ({ nodes, createdAt }) => {
  const all = nodes.flatMap(({ name, network, isRemoving }) =>
    network === undefined || isRemoving ? [] : [{ name, ...network }],
  );
  const failed = all.filter(({ state }) => state === 'failed');
  const waiting = all.filter(({ state }) => state === 'waiting');
  const since = (some: typeof all): string =>
    earliestOf(
      some.map((node) => node.since),
      createdAt,
    );
  if (failed.length > 0)
    return found({
      status: 'False',
      reason: 'NetworkFailed',
      message: `${failed
        .slice(0, NAMED_MAX)
        .map(({ name, message }) => `${name}: ${message}`)
        .join(
          '; ',
        )}${failed.length > NAMED_MAX ? ` and ${failed.length - NAMED_MAX} more nodes` : ''}. Change the manifest, or repair the cause and run "fairlead cluster retry-network"`,
      since: since(failed),
      calls: 'Degraded',
    });
  if (waiting.length > 0)
    return found({
      status: 'False',
      reason: 'NetworkWaiting',
      message: `the agents of ${named(waiting.map(({ name }) => name))} have not applied it yet`,
      since: since(waiting),
      calls: 'Maintaining',
    });
  return holds(
    latestOf(
      all.map((node) => node.since),
      createdAt,
    ),
  );
};

/** Of a cluster that declares virtual addresses. That nothing answers behind one is up to what runs in the cluster. */
export const virtualAddressesReady: Read = ({ addresses, marks, createdAt }) => {
  const since = marks.ready ?? createdAt;
  const unheld = addresses.filter(({ holder }) => holder === null);
  if (unheld.length > 0) {
    const isConfiguring = unheld.every((one) => one.isConfiguring);
    return found({
      status: 'False',
      reason: 'AddressNotHeld',
      message: `no node holds ${named(unheld.map(({ name, address }) => `${name} (${address})`))}. ${isConfiguring ? 'Nodes are being configured for it' : 'Look at fairlead-addresses-keepalived on nodes of its holders'}`,
      since,
      calls: isConfiguring ? 'Maintaining' : 'Degraded',
    });
  }
  const last = latestOf(
    addresses.map((one) => one.since ?? since),
    since,
  );
  const portsOf = (which: 'unreached' | 'empty'): readonly string[] =>
    addresses.flatMap((one) => one[which].map((transport) => `${one.name}/${transport}`));
  const [unreached, empty] = [portsOf('unreached'), portsOf('empty')];
  if (unreached.length > 0)
    return found({
      status: 'False',
      reason: 'AddressUnreachable',
      message: `the node that holds the address gets no connection on ${named(unreached)}. Look at fairlead-addresses-haproxy there`,
      since: last,
      calls: 'Degraded',
    });
  if (empty.length > 0)
    return {
      status: 'False',
      reason: 'UpstreamsDown',
      message: `no node answers behind ${named(empty)}. Look at the service, and at the health check in the manifest`,
      lastTransitionTime: last,
    };
  return holds(last);
};

/** After this, a holder that died in silence has been found lost, and one that handed over has said so. */
const HANDOVER_MS = 2 * NODE_LOST_AFTER_MS;

/** Of a cluster whose control planes share an address of the API: exactly one of them holds it. */
export const apiAddressHeld: Read = ({ apiAddress, createdAt, now }) => {
  const { holders, since } = apiAddress ?? { holders: [], since: createdAt };
  const [latest, ...others] = holders.toSorted((one, other) => (one.since < other.since ? 1 : -1));
  if (latest === undefined)
    return found({
      status: 'False',
      reason: 'ApiAddressNotHeld',
      message:
        'no control plane holds the address of the API. Look at fairlead-keepalived and fairlead-haproxy on control planes',
      since,
      calls: 'Degraded',
    });
  if (others.length === 0 || Date.parse(now) - Date.parse(latest.since) < HANDOVER_MS) return holds(latest.since);
  return found({
    status: 'False',
    reason: 'ApiAddressHeldTwice',
    message: `${named([latest, ...others].map(({ name }) => name))} hold the address of the API at once: VRRP (protocol 112) does not pass between them. Look at their network, and at fairlead-keepalived there`,
    since: latest.since,
    calls: 'Degraded',
  });
};

import {
  addressesOf,
  NONE,
  refuse,
  type Cause,
  type ClusterName,
  type ClusterUid,
  type ConnectionName,
  type Fact,
  type NodeName,
  type OwnHost,
  type Refusal,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { sshServerId } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { assign } from './stock.planner.js';
import type {
  AcceptedHost,
  Booking,
  Candidates,
  Claim,
  DesiredBooking,
  GivenBack,
  Holding,
  LastUse,
  SeenHostKey,
  DesiredHost,
  Withheld,
} from './stock.ports.js';

/** The state of one connection's inventory, by host name. */
export interface Stocked {
  readonly held: ReadonlyMap<string, Holding>;
  readonly withheld: ReadonlyMap<string, Withheld>;
  /** API addresses, and the clusters that use them. */
  readonly addresses: ReadonlyMap<string, string>;
  /** By incarnation. */
  readonly bookings: ReadonlyMap<string, Booking>;
  /** Incarnations that can no longer allocate anything. */
  readonly closed: ReadonlySet<string>;
  /** The last user of a host, by host name. */
  readonly lastUses: ReadonlyMap<string, LastUse>;
  /** The first host key that each server presented, by its ID. */
  readonly pinned: ReadonlyMap<string, string>;
}

interface Taking {
  readonly claim: Claim;
  readonly desired: readonly DesiredHost[];
  readonly candidates: Candidates;
}

export type StockCommand =
  | Command<'LookAtStock', null>
  | Command<'TakeHosts', Taking>
  | Command<'BookHosts', Omit<Taking, 'desired'> & { readonly desired: DesiredBooking }>
  | Command<'ReleaseBooking', Pick<Claim, 'connection' | 'uid'>>
  | Command<'ReturnHost', GivenBack>
  | Command<'WithholdHost', GivenBack & { readonly cause: Cause }>
  | Command<'ReadmitHost', { readonly connection: ConnectionName; readonly host: string }>
  | Command<'AcceptHost', AcceptedHost>
  | Command<'PinHostKey', SeenHostKey>
  | Command<'TakeAddress', { readonly claim: Claim; readonly addresses: readonly string[] }>
  | Command<'ReturnAddress', Claim>
  | Command<'CloseStock', Claim>;

export type StockFact = Fact<
  | 'HostsTaken'
  | 'HostReturned'
  | 'HostWithheld'
  | 'HostReadmitted'
  | 'HostKeyPinned'
  | 'HostsBooked'
  | 'HostBookingEnded'
  | 'ApiAddressTaken'
  | 'ApiAddressReturned'
  | 'StockClosed'
>;

/** The inventory of a connection has a separate stream, because clusters share it. */
export const stockStream = (connection: ConnectionName): StreamId => ({
  namespace: NONE,
  cluster: NONE,
  context: `stock-${connection}`,
});

/** The hosts of an incarnation. */
export const holdingsOf = ({ held }: Stocked, uid: string): readonly Holding[] =>
  [...held.values()].filter((holding) => holding.uid === uid);

const shareAddress = (one: OwnHost, other: OwnHost): boolean =>
  addressesOf(one).some((address) => addressesOf(other).includes(address));

/** A host is identified by name; a renamed one has the same address, and is not free. */
const isFree = ({ held, withheld }: Stocked, own: OwnHost): boolean =>
  !held.has(own.name) &&
  !withheld.has(own.name) &&
  ![...held.values(), ...withheld.values()].some(({ host }) => shareAddress(host, own));

/**
 * Whether the host cannot contain remains of another namespace: it was never used, or only by the same incarnation of
 * the namespace.
 */
const isOwn = ({ lastUses }: Stocked, { namespace }: Claim, ownSince: number | null, host: OwnHost): boolean =>
  ownSince === null ||
  [...lastUses].every(
    ([name, last]) =>
      (name !== host.name && last.address !== host.address) ||
      (last.namespace === namespace && last.takenSeq > ownSince),
  );

/** A time (RFC 3339); null: it has no end. */
type Until = string | null;

interface Window {
  readonly from: string;
  readonly until: Until;
}

const overlaps = ({ from, until }: Window, { startsAt, endsAt }: Booking): boolean =>
  from < endsAt && (until === null || startsAt < until);

/** Hosts that are booked for others at some time of the window. */
const bookedBeside = ({ bookings }: Stocked, uid: ClusterUid, window: Window): ReadonlySet<string> =>
  new Set(
    [...bookings.values()]
      .filter((booking) => booking.uid !== uid && overlaps(window, booking))
      .flatMap(({ hosts }) => hosts),
  );

const detailOf = (state: Stocked, { hosts, unfit }: Candidates, booked: ReadonlySet<string>): string => {
  const inUse = hosts.filter((host) => state.held.has(host.name)).length;
  const beside = hosts.filter((host) => !state.held.has(host.name) && booked.has(host.name)).length;
  const kept = state.withheld.size;
  const [first] = unfit;
  const why = first === undefined ? '' : `, e.g. ${first}`;
  const reserved = beside === 0 ? '' : `${beside} booked for other clusters, `;
  return `${inUse} in use, ${reserved}${kept} kept out because they could not be reset, ${unfit.length} that do not answer or are unfit${why}`;
};

/** Those that are booked for it come first. */
const ownFirst = (hosts: readonly OwnHost[], booking: Booking | undefined): readonly OwnHost[] =>
  booking === undefined
    ? hosts
    : hosts.toSorted(
        (one, other) => Number(booking.hosts.includes(other.name)) - Number(booking.hosts.includes(one.name)),
      );

type Chosen = readonly { readonly machine: NodeName; readonly host: OwnHost }[];

/**
 * Chooses hosts for machines without one; refuses if there is not one for each. A cluster with a booking leaves when it
 * ends; any other has no end.
 */
export const choose = (state: Stocked, { claim, desired, candidates }: Taking): Chosen | Refusal => {
  const { connection, uid, namespace } = claim;
  if (state.closed.has(uid)) return refuse('stock.closed', { uid, connection });
  const has = new Set<string>(holdingsOf(state, uid).map(({ machine }) => machine));
  const missing = desired.filter(({ machine }) => !has.has(machine));
  const booking = state.bookings.get(uid);
  const booked = bookedBeside(state, uid, {
    from: candidates.now,
    until: booking?.endsAt ?? candidates.endsAt ?? null,
  });
  const free = ownFirst(
    candidates.hosts.filter((host) => isFree(state, host) && !booked.has(host.name)),
    booking,
  );
  const own = free.filter((host) => isOwn(state, claim, candidates.ownSince, host));
  const chosen = assign(missing, own);
  if (chosen.length === missing.length)
    return missing.flatMap(({ machine }) =>
      chosen.filter((choice) => choice.machine.machine === machine).map(({ host }) => ({ machine, host })),
    );
  const count = { connection, desired: missing.length, free: chosen.length };
  const others = assign(missing, free).length - chosen.length;
  return others > 0
    ? refuse('stock.other-namespace', { ...count, namespace, count: others })
    : refuse('stock.exhausted', { ...count, detail: detailOf(state, candidates, booked) });
};

/** Whether the host will be free from then on: its cluster has a booking that ends before, and is of the same namespace. */
const isFreeFrom = (state: Stocked, { uid, namespace }: Claim, candidates: Candidates, from: string) => {
  const isLeft = (holding: Holding): boolean => {
    if (holding.uid === uid) return true;
    const endsAt = state.bookings.get(holding.uid)?.endsAt;
    const isOurs = candidates.ownSince === null || holding.namespace === namespace;
    return endsAt !== undefined && endsAt <= from && isOurs;
  };
  return (host: OwnHost): boolean => {
    const isIt = (holding: Holding): boolean => holding.host.name === host.name || shareAddress(holding.host, host);
    return [...state.held.values()].filter(isIt).every(isLeft) && ![...state.withheld.values()].some(isIt);
  };
};

/** Hosts for a booking from then on; refuses if there is not one for each machine. */
const chooseBooked = (
  state: Stocked,
  { claim, candidates, desired: { endsAt, machines } }: Extract<StockCommand, { type: 'BookHosts' }>['data'],
  from: string,
): readonly string[] | Refusal => {
  const { connection, uid } = claim;
  const booked = bookedBeside(state, uid, { from, until: endsAt });
  const usable = candidates.hosts
    .filter(isFreeFrom(state, claim, candidates, from))
    .filter((host) => !booked.has(host.name) && isOwn(state, claim, candidates.ownSince, host));
  const desired = machines.flatMap(({ spec, count }, at) =>
    Array.from({ length: count }, (_, index): DesiredHost => {
      return { machine: `${at}-${index}` as NodeName, spec, zone: undefined };
    }),
  );
  const chosen = assign(desired, usable);
  if (chosen.length === desired.length) return chosen.map(({ host }) => host.name);
  const count = { connection, desired: desired.length, free: chosen.length };
  return refuse('stock.exhausted', { ...count, detail: detailOf(state, candidates, booked) });
};

/** The address of a cluster, or the first free one. */
export const chooseAddress = (
  { addresses: taken, closed }: Stocked,
  { connection, uid }: Claim,
  addresses: readonly string[],
): string | Refusal => {
  if (closed.has(uid)) return refuse('stock.closed', { uid, connection });
  const own = [...taken].find(([, holder]) => holder === uid)?.[0];
  const chosen = own ?? addresses.find((address) => !taken.has(address));
  return chosen ?? refuse('stock.api-address-taken', { connection, detail: addresses.join(', ') });
};

const place = ({ connection, uid, namespace, cluster }: Claim) => ({
  connection,
  uid,
  namespace,
  cluster: cluster as ClusterName,
});

/** What a cluster with a booking takes beyond it is booked for it, too. */
const bookedWith = (state: Stocked, claim: Claim, hosts: Chosen): readonly StockFact[] => {
  const booking = state.bookings.get(claim.uid);
  const more = hosts.flatMap(({ host: { name } }) => (booking?.hosts.includes(name) === false ? [name] : []));
  if (booking === undefined || more.length === 0) return nothing;
  const { startsAt, endsAt } = booking;
  const all = [...booking.hosts, ...more] as NodeName[];
  return [{ type: 'HostsBooked', data: { ...place(claim), startsAt, endsAt, hosts: all } }];
};

const take = (state: Stocked, taking: Taking): readonly StockFact[] | Refusal => {
  const { claim, candidates } = taking;
  const hosts = choose(state, taking);
  if (!('length' in hosts)) return hosts;
  if (hosts.length === 0) return nothing;
  const withBaselines = hosts.map((taken) => {
    const baseline = candidates.baselines.get(taken.host.name);
    return baseline === undefined ? taken : { ...taken, baseline };
  });
  return [{ type: 'HostsTaken', data: { ...place(claim), hosts: withBaselines } }, ...bookedWith(state, claim, hosts)];
};

const ENDS_BEFORE = 'it would end before it begins';

/** The hosts of a booking stay when its end changes. If others have booked one of them until then, the former end stays. */
const extend = (
  state: Stocked,
  claim: Claim,
  { startsAt, hosts, endsAt: before }: Booking,
  endsAt: string,
): readonly StockFact[] | Refusal => {
  if (endsAt === before) return nothing;
  const booked = bookedBeside(state, claim.uid, { from: startsAt, until: endsAt });
  const taken = hosts.filter((name) => booked.has(name));
  if (taken.length > 0)
    return refuse('stock.booked', { connection: claim.connection, hosts: taken.join(', '), endsAt });
  return [{ type: 'HostsBooked', data: { ...place(claim), startsAt, endsAt, hosts: [...hosts] as NodeName[] } }];
};

const book = (
  state: Stocked,
  data: Extract<StockCommand, { type: 'BookHosts' }>['data'],
): readonly StockFact[] | Refusal => {
  const { claim, desired, candidates } = data;
  const { now } = candidates;
  const { connection, uid } = claim;
  const { endsAt } = desired;
  if (state.closed.has(uid)) return refuse('stock.closed', { uid, connection });
  const booking = state.bookings.get(uid);
  const startsAt = booking?.startsAt ?? desired.startsAt ?? now;
  if (endsAt <= startsAt || endsAt <= now)
    return refuse('stock.booking-over', { connection, endsAt, detail: ENDS_BEFORE });
  if (booking !== undefined) return extend(state, claim, booking, endsAt);
  const hosts = chooseBooked(state, data, startsAt < now ? now : startsAt);
  if (!('length' in hosts)) return hosts;
  return [{ type: 'HostsBooked', data: { ...place(claim), startsAt, endsAt, hosts: [...hosts] as NodeName[] } }];
};

/** Like the end of a cluster, whose hosts are returned before. */
const release = (
  { bookings, closed }: Stocked,
  { connection, uid }: Pick<Claim, 'connection' | 'uid'>,
): readonly StockFact[] => [
  ...(bookings.has(uid) ? [{ type: 'HostBookingEnded', data: { connection, uid } } as const] : []),
  ...(closed.has(uid) ? [] : [{ type: 'StockClosed', data: { connection, uid } } as const]),
];

const takeAddress = (
  state: Stocked,
  { claim, addresses }: Extract<StockCommand, { type: 'TakeAddress' }>['data'],
): readonly StockFact[] | Refusal => {
  const address = chooseAddress(state, claim, addresses);
  if (typeof address !== 'string') return address;
  if (state.addresses.get(address) === claim.uid) return nothing;
  return [{ type: 'ApiAddressTaken', data: { ...place(claim), address } }];
};

/** Only the machine that has the host can release it: a late repetition must not take it from its next user. */
const isHeld = ({ held }: Stocked, { uid, machine, host }: GivenBack): boolean => {
  const holding = held.get(host);
  return holding !== undefined && holding.uid === uid && holding.machine === machine;
};

const without = <Value>(map: ReadonlyMap<string, Value>, key: string): ReadonlyMap<string, Value> =>
  new Map([...map].filter(([name]) => name !== key));

/**
 * A host that was not reset may still hold the address, or will when it is back: the address is free only after all of
 * them.
 */
const addressesBack = (
  { addresses, held, withheld }: Stocked,
  connection: ConnectionName,
  uid: ClusterUid,
): readonly StockFact[] => {
  if ([...held.values(), ...withheld.values()].some((holding) => holding.uid === uid)) return nothing;
  return [...addresses]
    .filter(([, holder]) => holder === uid)
    .map(([address]) => ({ type: 'ApiAddressReturned', data: { connection, uid, address } }));
};

const readmit = (state: Stocked, connection: ConnectionName, host: string, accepted: boolean): readonly StockFact[] => {
  const data = { connection, host: host as NodeName, ...(accepted ? { accepted } : {}) };
  const kept = state.withheld.get(host);
  const after = { ...state, withheld: without(state.withheld, host) };
  return [
    { type: 'HostReadmitted', data },
    ...(kept !== undefined && state.closed.has(kept.uid) ? addressesBack(after, connection, kept.uid) : []),
  ];
};

/** Accepts the host under every name under which it was used before. Later uses are not accepted. */
const accept = (state: Stocked, { connection, host, address, asOf }: AcceptedHost): readonly StockFact[] => {
  if (state.held.has(host)) return nothing;
  const names = [...state.lastUses]
    .filter(([name, last]) => (name === host || last.address === address) && last.endedSeq < asOf)
    .map(([name]) => name);
  return names.flatMap((name) => readmit(state, connection, name, true));
};

const pin = ({ pinned }: Stocked, { connection, host, address, hostKey }: SeenHostKey): readonly StockFact[] =>
  pinned.has(sshServerId({ host, address }))
    ? nothing
    : [{ type: 'HostKeyPinned', data: { connection, host: host as NodeName | null, address, hostKey } }];

const decide = (state: Stocked, command: StockCommand): readonly StockFact[] | Refusal => {
  switch (command.type) {
    case 'LookAtStock':
      return nothing;
    case 'TakeHosts':
      return take(state, command.data);
    case 'BookHosts':
      return book(state, command.data);
    case 'ReleaseBooking':
      return release(state, command.data);
    case 'ReturnHost': {
      const { connection, uid, machine, host } = command.data;
      if (!isHeld(state, command.data)) return nothing;
      return [{ type: 'HostReturned', data: { connection, uid, machine, host: host as NodeName } }];
    }
    case 'WithholdHost': {
      const { connection, uid, machine, host, cause } = command.data;
      if (!isHeld(state, command.data)) return nothing;
      return [{ type: 'HostWithheld', data: { connection, uid, machine, host: host as NodeName, cause } }];
    }
    case 'ReadmitHost': {
      const { connection, host } = command.data;
      return state.withheld.has(host) ? readmit(state, connection, host, false) : nothing;
    }
    case 'AcceptHost':
      return accept(state, command.data);
    case 'PinHostKey':
      return pin(state, command.data);
    case 'TakeAddress':
      return takeAddress(state, command.data);
    case 'ReturnAddress': {
      const { connection, uid } = command.data;
      return addressesBack(state, connection, uid);
    }
    case 'CloseStock': {
      const { connection, uid } = command.data;
      return state.closed.has(uid) ? nothing : [{ type: 'StockClosed', data: { connection, uid } }];
    }
  }
};

const taken = (state: Stocked, { data, meta }: StoredEvent<'HostsTaken'>): Stocked => {
  const { uid, namespace, cluster } = data;
  const holdings = data.hosts.map(({ machine, host, baseline = null }): [string, Holding] => [
    host.name,
    { uid, namespace, cluster, machine, host, takenSeq: meta.seq, baseline },
  ]);
  return { ...state, held: new Map([...state.held, ...holdings]) };
};

/** The host is free; its last namespace is kept. */
const ended = (state: Stocked, host: string, endedSeq: number): Stocked => {
  const holding = state.held.get(host);
  if (holding === undefined) return state;
  const { namespace, takenSeq, host: own } = holding;
  const last = { namespace, takenSeq, address: own.address, endedSeq };
  return { ...state, held: without(state.held, host), lastUses: new Map(state.lastUses).set(host, last) };
};

const withheld = (state: Stocked, { data: { host, cause }, meta }: StoredEvent<'HostWithheld'>): Stocked => {
  const holding = state.held.get(host);
  if (holding === undefined) return state;
  const after = ended(state, host, meta.seq);
  return { ...after, withheld: new Map(state.withheld).set(host, { ...holding, cause }) };
};

const readmitted = (state: Stocked, { data: { host, accepted } }: StoredEvent<'HostReadmitted'>): Stocked => ({
  ...state,
  withheld: without(state.withheld, host),
  lastUses: accepted === true ? without(state.lastUses, host) : state.lastUses,
});

const keyPinned = (state: Stocked, { data: { host, address, hostKey } }: StoredEvent<'HostKeyPinned'>): Stocked => ({
  ...state,
  pinned: new Map(state.pinned).set(sshServerId({ host, address }), hostKey),
});

/**
 * The inventory of one connection. Its hosts are part of each command, because they belong to the connection's
 * settings, which can change.
 */
export const stock: Decider<Stocked, StockCommand, StockFact> = {
  initial: {
    held: new Map(),
    withheld: new Map(),
    addresses: new Map(),
    bookings: new Map(),
    closed: new Set(),
    lastUses: new Map(),
    pinned: new Map(),
  },
  decide,
  evolve: (state, event) => {
    switch (event.type) {
      case 'HostsTaken':
        return taken(state, event);
      case 'HostReturned':
        return ended(state, event.data.host, event.meta.seq);
      case 'HostWithheld':
        return withheld(state, event);
      case 'HostReadmitted':
        return readmitted(state, event);
      case 'HostKeyPinned':
        return keyPinned(state, event);
      case 'HostsBooked': {
        const { uid, startsAt, endsAt, hosts } = event.data;
        return { ...state, bookings: new Map(state.bookings).set(uid, { uid, startsAt, endsAt, hosts }) };
      }
      case 'HostBookingEnded':
        return { ...state, bookings: without(state.bookings, event.data.uid) };
      case 'ApiAddressTaken':
        return { ...state, addresses: new Map(state.addresses).set(event.data.address, event.data.uid) };
      case 'ApiAddressReturned':
        return { ...state, addresses: without(state.addresses, event.data.address) };
      case 'StockClosed':
        return { ...state, closed: new Set([...state.closed, event.data.uid]) };
      default:
        return state;
    }
  },
};

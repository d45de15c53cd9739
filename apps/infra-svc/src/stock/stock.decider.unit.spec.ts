import { isRefusal, type Namespace, type NodeName } from '@fairlead/contracts';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { LATER_UID, UID } from '../../test/fixtures.js';
import { stock, stockStream, type StockCommand, type StockFact } from './stock.decider.js';
import { candidates, claimOf, ownHost, ownHosts, SITE, desiredHost } from './stock.fixtures.js';
import type { Candidates, DesiredHost } from './stock.ports.js';

const { given } = specification(stock);

const demo = claimOf(UID);
const other = claimOf(LATER_UID, 'other');
const cause = { operation: 'reset the host', target: 'rack-1', message: 'it does not answer' };

const take = (desired: readonly DesiredHost[], from: Candidates, claim = demo): StockCommand => ({
  type: 'TakeHosts',
  data: { claim, desired, candidates: from },
});

const taken = (...pairs: readonly (readonly [machine: string, host: number])[]): StockFact => ({
  type: 'HostsTaken',
  data: {
    ...demo,
    cluster: 'demo' as never,
    hosts: pairs.map(([machine, host]) => ({ machine: machine as NodeName, host: ownHost(host) })),
  },
});

const back = (machine: string, host: string, uid = UID) => ({
  connection: SITE,
  uid,
  machine: machine as NodeName,
  host,
});
const returned = (machine: string, host: string): StockFact => ({
  type: 'HostReturned',
  data: { connection: SITE, uid: UID, machine: machine as NodeName, host: host as NodeName },
});
const withheld: StockFact = {
  type: 'HostWithheld',
  data: { connection: SITE, uid: UID, machine: 'a' as NodeName, host: 'rack-1' as NodeName, cause },
};

describe('the inventory', () => {
  it('allocates a host to each machine', () => {
    given()
      .when(take([desiredHost('a'), desiredHost('b')], candidates(ownHosts(3))))
      .then(taken(['a', 1], ['b', 2]));
  });

  it('allocates nothing if it does not have enough for all, and reports how many it has', () => {
    given(taken(['a', 1]))
      .when(
        take(
          [desiredHost('x'), desiredHost('y')],
          candidates(ownHosts(2), ['rack-9: its clock is 36 h behind']),
          other,
        ),
      )
      .thenRefused('stock.exhausted');
    const state = stock.evolve(stock.initial, stored(taken(['a', 1]), 1));
    const refusal = stock.decide(
      state,
      take([desiredHost('x'), desiredHost('y')], candidates(ownHosts(2), ['rack-9: its clock is 36 h behind']), other),
    );
    expect(isRefusal(refusal) && refusal.message).toBe(
      'Connection site has 1 free hosts that fit, but 2 are requested (1 in use, 0 kept out because they could not be reset, 1 that do not answer or are unfit, e.g. rack-9: its clock is 36 h behind)',
    );
  });

  it('allocates only one host per machine, however often it is requested', () => {
    given(taken(['a', 1], ['b', 2]))
      .when(take([desiredHost('a'), desiredHost('b')], candidates(ownHosts(3))))
      .thenNothing();
    given(taken(['a', 1]))
      .when(take([desiredHost('a'), desiredHost('b')], candidates(ownHosts(3))))
      .then(taken(['b', 2]));
  });

  it('allocates a host to one cluster only, even if the host was renamed', () => {
    given(taken(['a', 1]))
      .when(take([desiredHost('x')], candidates([ownHost(1)]), other))
      .thenRefused('stock.exhausted');
    const renamed = { ...ownHost(1), name: 'rack-one' as NodeName };
    given(taken(['a', 1]))
      .when(take([desiredHost('x')], candidates([renamed]), other))
      .thenRefused('stock.exhausted');
  });

  it('allocates a host again after its release, and not while it is quarantined', () => {
    given(taken(['a', 1]), returned('a', 'rack-1'))
      .when(take([desiredHost('b')], candidates([ownHost(1)])))
      .then(taken(['b', 1]));
    given(taken(['a', 1]), withheld)
      .when(take([desiredHost('b')], candidates([ownHost(1)])))
      .thenRefused('stock.exhausted');
    given(taken(['a', 1]), withheld, { type: 'HostReadmitted', data: { connection: SITE, host: 'rack-1' as NodeName } })
      .when(take([desiredHost('b')], candidates([ownHost(1)])))
      .then(taken(['b', 1]));
  });

  it('accepts the release of a host only from the machine that has it', () => {
    given(taken(['a', 1]))
      .when({ type: 'ReturnHost', data: back('a', 'rack-1') })
      .then(returned('a', 'rack-1'));
    given(taken(['a', 1]), returned('a', 'rack-1'), taken(['b', 1]))
      .when({ type: 'ReturnHost', data: back('a', 'rack-1') })
      .thenNothing();
    given(taken(['a', 1]))
      .when({ type: 'ReturnHost', data: back('a', 'rack-1', LATER_UID) })
      .thenNothing();
    given(taken(['a', 1]), returned('a', 'rack-1'))
      .when({ type: 'WithholdHost', data: { ...back('a', 'rack-1'), cause } })
      .thenNothing();
  });

  it('quarantines a host that could not be reset, with the reason', () => {
    given(taken(['a', 1]))
      .when({ type: 'WithholdHost', data: { ...back('a', 'rack-1'), cause } })
      .then(withheld);
    given(taken(['a', 1]), withheld)
      .when({ type: 'ReadmitHost', data: { connection: SITE, host: 'rack-1' } })
      .then({ type: 'HostReadmitted', data: { connection: SITE, host: 'rack-1' as NodeName } });
    given(taken(['a', 1]))
      .when({ type: 'ReadmitHost', data: { connection: SITE, host: 'rack-1' } })
      .thenNothing();
  });

  it('allocates nothing more to a cluster that has released everything, however late its request', () => {
    const closed: StockFact = { type: 'StockClosed', data: { connection: SITE, uid: UID } };
    given().when({ type: 'CloseStock', data: demo }).then(closed);
    given(closed).when({ type: 'CloseStock', data: demo }).thenNothing();
    given(closed)
      .when(take([desiredHost('a')], candidates(ownHosts(3))))
      .thenRefused('stock.closed');
    given(closed)
      .when({ type: 'TakeAddress', data: { claim: demo, addresses: ['198.51.100.200'] } })
      .thenRefused('stock.closed');
  });

  describe('between namespaces', () => {
    const foreign = { ...other, namespace: 'team-b' as Namespace };
    const accept = (asOf: number): StockCommand => ({
      type: 'AcceptHost',
      data: { connection: SITE, host: 'rack-1', address: '198.51.100.1', asOf },
    });
    const accepted: StockFact = {
      type: 'HostReadmitted',
      data: { connection: SITE, host: 'rack-1' as NodeName, accepted: true },
    };

    it('allocates a host to its last namespace, and to another only if the connection allows that', () => {
      const before = [taken(['a', 1]), returned('a', 'rack-1')];
      given(...before)
        .when(take([desiredHost('x')], candidates([ownHost(1)]), foreign))
        .thenRefused('stock.other-namespace');
      given(...before)
        .when(take([desiredHost('x')], candidates([ownHost(1)], [], { ownSince: null }), foreign))
        .then({
          type: 'HostsTaken',
          data: { ...foreign, cluster: 'other' as never, hosts: [{ machine: 'x' as NodeName, host: ownHost(1) }] },
        });
    });

    it('treats a later namespace of the same name as a different one', () => {
      given(taken(['a', 1]), returned('a', 'rack-1'))
        .when(take([desiredHost('b')], candidates([ownHost(1)], [], { ownSince: 2 })))
        .thenRefused('stock.other-namespace');
    });

    it('reports too few hosts if hosts of others would not help', () => {
      given(taken(['a', 1]))
        .when(take([desiredHost('x')], candidates([ownHost(1)]), foreign))
        .thenRefused('stock.exhausted');
    });

    it('releases an accepted host, unless it was used since, or is in use', () => {
      given(taken(['a', 1]), returned('a', 'rack-1'))
        .when(accept(3))
        .then(accepted);
      given(taken(['a', 1]), returned('a', 'rack-1'))
        .when(accept(2))
        .thenNothing();
      given(taken(['a', 1]))
        .when(accept(3))
        .thenNothing();
      given(taken(['a', 1]), withheld)
        .when(accept(3))
        .then(accepted);
      given(taken(['a', 1]), returned('a', 'rack-1'), accepted)
        .when(take([desiredHost('x')], candidates([ownHost(1)]), foreign))
        .then({
          type: 'HostsTaken',
          data: { ...foreign, cluster: 'other' as never, hosts: [{ machine: 'x' as NodeName, host: ownHost(1) }] },
        });
    });
  });

  it('pins the first host key that a server presents, and never another one', () => {
    const seen = (letter: string) => ({
      connection: SITE,
      host: 'rack-1' as NodeName,
      address: '198.51.100.1:22',
      hostKey: `SHA256:${letter.repeat(43)}`,
    });
    const pinned: StockFact = { type: 'HostKeyPinned', data: seen('A') };
    given()
      .when({ type: 'PinHostKey', data: seen('A') })
      .then(pinned);
    given(pinned)
      .when({ type: 'PinHostKey', data: { ...seen('B'), address: '198.51.100.9:22' } })
      .thenNothing();
    given(pinned)
      .when({ type: 'PinHostKey', data: { ...seen('B'), host: null } })
      .then({ type: 'HostKeyPinned', data: { ...seen('B'), host: null } });
  });

  it('has one stream per connection', () => {
    expect(stockStream(SITE)).toEqual({ namespace: '_', cluster: '_', context: 'stock-site' });
  });
});

describe('the choice of a host', () => {
  const hostsOf = (desired: readonly DesiredHost[], hosts: Candidates): Readonly<Record<string, string>> => {
    const facts = stock.decide(stock.initial, take(desired, hosts));
    if (isRefusal(facts)) throw new Error(facts.message);
    return Object.fromEntries(
      facts.flatMap((fact) =>
        fact.type === 'HostsTaken' ? fact.data.hosts.map(({ machine, host }) => [machine, host.name] as const) : [],
      ),
    );
  };

  it('matches the requested size, and keeps special hosts for requests of their size', () => {
    const hosts = candidates([ownHost(1, { spec: 'big' }), ownHost(2), ownHost(3)]);
    expect(hostsOf([desiredHost('a'), desiredHost('b', { spec: 'big' })], hosts)).toEqual({ a: 'rack-2', b: 'rack-1' });
  });

  it('prefers the requested zone, but uses another one if necessary', () => {
    const hosts = candidates([ownHost(1, { zone: 'x' }), ownHost(2, { zone: 'x' }), ownHost(3, { zone: 'y' })]);
    const desired = [desiredHost('a', { zone: 'y' }), desiredHost('b', { zone: 'x' }), desiredHost('c', { zone: 'y' })];
    expect(hostsOf(desired, hosts)).toEqual({ a: 'rack-3', b: 'rack-1', c: 'rack-2' });
  });

  it('is possible whenever there is one for each, even if the first choice was the only one for another', () => {
    const hosts = candidates([ownHost(1, { spec: 'big' }), ownHost(2, { spec: 'fast' })]);
    expect(hostsOf([desiredHost('any'), desiredHost('big', { spec: 'big' })], hosts)).toEqual({
      any: 'rack-2',
      big: 'rack-1',
    });
  });
});

describe('an address for the API', () => {
  const addresses = ['198.51.100.200', '198.51.100.201'];
  const has = (address: string): StockFact => ({
    type: 'ApiAddressTaken',
    data: { ...demo, cluster: 'demo' as never, address },
  });
  const ask = (claim = demo): StockCommand => ({ type: 'TakeAddress', data: { claim, addresses } });

  it('belongs to one cluster until it is released', () => {
    given().when(ask()).then(has('198.51.100.200'));
    given(has('198.51.100.200')).when(ask()).thenNothing();
    given(has('198.51.100.200'))
      .when(ask(other))
      .then({ type: 'ApiAddressTaken', data: { ...other, cluster: 'other' as never, address: '198.51.100.201' } });
    given(has('198.51.100.200'), has('198.51.100.201')).when(ask(other)).thenRefused('stock.api-address-taken');
    given(has('198.51.100.200'))
      .when({ type: 'ReturnAddress', data: demo })
      .then({ type: 'ApiAddressReturned', data: { connection: SITE, uid: UID, address: '198.51.100.200' } });
    given().when({ type: 'ReturnAddress', data: demo }).thenNothing();
  });
});

describe('bookings of an inventory', () => {
  const [MONDAY, TUESDAY, WEDNESDAY, THURSDAY] = [1, 2, 3, 4].map((day) => `2026-12-0${day}T08:00:00.000Z`) as [
    string,
    string,
    string,
    string,
  ];
  const three = (now = MONDAY, more: Partial<Candidates> = {}): Candidates =>
    candidates(ownHosts(3), [], { now, ...more });
  const book = (
    claim: typeof demo,
    { from, until, count = 2, now = MONDAY }: { from: string | null; until: string; count?: number; now?: string },
  ): StockCommand => ({
    type: 'BookHosts',
    data: {
      claim,
      desired: { startsAt: from, endsAt: until, machines: [{ spec: 'ssh.any', count }] },
      candidates: three(now),
    },
  });
  const booked = (claim: typeof demo, startsAt: string, endsAt: string, ...hosts: readonly number[]): StockFact => ({
    type: 'HostsBooked',
    data: {
      ...claim,
      cluster: claim.cluster as never,
      ...{ startsAt, endsAt, hosts: hosts.map((number) => `rack-${number}` as NodeName) },
    },
  });

  it('are made for hosts that no other cluster has at any time until the end', () => {
    given()
      .when(book(demo, { from: null, until: TUESDAY }))
      .then(booked(demo, MONDAY, TUESDAY, 1, 2));
    const first = booked(demo, TUESDAY, THURSDAY, 1, 2);
    given(first)
      .when(book(other, { from: WEDNESDAY, until: THURSDAY, count: 1 }))
      .then(booked(other, WEDNESDAY, THURSDAY, 3));
    given(first)
      .when(book(other, { from: MONDAY, until: TUESDAY }))
      .then(booked(other, MONDAY, TUESDAY, 1, 2));
    given(first)
      .when(book(other, { from: MONDAY, until: WEDNESDAY }))
      .thenRefused('stock.exhausted');
  });

  it('are made of hosts in use only if their cluster has a booking that ends before', () => {
    given(taken(['a', 1], ['b', 2]))
      .when(book(other, { from: WEDNESDAY, until: THURSDAY }))
      .thenRefused('stock.exhausted');
    given(booked(demo, MONDAY, WEDNESDAY, 1, 2), taken(['a', 1], ['b', 2]))
      .when(book(other, { from: WEDNESDAY, until: THURSDAY, count: 3 }))
      .then(booked(other, WEDNESDAY, THURSDAY, 1, 2, 3));
  });

  it('keep their hosts from clusters that would still have them when they begin', () => {
    const later = booked(other, TUESDAY, THURSDAY, 1, 2);
    const names = [desiredHost('a'), desiredHost('b')];
    given(later).when(take(names, three())).thenRefused('stock.exhausted');
    given(later)
      .when(take([desiredHost('a')], three()))
      .then(taken(['a', 3]));
    given(later, booked(demo, MONDAY, TUESDAY, 1, 3))
      .when(take(names, three()))
      .then(taken(['a', 1], ['b', 3]));
    const refusal = stock.decide(stock.evolve(stock.initial, stored(later, 1)), take(names, three()));
    expect(isRefusal(refusal) && refusal.message).toContain('(0 in use, 2 booked for other clusters, 0 kept out');
  });

  it('give their cluster the hosts that are booked for it, and grow with it', () => {
    const own = booked(demo, MONDAY, TUESDAY, 2);
    given(own)
      .when(take([desiredHost('a')], three()))
      .then(taken(['a', 2]));
    given(own, taken(['a', 2]))
      .when(take([desiredHost('a'), desiredHost('b')], three()))
      .then(taken(['b', 1]), booked(demo, MONDAY, TUESDAY, 2, 1));
    given(own, taken(['a', 2]), booked(other, MONDAY, THURSDAY, 1, 3))
      .when(take([desiredHost('a'), desiredHost('b')], three()))
      .thenRefused('stock.exhausted');
  });

  it('end later if no other cluster has booked one of their hosts until then, those of a grown pool included; otherwise the former end stays [azimuth 13]', () => {
    const own = [booked(demo, MONDAY, TUESDAY, 2), taken(['a', 2], ['b', 1]), booked(demo, MONDAY, TUESDAY, 2, 1)];
    given(...own)
      .when(book(demo, { from: null, until: WEDNESDAY }))
      .then(booked(demo, MONDAY, WEDNESDAY, 2, 1));
    given(...own, booked(other, WEDNESDAY, THURSDAY, 1))
      .when(book(demo, { from: null, until: WEDNESDAY }))
      .then(booked(demo, MONDAY, WEDNESDAY, 2, 1));
    given(...own, booked(other, WEDNESDAY, THURSDAY, 1))
      .when(book(demo, { from: null, until: THURSDAY }))
      .thenRefused('stock.booked');
    given(...own)
      .when(book(demo, { from: null, until: TUESDAY }))
      .thenNothing();
  });

  it('cannot end before they begin, or in the past', () => {
    given()
      .when(book(demo, { from: WEDNESDAY, until: TUESDAY }))
      .thenRefused('stock.booking-over');
    given()
      .when(book(demo, { from: null, until: TUESDAY, now: WEDNESDAY }))
      .thenRefused('stock.booking-over');
  });

  it('are released once, and never made again for that incarnation, however late it asks', () => {
    const release: StockCommand = { type: 'ReleaseBooking', data: { connection: SITE, uid: UID } };
    const ended: StockFact = { type: 'HostBookingEnded', data: { connection: SITE, uid: UID } };
    const closed: StockFact = { type: 'StockClosed', data: { connection: SITE, uid: UID } };
    given(booked(demo, MONDAY, TUESDAY, 1))
      .when(release)
      .then(ended, closed);
    given(booked(demo, MONDAY, TUESDAY, 1), closed)
      .when(release)
      .then(ended);
    given().when(release).then(closed);
    given(booked(demo, MONDAY, TUESDAY, 1), ended, closed)
      .when(release)
      .thenNothing();
    given(closed)
      .when(book(demo, { from: null, until: TUESDAY }))
      .thenRefused('stock.closed');
    given(booked(demo, MONDAY, THURSDAY, 1, 2), ended, closed)
      .when(book(other, { from: null, until: TUESDAY, count: 3 }))
      .then(booked(other, MONDAY, TUESDAY, 1, 2, 3));
  });
});

import {
  isRefusal,
  type ClusterLease,
  type ClusterUid,
  type ConnectionName,
  type Fact,
  type StoredEvent,
} from '@fairlead/contracts';
import { toClusterSpec } from '@fairlead/domain';
import { declaredOf } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { goodRequest } from './clusters.fixtures.js';
import { clusters } from './clusters.decider.js';
import { lifetimeReconciler, type EndOfLifetime } from './lifetime.reconciler.js';

const uid = '00000000-0000-4000-8000-000000000001' as ClusterUid;
const BEGIN = '2026-01-01T00:00:00.000Z';
const hours = (count: number): string => new Date(Date.parse(BEGIN) + count * 3_600_000).toISOString();
const lease = (changes: Partial<ClusterLease> = {}): ClusterLease => ({
  endsAt: hours(100),
  gracePeriod: '1h',
  warnings: ['24h', '2h'],
  reservation: 'IfSupported',
  ...changes,
});
const spec = { ...toClusterSpec(goodRequest), lease: lease() };
const requested: Fact = { type: 'ClusterRequested', data: { uid, spec, requestHash: 'hash' } };
const declare = (of: ClusterLease | undefined): Fact => {
  const { lease: _former, ...others } = declaredOf(spec);
  return {
    type: 'ClusterSpecChanged',
    data: { uid, revision: 2, spec: { ...others, ...(of === undefined ? {} : { lease: of }) } },
  };
};
const lab = 'lab' as ConnectionName;
const confirmed = (endsAt: string): Fact => ({
  type: 'ReservationConfirmed',
  data: { uid, connection: lab, startsAt: null, endsAt, machines: [{ spec: 'lab.medium', count: 1 }] },
});
const denied = (endsAt: string, until: string): Fact => ({
  type: 'ReservationDenied',
  data: {
    uid,
    connection: lab,
    endsAt,
    until,
    cause: { operation: 'reserve machines', target: 'lab', message: 'not enough capacity' },
  },
});
const pause: Fact = { type: 'ClusterPaused', data: { uid, reason: '' } };
const resume: Fact = { type: 'ClusterResumed', data: { uid, reason: '' } };

/** The reconciler and the decider of the gateway, over a log and a clock that a spec moves. */
class Gateway {
  readonly log: StoredEvent[] = [];
  /** How often it was woken up. */
  wakes = 0;
  private known = lifetimeReconciler.decider.initial;
  private wakeAt: string | null = null;
  private now = BEGIN;

  say(fact: Fact): this {
    const event = stored(fact, this.log.length + 1);
    const at = { ...event, meta: { ...event.meta, time: this.now } } as StoredEvent;
    this.log.push(at);
    this.known = lifetimeReconciler.decider.evolve(this.known, at);
    this.wakeAt = lifetimeReconciler.wakeAt?.(this.known, this.now) ?? null;
    return this;
  }

  /** Everything that is due until then happens in its turn, or, after an outage, all at once at its end. */
  until(time: string, { isAway = false } = {}): this {
    if (isAway) this.now = time;
    this.work();
    while (this.wakeAt !== null && this.wakeAt <= time) {
      if (this.wakeAt > this.now) this.now = this.wakeAt;
      this.wakeAt = null;
      this.wakes += 1;
      this.work();
    }
    this.now = time;
    return this;
  }

  private work(): void {
    for (const { data } of lifetimeReconciler.tasks(this.known, this.now)) this.end(data as EndOfLifetime);
    expect(lifetimeReconciler.tasks(this.known, this.now)).toEqual([]);
  }

  /** A task may run twice. */
  private end({ uid: of }: EndOfLifetime): void {
    for (const _run of [1, 2]) {
      const state = this.log.reduce(clusters.evolve, clusters.initial);
      const data = { namespace: 'default', cluster: 'demo', uid: of, now: this.now };
      const facts = clusters.decide(state, { type: 'EndLifetime', data });
      if (isRefusal(facts)) throw new Error(facts.message);
      for (const fact of facts) this.say(fact as Fact);
    }
  }

  /** What it decided: the warnings, and the deletion with its end. */
  get decided(): readonly (readonly [time: string, what: string, endsAt: string])[] {
    return this.log.flatMap(({ type, data, meta }) => {
      if (type === 'ClusterExpiring') return [[meta.time, data.warning, data.endsAt] as const];
      return type === 'ClusterDeletionRequested' ? [[meta.time, 'deletion', data.lease?.endsAt ?? ''] as const] : [];
    });
  }
}

const END = hours(100);

describe('the end of a cluster', () => {
  it('is warned of at each of the times, once, and its deletion begins by the grace period before it [azimuth 12, azimuth 14]', () => {
    const gateway = new Gateway().say(requested).until(hours(200));
    expect(gateway.decided).toEqual([
      [hours(76), '24h', END],
      [hours(98), '2h', END],
      [hours(99), 'deletion', END],
    ]);
    expect(gateway.wakes).toBe(3);
  });

  it('is nothing that a cluster without one is ever woken up for [azimuth 11]', () => {
    const { lease: _none, ...endless } = spec;
    const gateway = new Gateway()
      .say({ type: 'ClusterRequested', data: { uid, spec: endless, requestHash: 'hash' } })
      .say(declare(undefined))
      .say(pause)
      .say(resume)
      .until(hours(10_000));
    expect([gateway.wakes, gateway.decided]).toEqual([0, []]);
    const { initial, evolve } = lifetimeReconciler.decider;
    expect(evolve(initial, gateway.log[0]!)).toBe(initial);
  });

  it('is warned of afterwards, once each, when the gateway was away at the time [azimuth 14]', () => {
    const gateway = new Gateway().say(requested).until(hours(98.5), { isAway: true }).until(hours(98.9));
    expect(gateway.decided).toEqual([
      [hours(98.5), '24h', END],
      [hours(98.5), '2h', END],
    ]);
  });

  it('has no more warnings once its deletion is due', () => {
    const gateway = new Gateway().say(requested).until(hours(150), { isAway: true });
    expect(gateway.decided).toEqual([[hours(150), 'deletion', END]]);
  });

  it('that was declared when a time for a warning was over has no such warning', () => {
    const soon = { ...spec, lease: lease({ endsAt: hours(3) }) };
    const gateway = new Gateway()
      .say({ type: 'ClusterRequested', data: { uid, spec: soon, requestHash: 'hash' } })
      .until(hours(5));
    expect(gateway.decided.map(([, what]) => what)).toEqual(['2h', 'deletion']);
  });

  it('that is moved has its own warnings, and the former end has no effect [azimuth 13]', () => {
    const gateway = new Gateway()
      .say(requested)
      .until(hours(80))
      .say(declare(lease({ endsAt: hours(200) })));
    expect(gateway.until(hours(300)).decided).toEqual([
      [hours(76), '24h', END],
      [hours(176), '24h', hours(200)],
      [hours(198), '2h', hours(200)],
      [hours(199), 'deletion', hours(200)],
    ]);
  });

  it('is the one that the provider has confirmed until it confirms the one that is declared [azimuth 13]', () => {
    const asking = () =>
      new Gateway()
        .say(requested)
        .say(confirmed(END))
        .say(declare(lease({ endsAt: hours(200) })));
    expect(asking().until(hours(300)).decided.at(-1)).toEqual([hours(99), 'deletion', END]);
    const extended = asking()
      .until(hours(50))
      .say(confirmed(hours(200)));
    expect(extended.until(hours(300)).decided.at(-1)).toEqual([hours(199), 'deletion', hours(200)]);
    const refused = asking()
      .until(hours(50))
      .say(denied(hours(200), END));
    expect(refused.until(hours(300)).decided).toEqual([
      [hours(76), '24h', END],
      [hours(98), '2h', END],
      [hours(99), 'deletion', END],
    ]);
  });

  it('is earlier at once where an earlier one is declared', () => {
    const gateway = new Gateway()
      .say(requested)
      .say(confirmed(END))
      .say(declare(lease({ endsAt: hours(10) })));
    expect(gateway.until(hours(300)).decided.at(-1)).toEqual([hours(9), 'deletion', hours(10)]);
  });

  it('that is no longer declared does not exist', () => {
    const gateway = new Gateway().say(requested).say(declare(undefined)).until(hours(300));
    expect(gateway.decided).toEqual([]);
  });

  it('is warned of in a pause, which holds the deletion until it ends [azimuth 25]', () => {
    const gateway = new Gateway().say(requested).say(pause).until(hours(150));
    expect(gateway.decided.map(([, what]) => what)).toEqual(['24h', '2h']);
    gateway.say(resume).until(hours(151));
    expect(gateway.decided.at(-1)).toEqual([hours(150), 'deletion', END]);
  });

  it('that is over in a pause may be moved with the resumption, and nothing is deleted', () => {
    const gateway = new Gateway().say(requested).say(pause).until(hours(150));
    gateway
      .say(resume)
      .say(declare(lease({ endsAt: hours(200) })))
      .until(hours(151));
    expect(gateway.decided.map(([, what]) => what)).not.toContain('deletion');
  });

  it('means nothing to a cluster that is being deleted, or to the next one of its name', () => {
    const deletion: Fact = { type: 'ClusterDeletionRequested', data: { uid } };
    const gateway = new Gateway().say(requested).say(deletion).until(hours(300));
    expect(gateway.decided).toHaveLength(1);
    const other = '00000000-0000-4000-8000-000000000002' as ClusterUid;
    const { lease: _none, ...endless } = spec;
    const next = new Gateway()
      .say(requested)
      .say(deletion)
      .say({ type: 'ClusterDeleted', data: { uid } })
      .say({ type: 'ClusterRequested', data: { uid: other, spec: endless, requestHash: 'hash' } });
    expect(next.until(hours(300)).decided).toHaveLength(1);
  });
});

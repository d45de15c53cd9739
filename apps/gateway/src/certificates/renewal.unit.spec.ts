import { EVENTS, type Fact, type MaintenanceWindow, type StoredEvent, type UpgradeId } from '@fairlead/contracts';
import { makeHandle, type TaskOf } from '@fairlead/event-sourcing/jetstream';
import { MemoryStore } from '@fairlead/event-sourcing/memory.store';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { CREATE, uid } from '../story.fixtures.js';
import { upgradeRequested } from '../upgrades/upgrades.fixtures.js';
import type { CertificateQueries } from './certificates.queries.js';
import { RenewalEffects } from './renewal.effects.js';
import type { RenewCertificates } from './renewal.reconciler.js';
import { RenewalSchedule } from './renewal.schedule.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEKENDS: readonly MaintenanceWindow[] = [{ days: ['sat', 'sun'], from: '01:00', to: '05:00' }];
const CLUSTER = { namespace: 'default', cluster: 'demo' };
const CAUSE = { actor: 'system/spec', correlationId: 'c', causationId: 'c' };

const completed = (upgradeId: UpgradeId): Fact => ({
  type: 'RolloutCompleted',
  data: { uid, upgradeId, upgraded: [], skipped: [], quarantined: [], tookMs: 1 },
});

/** One warning's task, delivered whenever the story says so; nothing waits for a clock. */
describe('F1: a renewal that begins by itself', () => {
  let store: MemoryStore;
  let now: Date;
  let expire: boolean;

  const say = async (fact: Fact): Promise<void> => {
    const stream = { ...CLUSTER, context: EVENTS[fact.type].context };
    const own = store.events.filter(({ meta }) => meta.context === stream.context);
    const seq = own.at(-1)?.meta.seq ?? 0;
    await store.append(stream, { seq, streamVersion: own.length, hash: `hash-${seq}` }, [fact], CAUSE);
  };
  const requests = (): StoredEvent<'UpgradeRequested'>[] =>
    store.events.filter((event) => event.type === 'UpgradeRequested');
  const latest = (): UpgradeId => requests().at(-1)?.data.upgradeId ?? ('' as UpgradeId);
  const deliver = (earliest = '2027-01-20T10:00:00.000Z', windows: readonly MaintenanceWindow[] = []) => {
    const certificates: Pick<CertificateQueries, 'expire'> = { expire: async () => expire };
    const schedule = new RenewalSchedule({ renewal: 'renew', renewalWindows: windows }, { now: () => now });
    const effects = new RenewalEffects(makeHandle(store), certificates as CertificateQueries, schedule, {
      waitFor: async () => true,
      reach: async () => 0,
    });
    const task: TaskOf<RenewCertificates> = {
      ...CLUSTER,
      cause: { ...CAUSE, actor: 'system/gateway' },
      data: { uid, earliest, seq: 1 },
      signal: AbortSignal.timeout(10_000),
      requeueAfter: (delayMs, reason) => ({ kind: 'requeue', delayMs, reason }),
    };
    return effects.renew(task);
  };

  beforeEach(async () => {
    store = new MemoryStore();
    now = new Date('2026-11-25T10:00:00.000Z'); // A Wednesday.
    expire = true;
    for (const fact of CREATE) await say(fact);
  });

  it('is not even asked for before its window, so that other upgrades of the cluster may go meanwhile', async () => {
    expect(await deliver(undefined, WEEKENDS)).toMatchObject({ delayMs: DAY_MS });
    now = new Date('2026-11-28T00:30:00.000Z');
    expect(await deliver(undefined, WEEKENDS)).toMatchObject({ delayMs: HOUR_MS / 2 });
    expect(requests()).toEqual([]);
    now = new Date('2026-11-28T01:00:00.000Z');
    await deliver(undefined, WEEKENDS);
    expect(requests()).toMatchObject([{ data: { mode: 'go', strategy: { windows: WEEKENDS } } }]);
  });

  it('is asked for again a day after a rule refused it, until the certificates are renewed', async () => {
    expect(await deliver()).toMatchObject({ delayMs: DAY_MS });
    await say({ type: 'UpgradeRejected', data: { uid, upgradeId: latest(), findings: [] } });
    expect(await deliver()).toMatchObject({ delayMs: DAY_MS });
    expect(new Set(requests().map(({ data }) => data.upgradeId)).size).toBe(2);
    await say(completed(latest()));
    expire = false;
    expect(await deliver()).toBeUndefined();
    expect(requests()).toHaveLength(2);
  });

  it('is not begun again when someone has given it up, also where another control plane has warned, too', async () => {
    await deliver();
    await say({ type: 'UpgradeAbortRequested', data: { uid, upgradeId: latest(), reason: 'not now' } });
    await say({ type: 'RolloutAborted', data: { uid, upgradeId: latest(), leftFailed: [] } });
    expect(await deliver()).toBeUndefined();
    expect(await deliver('2027-01-21T10:00:00.000Z')).toBeUndefined();
    expect(requests()).toHaveLength(1);
  });

  it('begins in the next year although it was given up in this one', async () => {
    await deliver();
    await say({ type: 'RolloutAborted', data: { uid, upgradeId: latest(), leftFailed: [] } });
    await deliver('2028-01-20T10:00:00.000Z');
    expect(requests()).toHaveLength(2);
  });

  it('waits while another upgrade is under way, and asks when that has ended', async () => {
    const other = upgradeRequested();
    await say(other);
    expect(await deliver()).toMatchObject({ delayMs: 60_000 });
    await say(completed(other.data.upgradeId));
    await deliver();
    expect(requests()).toHaveLength(2);
  });
});

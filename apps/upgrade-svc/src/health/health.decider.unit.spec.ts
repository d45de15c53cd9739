import { specification } from '@fairlead/event-sourcing/spec';
import { describe, it } from '@jest/globals';
import { node, otherUid, uid } from '../nodes/nodes.fixtures.js';
import { health, type ReportLost, type ReportRecovered } from './health.decider.js';

const { given } = specification(health);

const SEEN_AT = '2026-01-01T00:00:00.000Z';
const lost = (of = uid, lastSeenAt: string | null = SEEN_AT) => ({
  type: 'NodeLost' as const,
  data: { uid: of, node, lastSeenAt, limitMs: 40_000 },
});
const recovered = (lostForMs: number) => ({ type: 'NodeRecovered' as const, data: { uid, node, lostForMs } });
const reportLost: ReportLost = { type: 'ReportLost', data: lost().data };
const reportRecovered = (at: string): ReportRecovered => ({ type: 'ReportRecovered', data: { uid, node, at } });

describe('the health of a node', () => {
  it('is recorded as lost once', () => {
    given().when(reportLost).then(lost());
    given(lost()).when(reportLost).thenNothing();
  });
  it('is recorded as recovered with the time since it was last seen', () =>
    given(lost()).when(reportRecovered('2026-01-01T00:01:00.000Z')).then(recovered(60_000)));
  it('counts from when the silence was noticed if the node never sent a heartbeat', () =>
    // The spec harness writes event 1 at second 1.
    given(lost(uid, null)).when(reportRecovered('2026-01-01T00:01:00.000Z')).then(recovered(59_000)));
  it('does not recover if it was not lost', () => given().when(reportRecovered(SEEN_AT)).thenNothing());
  it('may be lost again after it recovered', () => given(lost(), recovered(60_000)).when(reportLost).then(lost()));
  it('is never lost for a negative duration, whatever the clocks show', () =>
    given(lost()).when(reportRecovered('2025-12-31T23:59:00.000Z')).then(recovered(0)));
  it('of an earlier cluster of this name does not affect this one', () => {
    given(lost(otherUid)).when(reportLost).then(lost());
    given(lost(otherUid)).when(reportRecovered(SEEN_AT)).thenNothing();
  });
});

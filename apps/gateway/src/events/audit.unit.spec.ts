import { FIRST_PREVHASH, type Fact } from '@fairlead/contracts';
import type { LogEntry } from '@fairlead/event-sourcing';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { accepted, clusterReady, requested } from '../story.fixtures.js';
import { AUDIT_BEGINNING, AuditReplay } from './audit.js';

const replayed = (entries: readonly LogEntry[]) => {
  const replay = new AuditReplay(AUDIT_BEGINNING);
  for (const entry of entries) replay.tell(entry);
  return replay.page();
};

const verify = (entries: readonly LogEntry[]) => replayed(entries).verification;
const auditEntries = (entries: readonly LogEntry[]) => replayed(entries).items;

/** Two streams of one cluster, linked as the store links them. */
const history = (): LogEntry[] => {
  const links = new Map<string, { hash: string; version: number }>();
  const facts: readonly (readonly [Fact, string])[] = [
    [requested, 'request'],
    [accepted, 'machines'],
    [clusterReady, 'bootstrap'],
    [accepted, 'machines'],
    [{ type: 'ClusterDeletionRequested', data: { uid: requested.data['uid' as never] } } as Fact, 'request'],
  ];
  return facts.map(([fact, context], index) => {
    const before = links.get(context) ?? { hash: FIRST_PREVHASH, version: 0 };
    const hash = `hash-${index + 1}`;
    links.set(context, { hash, version: before.version + 1 });
    const meta = { context, prevHash: before.hash, streamVersion: before.version + 1 };
    return { seq: index + 1, context, hash, event: stored(fact, index + 1, meta), rejection: undefined };
  });
};

describe('the verification of a history', () => {
  it('finds it intact', () => {
    expect(verify(history())).toEqual({ intact: true, events: 5, streams: 3, faults: [] });
  });

  it('finds a changed event by the one after it', () => {
    const changed = history().map((read, index) => (index === 1 ? { ...read, hash: 'another' } : read));
    expect(verify(changed).faults.map(({ seq, context }) => [seq, context])).toEqual([[4, 'machines']]);
  });

  it('finds a missing event', () => {
    const { intact, faults } = verify(history().filter((_, index) => index !== 0));
    expect([intact, faults.map(({ seq }) => seq)]).toEqual([false, [5]]);
    expect(faults[0]?.fault).toMatch('number 2 of its stream, not 1');
  });
});

describe('a message that is not an event', () => {
  const intruder: LogEntry = {
    seq: 6,
    context: 'request',
    hash: 'hash-6',
    event: undefined,
    rejection: { reason: 'actor', detail: 'its actor is not user/... or system/...' },
  };
  const after = stored(clusterReady, 7, { context: 'request', prevHash: 'hash-6', streamVersion: 4 });
  const withIntruder = [
    ...history(),
    { ...intruder, seq: 6 },
    { seq: 7, context: 'request', hash: 'hash-7', event: after, rejection: undefined },
  ];

  it('is reported as an intruder, and what was stated after it follows from it', () => {
    const { intact, events, faults } = verify(withIntruder);
    expect([intact, events]).toEqual([false, 7]);
    expect(faults).toEqual([{ seq: 6, context: 'request', fault: expect.stringContaining('is not an event (actor)') }]);
  });

  it('is missed when it was removed', () => {
    const { faults } = verify(withIntruder.filter(({ seq }) => seq !== 6));
    expect(faults.map(({ seq }) => seq)).toEqual([7]);
  });

  it('is no entry', () => {
    expect(auditEntries(withIntruder).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 7]);
  });
});

describe('a page of an audit', () => {
  it('goes on where the page before ended: its chains, and its causes', () => {
    const first = new AuditReplay(AUDIT_BEGINNING);
    for (const entry of history().slice(0, 2)) first.tell(entry);
    const next = new AuditReplay(first.place());
    for (const entry of history().slice(2)) next.tell(entry);
    expect([...first.page().items, ...next.page().items]).toEqual(auditEntries(history()));
    expect(next.page().verification).toEqual({ intact: true, events: 3, streams: 3, faults: [] });
  });

  it('finds that the last event of the page before was changed', () => {
    const first = new AuditReplay(AUDIT_BEGINNING);
    for (const entry of history().slice(0, 2)) first.tell({ ...entry, hash: 'another' });
    const next = new AuditReplay(first.place());
    for (const entry of history().slice(2)) next.tell(entry);
    expect(next.page().verification.faults.map(({ seq }) => seq)).toEqual([4, 5]);
  });

  it('names nothing as a cause that its reader may not see', () => {
    const replay = new AuditReplay(AUDIT_BEGINNING);
    const [one, two, three] = history();
    replay.pass(one!, false);
    replay.pass(two!, true);
    replay.tell(three!);
    expect(replay.page().items[0]?.because.map(({ seq }) => seq)).toEqual([2]);
  });
});

describe('the entries of an audit', () => {
  it('name the chain of causes, nearest first', () => {
    const entries = auditEntries(history());
    expect(entries[2]?.because.map(({ seq, type }) => `${seq} ${type}`)).toEqual([
      '2 ClusterAccepted',
      '1 ClusterRequested',
    ]);
  });

  it('end a chain that goes round in circles', () => {
    const circle = history().map((read) => ({ ...read, event: stored(requested, 1, { id: 'a', causationId: 'a' }) }));
    expect(auditEntries(circle)[0]?.because).toHaveLength(20);
  });
});

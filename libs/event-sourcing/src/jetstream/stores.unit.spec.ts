import { PersistMode } from '@nats-io/jetstream';
import { describe, expect, it } from '@jest/globals';
import { STORES, type Store } from './stores.js';
import { askedReplicas, planStore, type FoundStore } from './store.changes.js';

const storeOf = (name: string): Store => STORES.find((store) => store.name === name)!;
const asCreated = (store: Store, more: Partial<FoundStore> = {}): FoundStore => ({
  ...store.required,
  ...store.limits,
  num_replicas: 1,
  ...more,
});
const plan = (store: Store, found: FoundStore | undefined, asked: number, given?: number) => {
  const { action, replicas, notes } = planStore(store, found, { asked, given });
  return { action, replicas, notes: notes.map(({ text }) => text) };
};

describe.each(STORES.map((store) => [store.name, store] as const))('the store %s', (_name, store) => {
  it('is created with the requested number of replicas', () => {
    expect(plan(store, undefined, 3)).toEqual({ action: 'create', replicas: 3, notes: ['created'] });
    expect(planStore(store, undefined, { asked: 3, given: undefined }).settings).toMatchObject({ num_replicas: 3 });
  });

  it('is left alone while nothing differs', () => {
    expect(plan(store, asCreated(store), 1)).toEqual({ action: 'none', replicas: 1, notes: [] });
  });

  it('is raised to the requested number of replicas', () => {
    expect(plan(store, asCreated(store), 3)).toEqual({
      action: 'update',
      replicas: 3,
      notes: ['raised from 1 replica to 3'],
    });
  });

  it('is never lowered, and the difference is reported', () => {
    expect(plan(store, asCreated(store, { num_replicas: 3 }), 1)).toEqual({
      action: 'none',
      replicas: 3,
      notes: ['3 replicas kept, because replicas are never lowered: 1 asked for'],
    });
  });

  it('keeps limits that an operator changed, even if it is raised', () => {
    const found = asCreated(store, { max_bytes: 7, num_replicas: 1 });
    const planned = planStore(store, found, { asked: 3, given: 3 });
    expect(planned.notes.map(({ text }) => text)).toContainEqual(expect.stringMatching(/^max_bytes 7 kept/));
    expect(planned.settings).not.toHaveProperty('max_bytes');
  });
});

describe('the log', () => {
  const log = storeOf('EVENTS');

  it('with a maximum age for events loses it, which is reported', () => {
    const found = asCreated(log, { max_age: 3_600_000_000_000 });
    expect(planStore(log, found, { asked: 1, given: undefined })).toMatchObject({
      action: 'update',
      settings: { max_age: 0 },
      notes: [{ text: 'max_age set to unlimited, on which Fairlead depends (was: 3600s)' }],
    });
  });

  it('records the requested number of replicas beside its other metadata, so that later stores get as many', () => {
    const found = asCreated(log, { metadata: { 'fairlead-handover': '{}' } });
    const { settings } = planStore(log, found, { asked: 3, given: 3 });
    expect(settings.metadata).toEqual({ 'fairlead-handover': '{}', 'fairlead-replicas': '3' });
    expect(askedReplicas(undefined, { num_replicas: 1, metadata: settings.metadata! })).toBe(3);
    expect(askedReplicas(1, { num_replicas: 3, metadata: settings.metadata! })).toBe(1);
    expect(askedReplicas(undefined, { num_replicas: 5 })).toBe(5);
    expect(askedReplicas(undefined, undefined)).toBe(1);
  });

  it('that is closed for a handover is replicated, and stays closed', () => {
    const found = asCreated(log, { max_msg_size: 1 });
    expect(planStore(log, found, { asked: 3, given: undefined }).settings).toEqual({ num_replicas: 3 });
  });

  it('that is sealed is left alone: nats-server changes none of its settings', () => {
    expect(plan(log, asCreated(log, { sealed: true, max_msg_size: 1 }), 3, 3)).toEqual({
      action: 'none',
      replicas: 1,
      notes: [],
    });
  });
});

describe('facts of agents', () => {
  const facts = storeOf('AGENT_FACTS');

  it('do not wait for a disk on a single server, and are recreated for replicas, with their limits', () => {
    expect(planStore(facts, undefined, { asked: 1, given: undefined }).settings.persist_mode).toBe(PersistMode.Async);
    const found = asCreated(facts, { persist_mode: PersistMode.Async, max_bytes: 7 });
    const planned = planStore(facts, found, { asked: 3, given: undefined });
    expect(planned).toMatchObject({ action: 'recreate', replicas: 3, settings: { num_replicas: 3, max_bytes: 7 } });
    expect(planned.settings).not.toHaveProperty('persist_mode');
    expect(plan(facts, found, 1).action).toBe('none');
  });
});

import { describe, expect, it } from '@jest/globals';
import type { ConditionFacts } from './condition.facts.js';
import { conditionsOf, type Condition } from './conditions.js';
import { minutesAgo, HEALTHY, running, busy, held, of } from './conditions.fixtures.js';

describe('a step that takes longer than the limit', () => {
  const since = minutesAgo(31);
  const late = { operations: [running('add-nodes', since, 'Join workers')] };

  it('is stalled, with the step, its beginning and the limit [azimuth 24]', () =>
    expect(of(late, 'Stalled')).toMatchObject({
      status: 'True',
      reason: 'StepTimedOut',
      message: expect.stringContaining(`"Join workers" has been in progress since ${since}, longer than 30 min`),
      lastTransitionTime: minutesAgo(1),
    }));

  it('is no longer stalled when it ends, or hands over to another step [azimuth 24]', () => {
    expect(of({}, 'Stalled').status).toBe('False');
    const handedOver = {
      ...running('add-nodes', since),
      steps: [{ title: 'Nodes Ready', startedAt: minutesAgo(2), ofProvider: false }],
    };
    expect(of({ operations: [handedOver] }, 'Stalled').status).toBe('False');
  });

  it('says in its condition that it is paused, why, and how to resume it in its namespace', () => {
    const pause = { reason: 'the racks move', since: minutesAgo(20) };
    const messageOf = (change: object): string => of({ pause, ...change }, 'Paused').message;
    expect(messageOf({})).toBe(
      'no service acts on the cluster: the racks move. Resume it with "fairlead cluster resume demo"',
    );
    expect(messageOf({ namespace: 'shop', pause: { ...pause, reason: '' } })).toBe(
      'no service acts on the cluster. Resume it with "fairlead cluster resume demo -n shop"',
    );
  });

  it('is not stalled while the cluster is paused, and has its whole time again afterwards [azimuth 24]', () => {
    expect(of({ ...late, pause: { reason: '', since: minutesAgo(20) } }, 'Stalled').status).toBe('False');
    expect(of({ ...late, resumedAt: minutesAgo(3) }, 'Stalled').status).toBe('False');
    expect(of({ ...late, resumedAt: minutesAgo(30) }, 'Stalled').status).toBe('True');
  });

  it('is not stalled while a hook holds the cluster, which is shown as the reason, and has its whole time again afterwards', () => {
    const blocked = { ...late, hooks: { one: held(false) } };
    expect([of(blocked, 'Stalled').status, of(blocked, 'HookBlocked').status]).toEqual(['False', 'True']);
    expect(of({ ...late, hooks: {}, hooksLetGoAt: minutesAgo(3) }, 'Stalled').status).toBe('False');
    expect(of({ ...late, hooks: {}, hooksLetGoAt: minutesAgo(30) }, 'Stalled').status).toBe('True');
  });
});

describe('a cluster on a connection whose places are taken', () => {
  const create: Partial<ConditionFacts> = {
    phase: 'Pending',
    marks: {},
    operations: [running('create', minutesAgo(5))],
  };
  const waiting = (facts: Partial<ConditionFacts>): Condition | undefined =>
    conditionsOf({ ...HEALTHY, ...facts }).find(({ type }) => type === 'WaitingForConnection');

  it('says that its step waits, since when and why, while it is one of its provider', () => {
    expect(waiting({ ...create, busy: [busy()] })).toMatchObject({
      status: 'True',
      reason: 'ConnectionBusy',
      lastTransitionTime: minutesAgo(2),
      calls: 'Provisioning',
      message: `12 tasks wait for one of the 40 places of connection lab, and some have been taken since ${minutesAgo(4)}: its provider answers slowly, or not at all. The step "Machines" of the cluster waits for a place or has one, and goes on by itself`,
    });
    expect(waiting({ ...create, phase: 'Deleting', busy: [busy()] })?.calls).toBe('Deleting');
    expect(waiting({ operations: [running('add-nodes', minutesAgo(1))], busy: [busy()] })).toMatchObject({
      calls: 'Maintaining',
      lastTransitionTime: minutesAgo(1),
    });
  });

  it('says nothing of it while it needs nothing of its provider, and no longer than the statement holds', () => {
    expect(waiting({ busy: [busy()] })).toBeUndefined();
    expect(
      waiting({ operations: [running('add-nodes', minutesAgo(1), 'Join workers')], busy: [busy()] }),
    ).toBeUndefined();
    expect(waiting({ ...create, busy: [busy({ until: minutesAgo(1) })] })).toBeUndefined();
    expect(waiting(create)).toBeUndefined();
  });
});

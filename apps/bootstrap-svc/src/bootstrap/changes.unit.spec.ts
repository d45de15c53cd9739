import type { DeclaredSpec, Fact } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import {
  changeStarted,
  controlPlaneJoined,
  cp,
  created,
  etcdSaved,
  fit,
  machine,
  UID,
  wholeCluster,
} from './bootstrap.fixtures.js';
import { evolve } from './bootstrap.evolve.js';
import { begunChanges, keyOf, plan } from './bootstrap.planner.js';
import { bootstrapReconciler } from './bootstrap.reconciler.js';
import { ABSENT, type Bootstrap } from './bootstrap.state.js';

const START = '2026-11-29T10:00:00.000Z';
const MINUTE_MS = 60_000;
const JOIN = `JoinControlPlane/${cp(4)}`;

/** A cluster whose fourth control plane is ready to join, with facts at explicit minutes. */
class Story {
  now = START;
  private state: Bootstrap = ABSENT;
  private seq = 0;

  constructor() {
    this.say(...wholeCluster());
  }

  say(...facts: readonly Fact[]): this {
    for (const fact of facts) {
      this.seq += 1;
      this.state = evolve(this.state, stored(fact, this.seq, { time: this.now }));
    }
    return this;
  }

  grow(): this {
    return this.say(created([machine(cp(4))]), ...fit(cp(4)));
  }

  after(minutes: number): this {
    this.now = later(this.now, minutes * MINUTE_MS);
    return this;
  }

  /** Starts the changes that the reconciler records. */
  begin(): this {
    return this.say(...this.begun);
  }

  get begun(): readonly Fact[] {
    return begunChanges(this.state, this.now);
  }

  get desired(): readonly string[] {
    return plan(this.state).map(keyOf);
  }

  get wakeAt(): string | null {
    return bootstrapReconciler().wakeAt?.(this.state, this.now) ?? null;
  }
}

const failed = (requestId: string): Fact => ({
  type: 'EtcdSnapshotFailed',
  data: { uid: UID, requestId, cause: { operation: 'save etcd', target: cp(1), message: 'no room' } },
});
const declared = (etcdSnapshotMaxAge: string): Fact => ({
  type: 'ClusterSpecChanged',
  data: { uid: UID, revision: 1, spec: { pools: [], etcdSnapshotMaxAge } as unknown as DeclaredSpec },
});

describe('a control plane that is added to a ready cluster', () => {
  it('joins only after a snapshot of etcd', () => {
    const story = new Story().grow();
    expect([story.desired, story.begun]).toEqual([[], [changeStarted(cp(4))]]);
    expect(story.begin().desired).toEqual([]);
    expect(story.begun).toEqual([]);
    expect(story.after(1).say(etcdSaved).desired).toEqual([JOIN]);
    expect(story.say(controlPlaneJoined(cp(4))).desired).toEqual(['VerifyControlPlane']);
  });

  it('joins at once if a snapshot is younger than the configured age, and continues with it however long that takes', () => {
    const story = new Story().say(etcdSaved).after(14).grow().begin();
    expect(story.desired).toEqual([JOIN]);
    expect(story.after(60).desired).toEqual([JOIN]);
    expect(new Story().say(etcdSaved).after(16).grow().begin().desired).toEqual([]);
    expect(new Story().say(declared('1h'), etcdSaved).after(16).grow().begin().desired).toEqual([JOIN]);
    expect(new Story().say(declared('0s'), etcdSaved).after(1).grow().begin().desired).toEqual([]);
  });

  it('waits if the snapshot fails, and is retried after five minutes', () => {
    const story = new Story().grow().begin().after(1).say(failed('other')).say(failed('change-1'));
    expect([story.desired, story.begun]).toEqual([[], []]);
    expect(story.wakeAt).toBe(later(story.now, 5 * MINUTE_MS));
    expect(story.after(5).begun).toEqual([changeStarted(cp(4), 'join', 2)]);
    expect(story.begin().say(etcdSaved).desired).toEqual([JOIN]);
  });

  it('that could not join is retried with a snapshot that is recent then', () => {
    const story = new Story().say(etcdSaved).grow().begin().after(20);
    const cause = { operation: 'join', target: cp(4), message: 'no' };
    const stepFailed = (nextAttemptAt: string | null): Fact => ({
      type: 'BootstrapStepFailed',
      data: { uid: UID, step: 'JoinControlPlane', node: cp(4), cause, attempt: 1, attemptsMax: 2, nextAttemptAt },
    });
    expect(story.say(stepFailed(START)).desired).toEqual([JOIN]);
    expect(story.say(stepFailed(null)).desired).toEqual([]);
    expect(story.begun).toEqual([changeStarted(cp(4), 'join', 2)]);
    expect(story.begin().desired).toEqual([]);
  });
});

it('the control planes of a new cluster join without one: there is no data to lose', () => {
  const facts = wholeCluster();
  const upToNetwork = facts.slice(0, facts.findIndex(({ type }) => type === 'NetworkReady') + 1);
  const state = upToNetwork.reduce((before, fact, index) => evolve(before, stored(fact, index + 1)), ABSENT);
  expect(plan(state).map(keyOf)).toContain(`JoinControlPlane/${cp(2)}`);
  expect(begunChanges(state, START)).toEqual([]);
});

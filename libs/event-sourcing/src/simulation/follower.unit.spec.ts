import type { ClusterUid, Fact, NodeName } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import type { Command, Decider } from '../decider.js';
import type { Reconciler } from '../reconciler.js';
import { stored } from '../spec.js';
import { Follower } from './follower.js';

const UID = '00000000-0000-4000-8000-000000000000' as ClusterUid;
const NEXT = '2026-01-01T01:00:00.000Z';

interface Nodes {
  readonly open: readonly string[];
  readonly isReady: boolean;
}

const nodes: Decider<Nodes, Command, Fact> = {
  initial: { open: [], isReady: true },
  reads: 'cluster',
  evolve: (state, { type, data }) => {
    if (type === 'HostReached') return { open: [...state.open, data.node], isReady: false };
    if (type === 'WorkerJoined') return { ...state, open: state.open.filter((node) => node !== data.node) };
    return type === 'ClusterReady' ? { ...state, isReady: true } : state;
  },
  decide: () => [],
};

/** Nodes join, the cluster is Ready when all have joined, and an hour later they are looked at. */
const joining: Reconciler<Nodes> = {
  ...{ name: 'joining', version: 1, context: 'bootstrap', decider: nodes },
  generation: () => '1',
  tasks: ({ open }, now) => [
    ...open.map((node) => ({ type: 'Join', key: `Join/${node}`, reason: 'it is open', data: { node } })),
    ...(now >= NEXT ? [{ type: 'Look', key: 'Look', reason: 'an hour has passed', data: {} }] : []),
  ],
  facts: ({ open, isReady }) =>
    open.length === 0 && !isReady ? [{ type: 'ClusterReady', data: { uid: UID } } as Fact] : [],
  wakeAt: (_, now) => (now < NEXT ? NEXT : null),
  failed: (_state, { data }, { attempt }) => [
    { type: 'NodeRemovalRequested', data: { uid: UID, node: data['node'] as NodeName, attempt } } as unknown as Fact,
  ],
};

const reached = (node: string): Fact => ({ type: 'HostReached', data: { uid: UID, node } }) as unknown as Fact;
const joined = (node: string): Fact => ({ type: 'WorkerJoined', data: { uid: UID, node } }) as unknown as Fact;

const following = (...facts: readonly Fact[]) => {
  const follower = new Follower(joining, 'sim');
  const asked = facts.flatMap((fact, index) => follower.read(stored(fact, index + 1)));
  return { follower, asked };
};

const NOW = '2026-01-01T00:00:01.000Z';

describe('a follower of a log', () => {
  it('asks for each task once, because of the event since which it is desired', () => {
    const { asked } = following(reached('w-1'), reached('w-2'));
    expect(asked.map(({ data, cause }) => [data.key, cause.causationId, cause.actor])).toEqual([
      ['Join/w-1', 'event-1', 'system/sim'],
      ['Join/w-2', 'event-2', 'system/sim'],
    ]);
  });

  it('has no task for what is done, or void', () => {
    const { follower, asked } = following(reached('w-1'));
    expect(follower.taskOf(asked[0]!, NOW)?.data).toEqual({ node: 'w-1' });
    follower.read(stored(joined('w-1'), 2));
    expect(follower.taskOf(asked[0]!, NOW)).toBeUndefined();
    expect(follower.isAsked(asked[0]!)).toBe(false);
  });

  it('asks for the facts that are due, and states them', () => {
    const { follower, asked } = following(reached('w-1'), joined('w-1'));
    expect(asked.map(({ type }) => type)).toEqual(['Join', 'StateFacts']);
    expect(follower.facts(NOW)).toEqual([{ type: 'ClusterReady', data: { uid: UID } }]);
  });

  it('states what the reconciler says of an attempt that failed', () => {
    const { follower, asked } = following(reached('w-1'));
    const cause = { operation: 'join', target: 'w-1', message: 'no answer' };
    const failure = { cause, attempt: 3, attemptsMax: 3, nextAttemptAt: null, now: NOW };
    expect(follower.failed(asked[0]!.data, failure)).toEqual([
      { type: 'NodeRemovalRequested', data: { uid: UID, node: 'w-1', attempt: 3 } },
    ]);
  });

  it('waits for a moment, and asks for what is desired then', () => {
    const { follower } = following(reached('w-1'));
    expect(follower.wakeAt).toBe(NEXT);
    expect(follower.wake().map(({ type, cause }) => [type, cause.causationId])).toEqual([['Look', 'event-1']]);
    expect(follower.wakeAt).toBeNull();
  });

  it('can be copied, and each goes on by itself', () => {
    const { follower, asked } = following(reached('w-1'));
    const copy = follower.copy();
    copy.read(stored(joined('w-1'), 2));
    expect([follower, copy].map((one) => one.taskOf(asked[0]!, NOW)?.key)).toEqual(['Join/w-1', undefined]);
  });

  it('has no task of a paused cluster', () => {
    const { follower, asked } = following(reached('w-1'));
    follower.read(stored({ type: 'ClusterPaused', data: { uid: UID, reason: '' } }, 2));
    expect(follower.taskOf(asked[0]!, NOW)).toBeUndefined();
    expect(follower.known()).toMatchObject({ isPaused: true });
  });
});

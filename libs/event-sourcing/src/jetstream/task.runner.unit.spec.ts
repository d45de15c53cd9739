import type { ClusterUid, Fact, NodeName, StoredEvent } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import type { Command, Decider } from '../decider.js';
import { makeHandle } from '../handle.js';
import { MemoryLeases } from '../memory.leases.js';
import { MemoryStore } from '../memory.store.js';
import { advance, type Reaction } from '../process.js';
import { reconcilerProcess, tasksInState, type Reconciler, type Task, type TaskRef } from '../reconciler.js';
import { stored } from '../spec.js';
import type { QueuedTask, AttemptContext } from './decorators.js';
import { TaskRunner, type TaskContext, type TaskHandler } from './task.runner.js';

const UID = '00000000-0000-4000-8000-000000000000' as ClusterUid;
const STREAM = { namespace: 'default', cluster: 'demo', context: 'bootstrap' };
const CAUSE = { actor: 'user/spec', correlationId: 'c', causationId: 'c' };
const NOW = '2026-01-01T00:00:00.000Z';
const END = '2026-01-01T01:00:00.000Z';

type Nodes = readonly NodeName[];
type Join = Command<'Join', NodeName>;
const NONE: Nodes = [];

const reached = (node: string): Fact => ({
  type: 'HostReached',
  data: { uid: UID, node: node as NodeName, hostKey: 'SHA256:spec', attempts: 1 },
});
const joined = (node: string): Fact => ({ type: 'WorkerJoined', data: { uid: UID, node: node as NodeName } });
const paused: Fact = { type: 'ClusterPaused', data: { uid: UID, reason: '' } };
const resumed: Fact = { type: 'ClusterResumed', data: { uid: UID, reason: '' } };
const deleted: Fact = { type: 'ClusterDeleted', data: { uid: UID } };

const joins: Decider<Nodes, Join, Fact> = {
  initial: NONE,
  reads: 'cluster',
  decide: (open, { data }) => (open.includes(data) ? [joined(data)] : []),
  evolve: (open, event: StoredEvent) => {
    if (event.type === 'HostReached') return [...open, event.data.node];
    if (event.type === 'ClusterDeleted') return NONE;
    return event.type === 'WorkerJoined' ? open.filter((node) => node !== event.data.node) : open;
  },
};

const task = (type: string, node: string): Task => ({ type, key: `${type}/${node}`, reason: '', data: { node } });

/** Reached nodes join; at a late time they leave. */
const joining: Reconciler<Nodes, Join> = {
  name: 'joining',
  version: 1,
  context: 'bootstrap',
  decider: joins,
  generation: (open) => (open === NONE ? '' : UID),
  tasks: (open, now) => open.map((node) => task(now < END ? 'Join' : 'Leave', node)),
  wakeAt: (open, now) => (open.length > 0 && now < END ? END : null),
  followUps: (_state, { event }) => (event?.type === 'ClusterDeleted' ? [task('Forget', 'all')] : []),
};

const queuedTaskOf = (key: string, more: Partial<TaskRef> = {}): QueuedTask => {
  const data: TaskRef = { reconciler: 'joining', generation: UID, key, seq: 1, now: NOW, ...more };
  return { id: key, type: key.split('/')[0] ?? '', namespace: 'default', cluster: 'demo', cause: CAUSE, data };
};

const context: AttemptContext = {
  attempt: 1,
  signal: new AbortController().signal,
};

const runner = async (now: string, ...facts: readonly Fact[]) => {
  const store = new MemoryStore();
  await store.append(STREAM, { seq: 0, streamVersion: 0, hash: '' }, facts, CAUSE);
  const leases = new MemoryLeases().of('replica');
  const log = { warn: () => undefined };
  const tasks = new TaskRunner({
    reconcilers: [joining],
    handle: makeHandle(store),
    leases,
    now: () => new Date(now),
    log,
  });
  return { store, leases, tasks };
};

/** A fact of another writer. */
const say = async (store: MemoryStore, fact: Fact): Promise<void> => {
  const own = store.events.filter(({ meta }) => meta.context === 'request');
  const seq = own.at(-1)?.meta.seq ?? 0;
  await store.append(
    { ...STREAM, context: 'request' },
    { seq, streamVersion: own.length, hash: `hash-${seq}` },
    [fact],
    CAUSE,
  );
};

const ran = (names: string[]): TaskHandler => {
  return async ({ key }) => {
    names.push(key);
  };
};

describe('the runner of tasks', () => {
  it('runs a desired task, and appends what it records', async () => {
    const { tasks, store } = await runner(NOW, reached('w-1'));
    await tasks.run(queuedTaskOf('Join/w-1'), context, {}, async ({ data, record }: TaskContext) => {
      expect(await record({ type: 'Join', data: data['node'] })).toEqual([]);
    });
    expect(store.events.map(({ type }) => type)).toEqual(['HostReached', 'WorkerJoined']);
  });

  it('ends a task that is not, or no longer, desired, and records nothing [ORBITER 8]', async () => {
    const { tasks } = await runner(NOW, reached('w-1'), joined('w-1'));
    const names: string[] = [];
    for (const key of ['Join/w-1', 'Join/w-2'])
      expect(await tasks.run(queuedTaskOf(key), context, {}, ran(names))).toBeUndefined();
    expect(
      await tasks.run(queuedTaskOf('Join/w-1', { generation: 'another' }), context, {}, ran(names)),
    ).toBeUndefined();
    expect(names).toEqual([]);
  });

  it('requeues a task newer than its own view of the log: it may be desired there', async () => {
    const { tasks } = await runner(NOW, reached('w-1'));
    expect(await tasks.run(queuedTaskOf('Join/w-2', { seq: 2 }), context, {}, ran([]))).toMatchObject({
      kind: 'requeue',
    });
  });

  it("assumes at least the task's own time, so that no clock skew loses a task", async () => {
    const { tasks } = await runner(NOW, reached('w-1'));
    const names: string[] = [];
    await tasks.run(queuedTaskOf('Leave/w-1', { now: END }), context, {}, ran(names));
    expect(names).toEqual(['Leave/w-1']);
  });

  it('serializes exclusive tasks of a cluster, and runs others meanwhile', async () => {
    const { tasks } = await runner(NOW, reached('w-1'), reached('w-2'), reached('w-3'));
    const names: string[] = [];
    await tasks.run(queuedTaskOf('Join/w-1'), context, { exclusive: true }, async (first) => {
      expect(await tasks.run(queuedTaskOf('Join/w-2'), context, { exclusive: true }, ran(names))).toMatchObject({
        kind: 'requeue',
      });
      expect(await first.othersAtWork()).toEqual([]);
      await tasks.run(queuedTaskOf('Join/w-3'), context, {}, ran(names));
    });
    await tasks.run(queuedTaskOf('Join/w-2'), context, { exclusive: true }, ran(names));
    expect(names).toEqual(['Join/w-3', 'Join/w-2']);
  });

  it('serializes exclusive tasks with locks only with those that touch the same', async () => {
    const { tasks } = await runner(NOW, reached('w-1'), reached('w-2'), reached('w-3'));
    const names: string[] = [];
    const run = (node: string, locks: readonly string[], handler: TaskHandler = ran(names)) =>
      tasks.run(queuedTaskOf(`Join/${node}`, { locks }), context, { exclusive: true }, handler);
    await run('w-1', ['request/r-1', 'balancer'], async () => {
      expect(await run('w-2', ['balancer', 'plan'])).toMatchObject({ kind: 'requeue', isBlocked: true });
      expect(await run('w-3', ['plan'])).toBeUndefined();
    });
    await run('w-2', ['balancer', 'plan']);
    expect(names).toEqual(['Join/w-3', 'Join/w-2']);
  });

  it('serializes an exclusive task without locks with those with locks', async () => {
    const { tasks, leases } = await runner(NOW, reached('w-1'), reached('w-2'));
    const names: string[] = [];
    const alone = (handler = ran(names)) => tasks.run(queuedTaskOf('Join/w-1'), context, { exclusive: true }, handler);
    const locked = (handler = ran(names)) =>
      tasks.run(queuedTaskOf('Join/w-2', { locks: ['plan'] }), context, { exclusive: true }, handler);
    await alone(async () => {
      expect(await locked()).toMatchObject({ isBlocked: true });
    });
    await locked(async () => {
      expect(await alone()).toMatchObject({ isBlocked: true });
    });
    expect([names, await leases.held('default/demo')]).toEqual([[], []]);
    await alone();
    await locked();
    expect(names).toEqual(['Join/w-1', 'Join/w-2']);
  });

  it.each([
    ['aborts a task that is withdrawn', {}, [joined('w-1')], true],
    ['lets a task that finishes run to its end although it is withdrawn', { finishes: true }, [joined('w-1')], false],
    ['aborts a task that finishes when its generation is over', { finishes: true }, [deleted], true],
    [
      'aborts a task that finishes when its generation is over, although it recorded something after it was withdrawn',
      { finishes: true },
      [joined('w-1'), 'Join', deleted],
      true,
    ],
    ['aborts a task when its cluster is paused', {}, [paused], true],
    ['aborts a task of a paused cluster although it has recorded its outcome', {}, [paused, 'Join'], true],
    ['lets a task that finishes run to its end although the cluster is paused', { finishes: true }, [paused], false],
  ] as const)('%s', async (_promise, policy, steps, aborts) => {
    const { tasks, store } = await runner(NOW, reached('w-1'), reached('w-2'));
    const run = async ({ signal, record }: TaskContext): Promise<boolean> => {
      for (const step of steps) {
        if (step === 'Join') await record({ type: 'Join', data: 'w-2' });
        else await say(store, step);
        await tasks.look('default/demo');
      }
      return signal.aborted;
    };
    const aborted = await new Promise<boolean>((resolve, reject) => {
      const handler: TaskHandler = (task) => run(task).then(resolve);
      tasks.run(queuedTaskOf('Join/w-1'), context, policy, handler).catch(reject);
    });
    expect(aborted).toBe(aborts);
  });

  it('starts no task of a paused cluster, and starts it when the cluster is resumed', async () => {
    const { tasks, store } = await runner(NOW, reached('w-1'), paused);
    const names: string[] = [];
    await tasks.run(queuedTaskOf('Join/w-1'), context, {}, ran(names));
    expect(names).toEqual([]);
    await say(store, resumed);
    await tasks.run(queuedTaskOf('Join/w-1'), context, {}, ran(names));
    expect(names).toEqual(['Join/w-1']);
  });

  it('records no failure of a task of a paused cluster', async () => {
    const { tasks, store } = await runner(NOW, reached('w-1'), paused);
    const cause = { operation: 'join', target: 'w-1', message: 'aborted' };
    await tasks.recordFailure(queuedTaskOf('Join/w-1'), { cause, attempt: 3, attemptsMax: 3, nextAttemptAt: null });
    expect(store.events.map(({ type }) => type)).toEqual(['HostReached', 'ClusterPaused']);
  });

  it('runs the follow-ups of a forgotten cluster', async () => {
    const { tasks } = await runner(NOW, reached('w-1'), deleted);
    const names: string[] = [];
    const followUp = task('Forget', 'all');
    await tasks.run(queuedTaskOf('Forget/all', { generation: '', followUp }), context, {}, ran(names));
    expect(names).toEqual(['Forget/all']);
  });
});

const WAKE = { eventId: 'wake', correlationId: 'c' };

describe('the process of a reconciler', () => {
  const process = reconcilerProcess(joining);
  const after = (...facts: readonly Fact[]) => {
    const events = facts.map((fact, index) => stored(fact, index + 1));
    const { states, reactions } = advance(process, () => undefined, events);
    const last = reactions.filter(({ event }) => event.meta.seq === facts.length);
    return { state: states.get('default/demo')?.state, last: last.map(({ reaction }) => nameOf(reaction)) };
  };
  const nameOf = (reaction: Reaction): string =>
    reaction.kind === 'task' ? String(reaction.data['key']) : `${reaction.kind} ${reaction.key}`;

  it('publishes a task when it becomes desired, and not again while it is desired [Cluster API 3]', () => {
    expect(after(reached('w-1')).last).toEqual(['Join/w-1', 'timer wake']);
    expect(after(reached('w-1'), reached('w-2')).last).toEqual(['Join/w-2']);
  });

  it('publishes it again when it becomes desired again', () =>
    expect(after(reached('w-1'), joined('w-1'), reached('w-1')).last).toContain('Join/w-1'));

  it('publishes nothing while the cluster is paused, and everything desired when it is resumed', () => {
    expect(after(reached('w-1'), paused).last).toEqual(['cancel-timer wake']);
    expect(after(reached('w-1'), paused, reached('w-2')).last).toEqual([]);
    expect(after(reached('w-1'), paused, reached('w-2'), resumed).last).toEqual(['Join/w-1', 'Join/w-2', 'timer wake']);
    const { state } = after(reached('w-1'), paused);
    expect(process.woken(state!, { now: END, ...WAKE }).reactions).toEqual([]);
  });

  it('remembers a pause before any other event of the cluster, and forgets it with the cluster', () => {
    expect(after(paused, reached('w-1')).last).toEqual([]);
    expect(after(paused, deleted).state).toMatchObject({ isGone: true });
  });

  it('publishes what becomes desired by time when it wakes', () => {
    const { state } = after(reached('w-1'));
    const woken = process.woken(state!, { now: END, ...WAKE });
    expect(woken.reactions.map(nameOf)).toEqual(['Leave/w-1']);
    expect(tasksInState(joining, woken).map(({ key }) => key)).toEqual(['Leave/w-1']);
  });

  it('forgets a cluster except its follow-ups, and those too once they have ended', () => {
    const { state, last } = after(reached('w-1'), deleted);
    expect(last).toEqual(['Forget/all', 'cancel-timer wake']);
    const tombstone = JSON.parse(JSON.stringify(state)) as NonNullable<typeof state>;
    expect(tombstone).toMatchObject({ isGone: true, desired: [], wakeAt: null });
    const { reaction } = tasksInState(joining, tombstone)[0]!;
    expect(process.ended(tombstone, { ...reaction.data, seq: 1 })).toBe(tombstone);
    expect(process.ended(tombstone, reaction.data)).toBeUndefined();
  });

  it('keeps the follow-ups of a cluster while the next one of its name exists', () => {
    const events = [reached('w-1'), deleted, reached('w-2')].map((fact, index) => stored(fact, index + 1));
    const fold = (state: ReturnType<typeof process.evolve>, event: StoredEvent) =>
      process.evolve(
        state === undefined ? process.initial : (JSON.parse(JSON.stringify(state)) as typeof state),
        event,
      );
    const state = events.reduce(fold, undefined)!;
    expect(tasksInState(joining, state).map(({ key }) => key)).toEqual(['Forget/all', 'Join/w-2']);
    const { reaction } = tasksInState(joining, state)[0]!;
    const left = process.ended(state, reaction.data)!;
    expect(tasksInState(joining, left).map(({ key }) => key)).toEqual(['Join/w-2']);
    expect(left).not.toHaveProperty('isGone');
  });
});

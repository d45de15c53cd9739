import { CONNECTIONS_STREAM, type ConnectionName, type Fact, type NodeName } from '@fairlead/contracts';
import { STATE_FACTS } from '@fairlead/event-sourcing';
import type { QueuedTask } from '@fairlead/event-sourcing/jetstream';
import { MemoryLeases } from '@fairlead/event-sourcing/memory.leases';
import { eventually } from '@fairlead/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { FakeCloud, FakeProvider } from '../../test/fake.provider.js';
import { LAB, nodeSet, registered, requested, UID } from '../../test/fixtures.js';
import { MemoryLog } from '../../test/memory.log.js';
import {
  contextOf,
  Followers,
  MemorySecrets,
  ownNamespaceStream,
  requestStream,
  startReplica,
  type Replica,
} from '../../test/memory.service.js';
import { machineName } from './machines.planner.js';

const FAR = 'far' as ConnectionName;

const asked = (requestId: string, count: number, connection: ConnectionName = LAB): Fact => ({
  type: 'NodesRequested',
  data: { uid: UID, requestId, workers: [nodeSet(count, { connection })], onFailure: 'rollback' },
});
const worker = (index: number): NodeName => machineName('demo', UID, 'worker', index);

/** The provider does not respond for the machines of a request until the spec lets it. */
describe('a machine that a provider creates slowly', () => {
  let log: MemoryLog;
  let cloud: FakeCloud;
  let processes: Followers;
  let replica: Replica;
  let underWay: Promise<unknown>;
  let answer: () => void;
  let isSlow: boolean;
  /** Calls hang until it resolves; undefined: they do not. */
  let hangs: Promise<void> | undefined;
  let isHanging: boolean;

  const deliver = (task: QueuedTask): ReturnType<Replica['deliver']> =>
    replica.deliver(task, contextOf(1, new AbortController().signal));
  const next = (): readonly QueuedTask[] => processes.next();
  /** Runs all tasks until none follows; returns tasks that were requeued. */
  const settle = async (): Promise<readonly QueuedTask[]> => {
    const givenBack: QueuedTask[] = [];
    for (let tasks = next(); tasks.length > 0; tasks = next())
      for (const task of tasks) if ((await deliver(task)) !== undefined) givenBack.push(task);
    return givenBack;
  };
  const announced = (): readonly NodeName[] =>
    log.events.flatMap((event) => (event.type === 'VmsCreated' ? event.data.machines.map(({ name }) => name) : []));
  const keysOf = (tasks: readonly QueuedTask[]): readonly unknown[] => tasks.map(({ data }) => data['key']);

  beforeEach(async () => {
    log = new MemoryLog();
    cloud = new FakeCloud();
    processes = new Followers(log);
    isSlow = false;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    let isAsked = (): void => undefined;
    const wasAsked = new Promise<void>((resolve) => (isAsked = resolve));
    const after = async (operation: string): Promise<void> => {
      if (operation !== 'create machines' || !isSlow) return;
      isSlow = false;
      isAsked();
      await answered;
    };
    [hangs, isHanging] = [undefined, false];
    const before = async (): Promise<void> => {
      if (hangs === undefined) return;
      isHanging = true;
      await hangs;
    };
    const provider = new FakeProvider(cloud, { before, after });
    const kinds = new Map([['lab', { name: 'lab', open: () => provider }]]);
    replica = startReplica({ log, secrets: new MemorySecrets(), kinds }, new MemoryLeases().of('replica'));
    await log.say(ownNamespaceStream, {
      type: 'NamespaceCreated',
      data: { name: 'default' as never, description: '' },
    });
    await log.say(CONNECTIONS_STREAM, registered({ name: LAB }));
    await log.say(CONNECTIONS_STREAM, registered({ name: FAR }));
    await log.say(requestStream, requested());
    await settle();
    await log.say(requestStream, asked('slow', 1));
    for (const task of next()) await deliver(task);
    isSlow = true;
    const [ensure, ...others] = next().filter(({ type }) => type !== STATE_FACTS);
    expect([ensure?.data['key'], others]).toEqual(['EnsureMachines/request/slow', []]);
    underWay = deliver(ensure!);
    await wasAsked;
  });

  it('blocks no other request of its cluster [ORBITER 35]', async () => {
    await log.say(requestStream, asked('fast', 2));
    expect(await settle()).toEqual([]);
    expect(announced().slice(5)).toEqual([worker(4), worker(5)]);
    answer();
    await underWay;
    await settle();
    expect(announced().slice(5)).toEqual([worker(4), worker(5), worker(3)]);
  });

  it('delays no planning of another pool while a call hangs that its own planning needs [ORBITER 35]', async () => {
    answer();
    await underWay;
    await settle();
    const planned = (requestId: string): readonly NodeName[] =>
      log.events.flatMap(({ type, data }) =>
        type === 'VmsPlanned' && data.requestId === requestId ? data.machines.map(({ name }) => name) : [],
      );
    const hung = new Promise<void>((resolve) => (answer = resolve));
    hangs = hung;
    await log.say(requestStream, asked('hung', 1, FAR));
    const plan = next().find(({ data }) => data['key'] === 'PlanNodes/hung');
    expect(plan).toBeDefined();
    underWay = deliver(plan!);
    await eventually(async () => isHanging);
    hangs = undefined;
    await log.say(requestStream, asked('other', 2));
    expect(await settle()).toEqual([]);
    expect(planned('other')).toEqual([worker(4), worker(5)]);
    expect(announced()).toEqual(expect.arrayContaining([worker(4), worker(5)]));
    answer();
    await underWay;
    await settle();
    expect([planned('hung'), announced().at(-1)]).toEqual([[worker(6)], worker(6)]);
  });

  it('is deleted once it is created, and not before, if its request was abandoned', async () => {
    await log.say(requestStream, { type: 'NodesAbandoned', data: { uid: UID, requestId: 'slow', nodes: [] } });
    const waiting = await settle();
    expect(keysOf(waiting)).toEqual([`DeleteMachine/${worker(3)}`]);
    expect(cloud.machines.has(worker(3))).toBe(true);
    answer();
    await underWay;
    for (const task of waiting) await deliver(task);
    await settle();
    expect([cloud.machines.has(worker(3)), log.events.map(({ type }) => type).includes('VmDeleted')]).toEqual([
      false,
      true,
    ]);
  });

  it('is waited for by the deletion of its cluster', async () => {
    await log.say(requestStream, { type: 'ClusterDeletionRequested', data: { uid: UID } });
    await log.say({ ...requestStream, context: 'bootstrap' }, { type: 'ClusterDismantled', data: { uid: UID } });
    const waiting = await settle();
    expect(keysOf(waiting)).toEqual(['DeleteCluster']);
    expect(cloud.deletedUids.size).toBe(0);
    answer();
    await underWay;
    for (const task of waiting) await deliver(task);
    expect(log.events.at(-1)?.type).toBe('ClusterDeleted');
    expect(cloud.machines.size).toBe(0);
  });
});

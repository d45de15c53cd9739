import type { EventData, Fact, NodeName, OnFailure } from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { nodeSet, requested, UID } from '../../test/fixtures.js';
import { bootstrapStream } from '../../test/memory.service.js';
import { Story } from '../../test/story.js';
import { machineName } from './machines.planner.js';

const worker = (index: number): NodeName => machineName('demo', UID, 'worker', index);
const asked = (requestId: string, count: number, onFailure?: OnFailure): Fact => ({
  type: 'NodesRequested',
  data: { uid: UID, requestId, workers: [nodeSet(count)], ...(onFailure === undefined ? {} : { onFailure }) },
});
const retry: Fact = { type: 'ClusterRetryRequested', data: { uid: UID } };

describe('a request for nodes whose machines the provider does not create', () => {
  let story: Story;
  const announced = (): readonly EventData<'VmsCreated'>[] =>
    story.log.events.flatMap((event) => (event.type === 'VmsCreated' ? [event.data] : []));
  const count = (type: string): number => story.types().filter((one) => one === type).length;

  beforeEach(async () => {
    story = new Story();
    await story.begin();
    await story.request(requested());
    story.cloud.bootFailures.set(worker(3), 'InsufficientInstanceCapacity');
  });

  it('ends with the cause, its machines are deleted, and the cluster is unchanged [CB-Ladybug 29]', async () => {
    const before = story.cloud.machines.size;
    await story.request(asked('r1', 2));
    expect(story.last('VmsFailed')).toMatchObject({
      requestId: 'r1',
      machines: [worker(3), worker(4)],
      onFailure: 'rollback',
      reason: 'MachineCreationFailed',
      cause: { message: 'InsufficientInstanceCapacity' },
    });
    expect(count('InfrastructureFailed')).toBe(0);
    expect(count('VmDeleted')).toBe(2);
    expect(story.cloud.machines.size).toBe(before);
  });

  it('leaves capacity for the next request', async () => {
    await story.request(asked('r1', 1));
    await story.request(asked('r2', 1));
    expect(
      announced()
        .at(-1)
        ?.machines.map(({ name }) => name),
    ).toEqual([worker(4)]);
  });

  it('keeps running machines if requested, and a retry creates the rest', async () => {
    await story.request(asked('r1', 2, 'keep'));
    expect(story.last('VmsFailed')).toMatchObject({ onFailure: 'keep' });
    expect(count('VmDeleted')).toBe(0);
    expect(announced()).toHaveLength(1);
    story.cloud.bootFailures.clear();
    await story.request(retry);
    expect(
      announced()
        .at(-1)
        ?.machines.map(({ name }) => name),
    ).toEqual([worker(3), worker(4)]);
    expect(story.cloud.creations.get(`machine ${worker(4)}`)).toBe(1);
  });

  it('that was kept does not block the next request, and can be abandoned', async () => {
    await story.request(asked('r1', 2, 'keep'));
    await story.request(asked('r2', 1));
    expect(
      announced()
        .at(-1)
        ?.machines.map(({ name }) => name),
    ).toEqual([worker(5)]);
    await story.request({
      type: 'NodesAbandoned',
      data: { uid: UID, requestId: 'r1', nodes: [worker(3), worker(4)] },
    });
    expect([...story.cloud.machines.values()].map(({ name }) => name)).not.toContain(worker(4));
    expect(count('VmDeleted')).toBe(2);
  });

  it('drops one machine that was never announced, and a retry announces the others', async () => {
    await story.request(asked('r1', 2, 'keep'));
    await story.request({ type: 'NodeRemovalRequested', data: { uid: UID, node: worker(3) } });
    expect(story.last('VmDeleted')).toMatchObject({ name: worker(3) });
    expect(announced()).toHaveLength(1);
    await story.request(retry);
    expect(
      announced()
        .at(-1)
        ?.machines.map(({ name }) => name),
    ).toEqual([worker(4)]);
  });

  it('also ends with the cause if the provider is unreachable', async () => {
    story.outage = 'no route to host';
    await story.request(asked('r1', 1, 'keep'));
    expect(story.last('VmsFailed')).toMatchObject({ onFailure: 'keep', cause: { message: 'no route to host' } });
    story.outage = undefined;
    story.cloud.bootFailures.clear();
    await story.request(retry);
    expect(announced().at(-1)?.machines).toHaveLength(1);
  });
});

describe('a machine that the provider does not delete', () => {
  it('is stated with its cause and next attempt, with backoff; requests for more continue; a retry deletes it', async () => {
    const story = new Story();
    await story.begin();
    await story.request(requested());
    story.outage = 'termination protection';
    await story.log.say(bootstrapStream, { type: 'NodeRemoved', data: { uid: UID, node: worker(1) } });
    await story.settle();
    const first = story.last('VmDeletionFailed');
    expect(first).toMatchObject({
      machines: [worker(1)],
      attempt: 1,
      reason: 'MachineDeletionFailed',
      cause: { message: 'termination protection' },
    });
    expect(story.types()).not.toContain('InfrastructureFailed');

    story.outage = undefined;
    await story.request(asked('r1', 1));
    expect(story.last('VmsCreated').machines.map(({ name }) => name)).toEqual([worker(3)]);

    story.outage = 'termination protection';
    await story.request(retry);
    expect(story.last('VmDeletionFailed').attempt).toBe(1); // The count restarts with each retry.
    story.outage = undefined;
    await story.request(retry);
    expect(story.last('VmDeleted')).toMatchObject({ name: worker(1) });
  });
});

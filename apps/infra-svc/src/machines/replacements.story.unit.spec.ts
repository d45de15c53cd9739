import { declaredOf, type Fact, type NodeName, type ReplacementOrder } from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { clusterSpec, nodeSet, registered, requested, UID } from '../../test/fixtures.js';
import { bootstrapStream } from '../../test/memory.service.js';
import { Story } from '../../test/story.js';
import { machineName } from './machines.planner.js';

const worker = (index: number): NodeName => machineName('demo', UID, 'worker', index);
const replaced = (node: NodeName, order: ReplacementOrder, requestId = 'r1'): Fact => ({
  type: 'NodeReplacementRequested',
  data: { uid: UID, requestId, node, order, reason: '' },
});

describe('the machine of a replaced node', () => {
  let story: Story;
  const announced = (): readonly string[] => story.last('VmsCreated').machines.map(({ name }) => name);
  const machines = (): readonly string[] => [...story.cloud.machines.values()].map(({ name }) => name).sort();
  const leave = async (node: NodeName): Promise<void> => {
    await story.log.say(bootstrapStream, { type: 'NodeRemoved', data: { uid: UID, node } });
    await story.settle();
  };

  beforeEach(async () => {
    story = new Story();
    await story.begin();
    await story.request(requested(clusterSpec({ workers: [nodeSet(2)] })));
  });

  it('is followed by a similar one with a new name before it is deleted', async () => {
    await story.request(replaced(worker(1), 'create-first'));
    expect(story.last('VmsPlanned')).toMatchObject({
      requestId: 'r1',
      machines: [{ name: worker(3), role: 'worker', pool: 'worker-1', spec: 'lab.medium', leader: false }],
    });
    expect(announced()).toEqual([worker(3)]);
    expect(machines()).toEqual(expect.arrayContaining([worker(1), worker(3)]));
    await leave(worker(1));
    expect(story.last('VmDeleted')).toMatchObject({ name: worker(1) });
    expect(machines()).not.toContain(worker(1));
  });

  it('is deleted first if requested, and only then the next one is planned', async () => {
    await story.request(replaced(worker(1), 'remove-first'));
    expect(story.types().filter((type) => type === 'VmsPlanned')).toHaveLength(1);
    await leave(worker(1));
    expect(story.last('VmsPlanned')).toMatchObject({ requestId: 'r1', machines: [{ name: worker(3) }] });
    expect(announced()).toEqual([worker(3)]);
    expect(machines()).not.toContain(worker(1));
  });

  it('is kept if the next one cannot be created', async () => {
    story.cloud.bootFailures.set(worker(3), 'InsufficientInstanceCapacity');
    await story.request(replaced(worker(1), 'create-first'));
    expect(story.last('VmsFailed')).toMatchObject({ requestId: 'r1', machines: [worker(3)], onFailure: 'rollback' });
    expect(machines()).toContain(worker(1));
    expect(machines()).not.toContain(worker(3));
  });

  it('leaves a vacancy that a retry fills, if it was deleted first and the next one cannot be created', async () => {
    story.cloud.bootFailures.set(worker(3), 'InsufficientInstanceCapacity');
    await story.request(replaced(worker(1), 'remove-first'));
    await leave(worker(1));
    expect(story.last('VmsFailed')).toMatchObject({ requestId: 'r1', onFailure: 'keep' });
    story.cloud.bootFailures.clear();
    await story.request({ type: 'ClusterRetryRequested', data: { uid: UID } });
    expect(announced()).toEqual([worker(3)]);
  });

  it('fills such a vacancy once the provider creates the machine, after one failure per reason', async () => {
    const failures = () => story.types().filter((type) => type === 'VmsFailed').length;
    story.cloud.bootFailures.set(worker(3), 'InsufficientInstanceCapacity');
    await story.request(replaced(worker(1), 'remove-first'));
    await leave(worker(1));
    for (let waits = 0; waits < 5; waits += 1) await story.wait();
    expect([failures(), announced()]).toEqual([1, expect.not.arrayContaining([worker(3)])]);
    story.cloud.bootFailures.set(worker(3), 'InternalError');
    for (let waits = 0; waits < 5; waits += 1) await story.wait();
    expect([failures(), story.last('VmsFailed').cause.message]).toEqual([2, expect.stringContaining('InternalError')]);
    story.cloud.bootFailures.clear();
    for (let waits = 0; waits < 5; waits += 1) await story.wait();
    expect([failures(), announced()]).toEqual([2, [worker(3)]]);
    expect(story.types().filter((type) => type === 'VmsPlanned')).toHaveLength(2);
  });

  it('leaves such a vacancy also if the next one is refused', async () => {
    await story.request(replaced(worker(1), 'remove-first'));
    await story.begin(registered({ quota: { nodes: 1 } }));
    await leave(worker(1));
    expect(story.last('VmsFailed')).toMatchObject({ requestId: 'r1', machines: [], onFailure: 'keep' });
    await story.begin(registered());
    await story.request({ type: 'ClusterRetryRequested', data: { uid: UID } });
    expect(announced()).toEqual([worker(3)]);
  });

  it('is refused once per reason, however often it is checked, and is created once the reason no longer applies', async () => {
    const failures = () => story.types().filter((type) => type === 'VmsFailed').length;
    await story.request(replaced(worker(1), 'remove-first'));
    await story.begin(registered({ quota: { nodes: 1 } }));
    await leave(worker(1));
    for (let minutes = 0; minutes < 5; minutes += 1) await story.wait();
    expect([failures(), story.last('VmsFailed').cause.message]).toEqual([1, expect.stringContaining('1 node')]);
    await story.begin(registered({ quota: { nodes: 2 } }));
    for (let minutes = 0; minutes < 5; minutes += 1) await story.wait();
    expect([failures(), story.last('VmsFailed').cause.message]).toEqual([2, expect.stringContaining('2 nodes')]);
    story.outage = 'the provider does not answer';
    const { length } = story.types();
    await story.begin(registered());
    await story.wait();
    expect(story.types().slice(length)).not.toContain('VmsFailed');
    story.outage = undefined;
    await story.wait();
    expect(announced()).toEqual([worker(3)]);
    await story.wait();
    expect([failures(), story.types().filter((type) => type === 'VmsPlanned').length]).toEqual([2, 2]);
  });

  it('of a control plane is kept if the API has its address: the rollout fails with that cause', async () => {
    const alone = new Story();
    alone.cloud.address = { host: '127.1.0.1', placement: 'elsewhere' };
    await alone.begin();
    const [spec, node] = [clusterSpec({ controlPlane: nodeSet(1) }), machineName('demo', UID, 'control-plane', 1)];
    await alone.request(requested(spec));
    await alone.log.say(bootstrapStream, {
      type: 'NodeReady',
      data: { uid: UID, node, revision: 1, software: {} },
    } as unknown as Fact);
    const declared = declaredOf(spec);
    await alone.request(
      { type: 'PoolRolloutRequested', data: { uid: UID, requestId: 'r1', pool: 'control-plane' } },
      {
        type: 'ClusterSpecChanged',
        data: {
          uid: UID,
          revision: 1,
          spec: { ...declared, controlPlane: { ...declared.controlPlane, machineType: 'lab.large' } },
        },
      },
    );
    expect(alone.last('NodeReplacementPlanned')).toMatchObject({ node, order: 'create-first' });
    expect(alone.last('NodesRejected')).toMatchObject({ requestId: 'r1-1', code: 'cluster.api-unbalanced' });
    expect(alone.last('PoolRolloutFailed')).toMatchObject({ requestId: 'r1', pool: 'control-plane' });
    expect([...alone.cloud.machines.values()].map(({ name }) => name)).toContain(node);
  });

  it('is replaced once, whatever is requested in the meantime', async () => {
    await story.request(replaced(worker(1), 'create-first'), replaced(worker(1), 'create-first', 'r2'));
    expect(story.types().filter((type) => type === 'VmsPlanned')).toHaveLength(2);
    await story.request(replaced(worker(9), 'create-first', 'r3'));
    expect(story.types().filter((type) => type === 'VmsPlanned')).toHaveLength(2);
  });

  it('is not counted twice by quotas if it is deleted first', async () => {
    await story.begin(registered({ quota: { nodes: 5 } }));
    await story.request(replaced(worker(1), 'create-first'));
    expect(story.last('NodesRejected')).toMatchObject({ requestId: 'r1', code: 'quota.exceeded' });
    await story.request(replaced(worker(1), 'remove-first', 'r2'));
    await leave(worker(1));
    expect(story.last('VmsPlanned')).toMatchObject({ requestId: 'r2' });
  });
});

import type { Fact, NodeName } from '@fairlead/contracts';
import type { Handle, TaskContext } from '@fairlead/event-sourcing/jetstream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { controlPlane, startLabCluster, type LabCluster } from '../../../../libs/kubernetes/test/lab.cluster.js';
import { Etcd } from '../etcd/etcd.effects.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { uid } from '../nodes/nodes.fixtures.js';
import type { RecordAction } from './actions.decider.js';
import { ActionsEffects } from './actions.effects.js';
import { REQUEST, START, Story } from './actions.fixtures.js';
import type { AllowChange } from './actions.reconciler.js';
import type { Actions } from './actions.state.js';

const { signal } = new AbortController();

describe('the reboot of a control plane', () => {
  let lab: LabCluster;
  let said: readonly string[];
  let recorded: readonly Fact[];

  beforeEach(async () => {
    lab = await startLabCluster({ controlPlanes: 3, workers: 0 });
    [said, recorded] = [[], []];
  });
  afterEach(() => lab.stop());

  const leader = async (): Promise<string | undefined> => {
    const { members } = await new Etcd(lab.cluster, signal).facts(await lab.cluster.nodes());
    return members.find((member) => member.leader)?.name;
  };

  type Task = TaskContext<Actions, RecordAction, AllowChange>;

  const run = async (
    node: string,
    action: 'reboot' | 'drain',
    effect: (effects: ActionsEffects, task: Task) => Promise<unknown>,
  ): Promise<void> => {
    const story = new Story({ controlPlanes: 0, workers: 0 });
    for (let index = 1; index <= 3; index += 1) story.join(controlPlane(index), 'control-plane');
    story.ask(action, [node], { drain: false }).settle();
    const handle = (async (_decider: unknown, _stream: unknown, { type }: { readonly type: string }) => {
      said = [...said, type];
      return { events: [], state: {}, seq: 1 };
    }) as unknown as Handle;
    const clusters = { of: async () => lab.cluster } as unknown as ClusterAccess;
    const clock = { now: () => new Date(START) };
    const effects = new ActionsEffects(handle, clusters, { lookEveryMs: 1, sliceMs: 1 }, clock);
    const unlessBooted = { since: START, bootId: 'b1' };
    const data: AllowChange = { uid, requestId: REQUEST, action, node: node as NodeName, unlessBooted };
    const record = async (command: RecordAction): Promise<void> => {
      recorded = [...recorded, command.data.fact];
    };
    const task = {
      id: 't',
      namespace: 'default',
      cluster: 'demo',
      cause: {},
      signal,
      state: story.state,
      data,
      record,
    };
    await effect(effects, task as unknown as Task);
  };

  /** Runs the task that permits the agent to reboot the node. */
  const allow = (node: string): Promise<void> => run(node, 'reboot', (effects, task) => effects.allowChange(task));

  it('moves the etcd leader before it asks the agent, and states it', async () => {
    expect(await leader()).toBe(controlPlane(1));
    await allow(controlPlane(1));
    expect([await leader(), said]).toEqual([controlPlane(2), ['AskForChange']]);
    const moved = { uid, upgradeId: null, operation: null, node: controlPlane(1), to: controlPlane(2) };
    expect(recorded).toEqual([{ type: 'EtcdLeaderMoved', data: moved }]);
  });

  it('keeps the leader if it is another member', async () => {
    await allow(controlPlane(3));
    expect([await leader(), said, recorded]).toEqual([controlPlane(1), ['AskForChange'], []]);
  });

  it('is not blocked if Kubernetes does not know the node, unlike a drain', async () => {
    await lab.cluster.deleteNode(controlPlane(3));
    const cordon = (effects: ActionsEffects, task: Task) => effects.cordonNode(task);
    await run(controlPlane(3), 'reboot', cordon);
    expect(recorded).toMatchObject([{ type: 'NodeActionCordoned', data: { byRequest: false } }]);
    await expect(run(controlPlane(3), 'drain', cordon)).rejects.toMatchObject({
      message: 'Kubernetes does not know the node',
    });
  });

  it('is not requested while etcd, according to its members, would lose its quorum', async () => {
    lab.simulated.etcd.set(controlPlane(2), { running: false });
    await expect(allow(controlPlane(3))).rejects.toMatchObject({
      operation: 'reboot',
      target: controlPlane(3),
      message: 'etcd has 2 healthy of 3 members and would lose its quorum without demo-cp-3',
    });
    expect([await leader(), said]).toEqual([controlPlane(1), []]);
    // A member that is already down has no vote to lose.
    await allow(controlPlane(2));
    expect(said).toEqual(['AskForChange']);
  });
});

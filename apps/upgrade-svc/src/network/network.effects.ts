import { isRefusal, ExternalFailure, type NodeName } from '@fairlead/contracts';
import { HANDLE, OnTask, type Handle, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import pLimit from 'p-limit';
import { desiredNetwork, type SetDesiredNetwork } from './network.decider.js';
import { planner } from './network.planner.js';
import type { SetNetwork } from './network.reconciler.js';
import type { Network } from './network.state.js';

const DECISIONS_AT_ONCE = 8;

/** Decides the network configuration of each node in its own stream. */
@Controller()
export class NetworkEffects {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  @OnTask('SetDesiredNetwork', { attemptsMax: 20, backoffFirstMs: 500, timeoutMs: 10 * 60_000 })
  async setDesiredNetwork(task: TaskContext<Network, never, SetNetwork>): Promise<void> {
    const { state, data, signal } = task;
    if (state.status === 'none') return;
    const plan = planner(state.basis);
    const limit = pLimit(DECISIONS_AT_ONCE);
    const decide = async (name: NodeName): Promise<void> => {
      signal.throwIfAborted();
      const node = state.basis.nodes[name];
      if (node === undefined) return;
      const again = data.again ? (state.said[name]?.attempt ?? null) : null;
      const { content, revision } = plan(node);
      await this.say(task, { uid: state.uid, node: name, revision, content, again });
    };
    await Promise.all(data.nodes.map((name) => limit(() => decide(name))));
  }

  private async say(
    { namespace, cluster, cause }: TaskContext<Network, never, SetNetwork>,
    data: SetDesiredNetwork['data'],
  ): Promise<void> {
    const stream = { namespace, cluster, context: `desired-${data.node}` };
    const outcome = await this.handle(desiredNetwork, stream, { type: 'SetDesiredNetwork', data }, cause);
    if (isRefusal(outcome))
      throw new ExternalFailure({ operation: 'SetDesiredNetwork', target: data.node, message: outcome.message });
  }
}

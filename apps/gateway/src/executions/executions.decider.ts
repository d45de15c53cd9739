import {
  EXEC_LIMITS,
  executionsAfter,
  nearestOf,
  refuse,
  type Executions,
  type Fact,
  type NodeName,
  type Refusal,
} from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { presentAfter, type PresentCluster } from '../lifecycle/present.js';

interface Named {
  readonly namespace: string;
  readonly cluster: string;
}

export type RequestExec = Command<
  'RequestExec',
  Named & {
    readonly requestId: string;
    readonly node: NodeName;
    readonly purpose: 'exec' | 'logs';
    readonly command: readonly string[];
    readonly timeoutSeconds: number;
  }
>;
/** Decides nothing: for its state. */
export type ReadExecutions = Command<'ReadExecutions', Named>;

export interface ExecutionsState {
  readonly cluster: PresentCluster | undefined;
  readonly executions: Executions | undefined;
}

const unknownNode = ({ nodes }: PresentCluster, { namespace, cluster, node }: RequestExec['data']): Refusal => {
  const refusal = refuse('node.unknown', { namespace, cluster, node });
  const nearest = nearestOf(node, [...nodes.keys()]);
  return nearest === undefined ? refusal : { ...refusal, help: `Did you mean ${nearest}?` };
};

const bytesOf = (command: readonly string[]): number =>
  command.reduce((sum, word) => sum + new TextEncoder().encode(word).length + 1, 0);

const request = (
  { cluster, executions: state }: ExecutionsState,
  { data }: RequestExec,
): readonly Fact<'NodeExecRequested'>[] | Refusal => {
  const { namespace, cluster: name, requestId, node, purpose, command, timeoutSeconds } = data;
  if (cluster === undefined) return refuse('cluster.unknown', { namespace, cluster: name });
  if (cluster.phase === 'Deleting' || state === undefined) return refuse('cluster.deleting', { cluster: name });
  if (!cluster.nodes.has(node)) return unknownNode(cluster, data);
  if (state.open[requestId] !== undefined || state.ended[requestId] !== undefined) return nothing;
  const { bytes: max, open: most } = EXEC_LIMITS;
  if (bytesOf(command) > max) return refuse('node.exec-too-long', { max }, 'command');
  const open = Object.keys(state.open).length;
  if (open >= most) return refuse('node.exec-busy', { cluster: name, open });
  // Also while the cluster is paused: it is the operator's own command, and a pause is when hosts are looked at by hand.
  const asked = { uid: cluster.uid, requestId, node, purpose, command: [...command], timeoutSeconds };
  return [{ type: 'NodeExecRequested', data: asked }];
};

/** What operators may run on nodes. */
export const executions: Decider<ExecutionsState, RequestExec | ReadExecutions, Fact<'NodeExecRequested'>> = {
  initial: { cluster: undefined, executions: undefined },
  reads: 'cluster',
  decide: (state, command) => (command.type === 'ReadExecutions' ? nothing : request(state, command)),
  evolve: (state, event) => ({
    cluster: presentAfter(state.cluster, event),
    executions: executionsAfter(state.executions, event),
  }),
};

import {
  EXEC_LIMITS,
  FOLLOW_LIMITS,
  isRefusal,
  nearestOf,
  refuse,
  type EventData,
  type Fact,
  type NodeName,
  type Refusal,
} from '@fairlead/contracts';
import { executionsAfter, type Executions } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { membershipAfter, type ClusterMembership } from '../lifecycle/membership.js';

interface NamedCluster {
  readonly namespace: string;
  readonly cluster: string;
}

export type RequestExec = Command<
  'RequestExec',
  NamedCluster & {
    readonly requestId: string;
    readonly node: NodeName;
    readonly purpose: 'exec' | 'logs';
    readonly command: readonly string[];
    readonly timeoutSeconds: number;
  }
>;
export type RequestFollow = Command<
  'RequestFollow',
  NamedCluster & Pick<EventData<'NodeLogsFollowRequested'>, 'requestId' | 'node' | 'unit' | 'lines' | 'sinceSeconds'>
>;
/** Decides nothing: for its state. */
export type ReadExecutions = Command<'ReadExecutions', NamedCluster>;

export interface ExecutionsState {
  readonly cluster: ClusterMembership | undefined;
  readonly executions: Executions | undefined;
}

type NamedNode = NamedCluster & { readonly node: NodeName };

const unknownNode = ({ nodes }: ClusterMembership, { namespace, cluster, node }: NamedNode): Refusal => {
  const refusal = refuse('node.unknown', { namespace, cluster, node });
  const nearest = nearestOf(node, Object.keys(nodes));
  return nearest === undefined ? refusal : { ...refusal, help: `Did you mean ${nearest}?` };
};

const bytesOf = (command: readonly string[]): number =>
  command.reduce((sum, word) => sum + new TextEncoder().encode(word).length + 1, 0);

interface Present {
  readonly cluster: ClusterMembership;
  readonly state: Executions;
}

const present = ({ cluster, executions: state }: ExecutionsState, data: NamedNode): Present | Refusal => {
  const { namespace, cluster: name, node } = data;
  if (cluster === undefined) return refuse('cluster.unknown', { namespace, cluster: name });
  if (cluster.phase === 'Deleting' || state === undefined) return refuse('cluster.deleting', { cluster: name });
  return Object.hasOwn(cluster.nodes, node) ? { cluster, state } : unknownNode(cluster, data);
};

const follow = (
  found: ExecutionsState,
  { data }: RequestFollow,
): readonly Fact<'NodeLogsFollowRequested'>[] | Refusal => {
  const there = present(found, data);
  if (isRefusal(there)) return there;
  const { namespace: _namespace, cluster: name, ...asked } = data;
  const open = Object.keys(there.state.follows).length;
  if (open >= FOLLOW_LIMITS.open) return refuse('node.follow-busy', { cluster: name, open });
  return [{ type: 'NodeLogsFollowRequested', data: { uid: there.cluster.uid, ...asked } }];
};

const request = (found: ExecutionsState, { data }: RequestExec): readonly Fact<'NodeExecRequested'>[] | Refusal => {
  const { cluster: name, requestId, node, purpose, command, timeoutSeconds } = data;
  const there = present(found, data);
  if (isRefusal(there)) return there;
  const { cluster, state } = there;
  if (state.open[requestId] !== undefined || state.ended[requestId] !== undefined) return nothing;
  const { bytes: max, open: most } = EXEC_LIMITS;
  if (bytesOf(command) > max) return refuse('node.exec-too-long', { max }, 'command');
  const open = Object.keys(state.open).length;
  if (open >= most) return refuse('node.exec-busy', { cluster: name, open });
  // Also while the cluster is paused: it is the operator's own command, and a pause is when hosts are looked at by hand.
  const asked = { uid: cluster.uid, requestId, node, purpose, command: [...command], timeoutSeconds };
  return [{ type: 'NodeExecRequested', data: asked }];
};

/** What operators may run on nodes, and which logs they may follow. */
export const executions: Decider<
  ExecutionsState,
  RequestExec | RequestFollow | ReadExecutions,
  Fact<'NodeExecRequested' | 'NodeLogsFollowRequested'>
> = {
  initial: { cluster: undefined, executions: undefined },
  reads: 'cluster',
  decide: (state, command) => {
    switch (command.type) {
      case 'RequestExec':
        return request(state, command);
      case 'RequestFollow':
        return follow(state, command);
      case 'ReadExecutions':
        return nothing;
    }
  },
  evolve: (state, event) => ({
    cluster: membershipAfter(state.cluster, event),
    executions: executionsAfter(state.executions, event),
  }),
};

import type { Cause, ClusterUid, EventData, Fact, SecretRef } from '@fairlead/contracts';
import { executionsAfter, type Executions, type OpenExecution, type OpenFollow } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { bootstrap } from '../bootstrap/bootstrap.decider.js';
import type { Bootstrap, Host } from '../bootstrap/bootstrap.state.js';

interface RequestRef {
  readonly uid: ClusterUid;
  readonly requestId: string;
}

interface Ran {
  readonly exitCode: number;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly truncated: boolean;
  readonly tookMs: number;
  readonly outputRef: SecretRef;
  readonly expiresAt: string;
}

export type RecordStarted = Command<'RecordStarted', RequestRef>;
export type RecordFinished = Command<'RecordFinished', RequestRef & Ran>;
export type RecordFailed = Command<'RecordFailed', RequestRef & { readonly cause: Cause }>;
export type RecordFollowEnded = Command<
  'RecordFollowEnded',
  RequestRef & Omit<EventData<'NodeLogsFollowEnded'>, 'node'>
>;
export type RecordRemoved = Command<'RecordRemoved', RequestRef>;
export type ExecutionsCommand = RecordStarted | RecordFinished | RecordFailed | RecordRemoved | RecordFollowEnded;

export type ExecutionsFact = Fact<
  'NodeExecStarted' | 'NodeExecFinished' | 'NodeExecFailed' | 'NodeExecOutputRemoved' | 'NodeLogsFollowEnded'
>;

/** Commands on nodes, with their hosts. */
export interface ExecutionsState {
  readonly executions: Executions | undefined;
  readonly bootstrap: Bootstrap;
}

const INITIAL: ExecutionsState = { executions: undefined, bootstrap: bootstrap.initial };

export const openExecution = (
  { executions }: ExecutionsState,
  { uid, requestId }: RequestRef,
): OpenExecution | undefined => (executions?.uid === uid ? executions.open[requestId] : undefined);

export const openFollow = ({ executions }: ExecutionsState, { uid, requestId }: RequestRef): OpenFollow | undefined =>
  executions?.uid === uid ? executions.follows[requestId] : undefined;

/** undefined: it has no machine, or no longer. */
export const hostNamed = ({ bootstrap: state }: ExecutionsState, node: string): Host | undefined =>
  state.status === 'absent' ? undefined : state.cluster.hosts[node];

const removed = ({ executions }: ExecutionsState, { uid, requestId }: RequestRef): readonly ExecutionsFact[] => {
  const ended = executions?.uid === uid ? executions.ended[requestId] : undefined;
  if (ended?.outcome !== 'finished') return nothing;
  return [{ type: 'NodeExecOutputRemoved', data: { uid, requestId, node: ended.node } }];
};

const followEnded = (state: ExecutionsState, { data }: RecordFollowEnded): readonly ExecutionsFact[] => {
  const open = openFollow(state, data);
  return open === undefined ? nothing : [{ type: 'NodeLogsFollowEnded', data: { ...data, node: open.node } }];
};

const decide = (state: ExecutionsState, command: ExecutionsCommand): readonly ExecutionsFact[] => {
  if (command.type === 'RecordRemoved') return removed(state, command.data);
  if (command.type === 'RecordFollowEnded') return followEnded(state, command);
  const open = openExecution(state, command.data);
  if (open === undefined) return nothing;
  const { uid, requestId } = command.data;
  const { node, startedAt } = open;
  switch (command.type) {
    case 'RecordStarted':
      return startedAt === null ? [{ type: 'NodeExecStarted', data: { uid, requestId, node } }] : nothing;
    case 'RecordFinished':
      return [{ type: 'NodeExecFinished', data: { ...command.data, node } }];
    case 'RecordFailed':
      return [{ type: 'NodeExecFailed', data: { uid, requestId, node, cause: command.data.cause } }];
  }
};

/** Operators' commands on nodes, each run at most once, and the logs that they follow. */
export const executions: Decider<ExecutionsState, ExecutionsCommand, ExecutionsFact> = {
  initial: INITIAL,
  reads: 'cluster',
  decide,

  evolve: (state, event) => {
    const after = {
      executions: executionsAfter(state.executions, event),
      bootstrap: bootstrap.evolve(state.bootstrap, event),
    };
    return after.executions === undefined && after.bootstrap.status === 'absent' ? INITIAL : after;
  },
};

import { CHANGE_ATTEMPTS_MAX, type Cause, type EventData } from '@fairlead/contracts';

type Progress = EventData<'NodeChangeProgressed'>;

const MESSAGE_LENGTH_MAX = 4_000;
const COMMAND_LENGTH_MAX = 300;

/** A cause with an agent's message, truncated to its last part, which names the failure. */
export const agentCause = (node: string, operation: string, message: string): Cause => ({
  operation: operation.slice(0, COMMAND_LENGTH_MAX),
  target: node,
  message: message.slice(-MESSAGE_LENGTH_MAX),
});

/** Why an attempt at a phase of a change failed; undefined: it did not. */
export const attemptFailure = ({ node, phase, status, command, message }: Progress): Cause | undefined =>
  status === 'failed' ? agentCause(node, command ?? phase, message ?? 'the agent gave no reason') : undefined;

/** Why the agent has given up a change, i.e. its last attempt failed; undefined: it has not. */
export const finalFailure = (progress: Progress): Cause | undefined =>
  progress.attempt < CHANGE_ATTEMPTS_MAX ? undefined : attemptFailure(progress);

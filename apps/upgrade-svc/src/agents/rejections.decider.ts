import type { Fact } from '@fairlead/contracts';
import type { Command, Decider } from '@fairlead/event-sourcing';

export type ReportRejections = Command<'ReportRejections', Fact<'AgentMessagesRejected'>['data']>;

/** Informs operators that messages of a node's agent are rejected. Stream `health-<node>`. */
export const rejections: Decider<null, ReportRejections, Fact<'AgentMessagesRejected'>> = {
  initial: null,
  decide: (_state, { data }) => [{ type: 'AgentMessagesRejected', data }],
  evolve: () => null,
};

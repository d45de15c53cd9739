import type { EventType } from './events/catalogue.js';

/**
 * The NATS subjects between agents and services. Agents are clients of their own NATS account, which exports
 * `agent.in.>` and `hb.>` to the account of the services and imports `agent.out.>` from it. Nothing else crosses, and
 * no service uses a reply subject: an answer goes to the subject of the node that asked.
 */
export interface NodeAddress {
  readonly namespace: string;
  readonly cluster: string;
  readonly node: string;
}

const placeOf = ({ namespace, cluster, node }: NodeAddress): string => `${namespace}.${cluster}.${node}`;

/** An agent states a fact about its node: an `AgentFactMessage`. */
export const agentFactSubject = (address: NodeAddress, type: EventType): string =>
  `agent.in.${placeOf(address)}.fact.${type}`;

/** An agent requests its desired state and its last reported facts: an `AgentSyncMessage`. */
export const agentSyncSubject = (address: NodeAddress): string => `agent.in.${placeOf(address)}.sync`;

/** An agent asks for a new credential: an `AgentRenewMessage`. */
export const agentRenewSubject = (address: NodeAddress): string => `agent.in.${placeOf(address)}.renew`;

/** A host that joined by itself replies to an order: a `HostReply`. */
export const hostReplySubject = (address: NodeAddress): string => `agent.in.${placeOf(address)}.reply`;

/** Messages from services to an agent; `order` is a `HostOrder` for the channel of a host that joined by itself. */
export type AgentOutput = 'recorded' | 'desired' | 'network' | 'state' | 'credentials' | 'order';

export const agentOutputSubject = (address: NodeAddress, output: AgentOutput): string =>
  `agent.out.${placeOf(address)}.${output}`;

/** Matches everything that services send to one agent. */
export const agentOutputs = (address: NodeAddress): string => `agent.out.${placeOf(address)}.*`;

export const AGENT_FACTS_FILTER = 'agent.in.*.*.*.fact.*';
export const AGENT_SYNC_FILTER = 'agent.in.*.*.*.sync';
export const AGENT_RENEW_FILTER = 'agent.in.*.*.*.renew';
export const HOST_REPLY_FILTER = 'agent.in.*.*.*.reply';

/** Subjects that the nodes' account exports to the services' account. */
export const AGENT_INPUT_EXPORTS = ['agent.in.>', 'hb.>'] as const;
/** Subjects that the services' account exports to the nodes' account. */
export const AGENT_OUTPUT_EXPORTS = ['agent.out.>'] as const;

/** Maximum size of a message from an agent; larger messages are rejected. */
export const AGENT_MESSAGE_MAX_BYTES = 32 * 1024;

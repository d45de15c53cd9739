import {
  AGENT_EVENT_TYPES,
  AGENT_MESSAGE_MAX_BYTES,
  agentFactData,
  AgentFactMessage,
  isStorableJson,
  parseAgentInput,
  type EventType,
  type Fact,
  type NodeAddress,
} from '@fairlead/contracts';
import { parseJson } from '@fairlead/parsers';

/** Facts are flat; the deepest is a list of certificates with their fields. */
const DEPTH_MAX = 8;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A fact from an agent and its node. The server guarantees only the subject. */
export interface StatedFact {
  readonly kind: 'stated';
  readonly address: NodeAddress;
  readonly id: string;
  /** By the clock of the node. */
  readonly time: string;
  readonly desired: string | null;
  readonly uid: string;
  readonly fact: Fact;
}

export type FactRejection = 'invalid' | 'other-node' | 'other-cluster' | 'unknown-node' | 'too-many';

export interface RejectedMessage {
  readonly kind: 'rejected';
  readonly reason: FactRejection;
  readonly detail: string;
  /** The sender and the ID, as far as they could be parsed, because the sender waits for a reply. */
  readonly address: NodeAddress | null;
  readonly id: string | null;
}

type Sender = Pick<RejectedMessage, 'address' | 'id'>;

export const rejected = (reason: FactRejection, detail: string, sender: Sender): RejectedMessage => ({
  kind: 'rejected',
  reason,
  detail,
  address: sender.address,
  id: sender.id,
});

const jsonIn = (bytes: Uint8Array): unknown => {
  try {
    return parseJson(utf8.decode(bytes), { lengthMax: AGENT_MESSAGE_MAX_BYTES });
  } catch {
    return undefined; // Not UTF-8 or not JSON: no schema accepts it.
  }
};

const firstIssue = (error: { readonly issues: readonly { path: PropertyKey[]; message: string }[] }): string => {
  const [issue] = error.issues;
  return issue === undefined ? 'does not match the schema' : `${issue.path.map(String).join('.')}: ${issue.message}`;
};

const factIn = (address: NodeAddress, type: EventType, message: AgentFactMessage): StatedFact | RejectedMessage => {
  const { id, time, desired } = message;
  const data = agentFactData(type).safeParse(message.data);
  if (!data.success) return rejected('invalid', `${type}: ${firstIssue(data.error)}`, { address, id });
  const { node, uid } = data.data;
  if (node !== address.node) return rejected('other-node', `${type} names another node`, { address, id });
  return { kind: 'stated', address, id, time, desired, uid: String(uid), fact: { type, data: data.data } as Fact };
};

const UNKNOWN_SENDER: Sender = { address: null, id: null };

/** Parses the fact in a message below `agent.in`, if its sender may state it. */
export const readStatedFact = (subject: string, bytes: Uint8Array): StatedFact | RejectedMessage => {
  const input = parseAgentInput(subject);
  if (input === undefined) return rejected('invalid', 'the subject names no node', UNKNOWN_SENDER);
  const { type, namespace, cluster, node } = input;
  const address = { namespace, cluster, node };
  const invalid = (detail: string, id: string | null = null): RejectedMessage =>
    rejected('invalid', detail, { address, id });
  if (type === undefined || !AGENT_EVENT_TYPES.includes(type)) return invalid('agents state no such fact');
  if (bytes.length > AGENT_MESSAGE_MAX_BYTES) return invalid(`${type}: ${bytes.length} bytes are too many`);
  const json = jsonIn(bytes);
  const message = AgentFactMessage.safeParse(json);
  if (!message.success) return invalid(`${type}: ${firstIssue(message.error)}`);
  if (!isStorableJson(json, DEPTH_MAX))
    return invalid(`${type}: it is nested too deep or holds text that cannot be stored`, message.data.id);
  return factIn(address, type, message.data);
};

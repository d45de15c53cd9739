import type { z } from 'zod';
import type { NodeAddress } from './agent.subjects.js';
import { EVENTS, isEventType, type EventType } from './events/catalogue.js';

// The parts of agent facts that only services need. A separate file keeps the schemas of all events out of the agent's
// bundle.

/** The types of facts that an agent may state about its own node. */
export const AGENT_EVENT_TYPES: readonly EventType[] = (Object.keys(EVENTS) as EventType[]).filter(
  (type) => EVENTS[type].writer === 'node-agent',
);

/**
 * The node in a subject below `agent.in`, and the type of the fact if the subject carries one; undefined for other
 * subjects.
 */
export const parseAgentInput = (
  subject: string,
): (NodeAddress & { readonly input: string; readonly type: EventType | undefined }) | undefined => {
  const [prefix, direction, namespace, cluster, node, input, type, ...rest] = subject.split('.');
  if (prefix !== 'agent' || direction !== 'in' || rest.length > 0) return undefined;
  if (namespace === undefined || cluster === undefined || node === undefined || input === undefined) return undefined;
  return { namespace, cluster, node, input, type: type !== undefined && isEventType(type) ? type : undefined };
};

/** The schema for the data of an agent's fact of this type; unknown fields from newer agents are dropped. */
export const agentFactData = (type: EventType): z.ZodType<Readonly<Record<string, unknown>>> =>
  (EVENTS[type].data as unknown as z.ZodObject).strip();

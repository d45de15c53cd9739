import type { z } from 'zod';
import type { NodeAddress } from './agent.subjects.js';
import { EVENTS, isEventType, type EventType } from './events/catalogue.js';

// What services need to know of the facts of agents. The program of an agent does not contain it, and so not the schemas of all events.

/** The types of facts that an agent may state about its own node. */
export const AGENT_EVENT_TYPES: readonly EventType[] = (Object.keys(EVENTS) as EventType[]).filter(
  (type) => EVENTS[type].writer === 'node-agent',
);

/** The node that a subject below `agent.in` belongs to, and the fact's type if it carries one; undefined: no such subject. */
export const parseAgentInput = (
  subject: string,
): (NodeAddress & { readonly input: string; readonly type: EventType | undefined }) | undefined => {
  const [prefix, direction, namespace, cluster, node, input, type, ...rest] = subject.split('.');
  if (prefix !== 'agent' || direction !== 'in' || rest.length > 0) return undefined;
  if (namespace === undefined || cluster === undefined || node === undefined || input === undefined) return undefined;
  return { namespace, cluster, node, input, type: type !== undefined && isEventType(type) ? type : undefined };
};

/** The data of a fact that an agent may state, by the schema of its type; unknown fields of newer agents are dropped. */
export const agentFactData = (type: EventType): z.ZodType<Readonly<Record<string, unknown>>> =>
  (EVENTS[type].data as unknown as z.ZodObject).strip();

import * as z from 'zod';
import { networkEvents } from './events/network.events.js';
import { rolloutEvents } from './events/node.events.js';
import { ClusterUid, NatsUserKey } from './ids.js';
import { Time } from './time.js';

/** Id of the event that an agent names as the cause of a fact. */
const EventId = z.string().min(1).max(128);

/** A fact sent by an agent; the subject determines the node and the type. */
export const AgentFactMessage = z.object({
  id: z.uuid().describe('Drawn once: a repetition is recorded once'),
  time: Time.describe('When it was observed, by the clock of the node'),
  desired: EventId.nullable().describe(
    'Id of the DesiredVersionsSet or DesiredNetworkSet that it follows from; null: of none',
  ),
  data: z.record(z.string(), z.unknown()),
});
export type AgentFactMessage = z.infer<typeof AgentFactMessage>;

/** The acknowledgement of a fact. The agent keeps the fact until it arrives. */
export const AgentFactAnswer = z.object({
  id: z.string(),
  /** null: the fact is in the log. */
  rejected: z.string().nullable(),
});
export type AgentFactAnswer = z.infer<typeof AgentFactAnswer>;

export const AgentSyncMessage = z.object({
  uid: ClusterUid,
  recover: z.boolean().describe('The local state is lost: say, too, what the node stated last'),
});
export type AgentSyncMessage = z.infer<typeof AgentSyncMessage>;

/** The desired state of a node, with the event that set it. */
export const AgentDesiredMessage = z.object({
  id: EventId,
  correlationId: z.string(),
  data: rolloutEvents.DesiredVersionsSet.data.strip(),
});
export type AgentDesiredMessage = z.infer<typeof AgentDesiredMessage>;

/** The network configuration of a node, with the event that set it. */
export const AgentNetworkMessage = z.object({
  id: EventId,
  seq: z.int().describe('Sequence of the event: what is pushed may arrive in another order'),
  data: networkEvents.DesiredNetworkSet.data.strip(),
});
export type AgentNetworkMessage = z.infer<typeof AgentNetworkMessage>;

export const AgentStateMessage = z.object({
  desired: AgentDesiredMessage.nullable().describe('null: nothing was requested of the node yet'),
  network: AgentNetworkMessage.nullable()
    .optional()
    .describe('null: nothing was requested of the node yet; absent: from services without it'),
  last: z
    .array(z.object({ type: z.string(), data: z.record(z.string(), z.unknown()) }))
    .nullable()
    .describe('The last fact of each type, oldest first; null: not asked for'),
});
export type AgentStateMessage = z.infer<typeof AgentStateMessage>;

export const AgentRenewMessage = z.object({
  uid: ClusterUid,
  user: NatsUserKey.describe('Public key of the user; its seed never leaves the node'),
});
export type AgentRenewMessage = z.infer<typeof AgentRenewMessage>;

export const AgentCredentialsMessage = z.object({
  user: NatsUserKey,
  jwt: z.string().min(1).max(8_192).describe('Says what the user may do, until when; worth nothing without its seed'),
  natsCa: z
    .string()
    .max(16_384)
    .exactOptional()
    .describe(
      "Authorities of the NATS servers' certificates, PEM: two while they are rotated. Absent: those in the agent's configuration stay",
    ),
});
export type AgentCredentialsMessage = z.infer<typeof AgentCredentialsMessage>;

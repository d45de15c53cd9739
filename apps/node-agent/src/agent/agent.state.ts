import { ClusterUid, FIRST_PREVHASH, NodeChange, Probe, SoftwareVersions } from '@fairlead/contracts';
import { z } from 'zod';
import { NOTHING_REPORTED, OWN_EVENTS } from './agent.decider.js';

/** Why a fact was stated: the ids of the first and the direct cause. */
const Because = z.strictObject({ correlationId: z.string(), causationId: z.string() });
export type Because = z.infer<typeof Because>;

/** The end of the agent's own stream: what the next append expects to find. */
const Position = z.strictObject({ seq: z.int().min(0), streamVersion: z.int().min(0), hash: z.string() });
export type Position = z.infer<typeof Position>;

export const EMPTY_STREAM: Position = { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH };

/** A fact that is decided and may not be in the log yet. Its id was drawn once, so that the log knows a repetition. */
const Pending = z.strictObject({
  id: z.string(),
  time: z.string(),
  type: z.enum(OWN_EVENTS),
  data: z.record(z.string(), z.unknown()),
  because: Because.nullable(),
});
export type Pending = z.infer<typeof Pending>;

const Desired = z.strictObject({
  revision: z.int().min(1),
  software: SoftwareVersions,
  changesAllowed: z.boolean(),
  change: NodeChange.strip().optional(),
  stage: z.strictObject({ id: z.string(), software: SoftwareVersions }).optional(),
  probes: z.array(Probe.strip()).optional(),
  /** null: the initial one, from the configuration. */
  because: Because.nullable(),
});
export type Desired = z.infer<typeof Desired>;

const revision = z.int().min(0);
const Standing = z.discriminatedUnion('status', [
  z.strictObject({ status: z.literal('new') }),
  z.strictObject({ status: z.literal('initialized'), revision }),
  z.strictObject({ status: z.literal('ready'), revision }),
  z.strictObject({ status: z.literal('not-ready'), revision }),
  z.strictObject({ status: z.literal('changing'), revision }),
]);

const Reported = z.strictObject({
  standing: Standing,
  software: SoftwareVersions.nullable(),
  bootId: z.string().nullable(),
  failure: z.strictObject({ item: z.string(), message: z.string(), attempt: z.int() }).nullable(),
  divergence: z.string().nullable(),
});

/** What the agent must not forget. It can be lost: the log then tells what was said last, and where the stream ends. */
export const AgentState = z.strictObject({
  format: z.literal(1),
  uid: ClusterUid,
  reported: Reported,
  /** null: not known; the log is asked before the next append. */
  position: Position.nullable(),
  outbox: z.array(Pending),
  desired: Desired.nullable(),
  /** What was changed on the host and is in no NodeInitialized yet. */
  changed: z.array(z.string()),
});
export type AgentState = z.infer<typeof AgentState>;

export const newState = (uid: ClusterUid): AgentState => ({
  format: 1,
  uid,
  reported: NOTHING_REPORTED,
  position: null,
  outbox: [],
  desired: null,
  changed: [],
});

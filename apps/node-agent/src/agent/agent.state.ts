import { ClusterUid, NodeChange, Probe, SoftwareVersions } from '@fairlead/contracts';
import { z } from 'zod';
import { NOTHING_REPORTED, OWN_EVENTS } from './agent.decider.js';

/** A fact that is decided and may not be in the log yet. Its id was drawn once, so that the log knows a repetition. */
const Pending = z.strictObject({
  id: z.string(),
  time: z.string(),
  type: z.enum(OWN_EVENTS),
  data: z.record(z.string(), z.unknown()),
  /** Id of the event by which the node was asked for it; null: by none. */
  desired: z.string().nullable(),
});
export type Pending = z.infer<typeof Pending>;

const Desired = z.strictObject({
  revision: z.int().min(1),
  software: SoftwareVersions,
  changesAllowed: z.boolean(),
  change: NodeChange.strip().optional(),
  stage: z.strictObject({ id: z.string(), software: SoftwareVersions }).optional(),
  probes: z.array(Probe.strip()).optional(),
  /** Id of the event that says so; null: the initial one, from the configuration. */
  event: z.string().nullable(),
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

/** What the agent must not forget. It can be lost: the services then say what the node stated last. */
export const AgentState = z.strictObject({
  format: z.literal(2),
  uid: ClusterUid,
  reported: Reported,
  outbox: z.array(Pending),
  desired: Desired.nullable(),
  /** What was changed on the host and is in no NodeInitialized yet. */
  changed: z.array(z.string()),
});
export type AgentState = z.infer<typeof AgentState>;

export const newState = (uid: ClusterUid): AgentState => ({
  format: 2,
  uid,
  reported: NOTHING_REPORTED,
  outbox: [],
  desired: null,
  changed: [],
});

import { ClusterUid, SoftwareVersions } from '@fairlead/contracts';
import * as z from 'zod';
import { OWN_EVENTS } from '../node/agent.facts.js';
import { Desired } from '../node/desired.state.js';
import { NOTHING_REPORTED } from './agent.decider.js';

/** A decided fact that may not be in the log yet. Its ID is generated once, so that the log detects duplicates. */
const Pending = z.strictObject({
  id: z.string(),
  time: z.string(),
  type: z.enum(OWN_EVENTS),
  data: z.record(z.string(), z.unknown()),
  /** The ID of the event that requested it; null: none. */
  desired: z.string().nullable(),
});
export type Pending = z.infer<typeof Pending>;

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

/** The agent's persistent state. If it is lost, the services return the last facts of the node. */
export const AgentState = z.strictObject({
  format: z.literal(2),
  uid: ClusterUid,
  reported: Reported,
  outbox: z.array(Pending),
  desired: Desired.nullable(),
  /** Changes of the host that no NodeInitialized has stated yet. */
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

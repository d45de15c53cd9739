import * as z from 'zod';
import { ClusterLifeState, CLUSTER_STATES } from './cluster.views.js';
import { paged } from './list.views.js';
import { OperationKind } from './operation.views.js';
import { time } from './time.js';

export const DEADLINE_KINDS = ['lease', 'certificate'] as const;

export const FleetRow = z
  .strictObject({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    state: ClusterLifeState,
    reason: z.string().describe('Why it is in this state, in one sentence; empty while it runs'),
    since: time.describe('Since when'),
    version: z.string(),
    nodesReady: z.int(),
    nodesTotal: z.int(),
    operation: z
      .strictObject({
        kind: OperationKind,
        title: z.string().describe('What happens now, for a person'),
        stepsDone: z.int(),
        stepsTotal: z.int(),
      })
      .nullable()
      .describe('What is in progress; null: nothing is'),
    deadline: z
      .strictObject({ kind: z.enum(DEADLINE_KINDS), at: time })
      .nullable()
      .describe('What ends first: its lease, or a certificate of a control plane; null: nothing is known to end'),
    createdTime: time,
    lastSeq: z.int().describe('Sequence of the latest event that changed it'),
  })
  .meta({ id: 'FleetRow', description: 'A cluster in one line' });
export type FleetRow = z.infer<typeof FleetRow>;

export const FleetList = z
  .strictObject({
    kind: z.literal('FleetList'),
    items: z.array(FleetRow),
    total: z.int().describe('Clusters that match, on all pages'),
    counts: z
      .partialRecord(z.enum(CLUSTER_STATES), z.int())
      .describe('How many there are of each state, whichever state was requested'),
    ...paged,
  })
  .meta({ id: 'FleetList', description: 'The clusters of all namespaces that the caller may see' });
export type FleetList = z.infer<typeof FleetList>;

/** Classes of events, as the time line of the fleet counts them. */
export const EVENT_CLASSES = ['request', 'decision', 'observation', 'failure'] as const;
export type EventClass = (typeof EVENT_CLASSES)[number];

export const FleetActivity = z
  .strictObject({
    kind: z.literal('FleetActivity'),
    from: time.describe('Of the first event that is counted; events before it are not'),
    to: time,
    bucketSeconds: z.int(),
    items: z
      .array(
        z.strictObject({
          at: time.describe('When the interval begins'),
          request: z.int(),
          decision: z.int(),
          observation: z.int(),
          failure: z.int(),
        }),
      )
      .describe('Intervals with events, in order'),
  })
  .meta({ id: 'FleetActivity', description: 'How many events of each class there were, by time' });
export type FleetActivity = z.infer<typeof FleetActivity>;

/** A second of an operation on a node belongs to exactly one of these causes. */
export const SCORE_CAUSES = [
  'wait',
  'lease',
  'machine',
  'connect',
  'install',
  'join',
  'drain',
  'blocked',
  'change',
  'verify',
  'failed',
  'done',
] as const;
export type ScoreCause = (typeof SCORE_CAUSES)[number];

export const CausesQuery = z.strictObject({ operation: OperationKind });
export type CausesQuery = z.infer<typeof CausesQuery>;

export const FleetCauses = z
  .strictObject({
    kind: z.literal('FleetCauses'),
    operations: z.int().describe('How many operations were read'),
    items: z.array(
      z.strictObject({
        cause: z.enum(SCORE_CAUSES),
        count: z.int().describe('On how many nodes it took time'),
        medianMs: z.int(),
        longMs: z.int().describe('On nine of ten nodes it took at most so long'),
      }),
    ),
  })
  .meta({
    id: 'FleetCauses',
    description: 'How long a node spent with each cause in the latest operations of a kind, by cause',
  });
export type FleetCauses = z.infer<typeof FleetCauses>;

export const FleetDurations = z
  .strictObject({
    kind: z.literal('FleetDurations'),
    items: z.array(
      z.strictObject({
        operation: OperationKind,
        count: z.int().describe('How many succeeded'),
        medianMs: z.int(),
        longMs: z.int().describe('Nine of ten took at most so long'),
      }),
    ),
  })
  .meta({ id: 'FleetDurations', description: 'How long operations took that succeeded, by kind' });
export type FleetDurations = z.infer<typeof FleetDurations>;

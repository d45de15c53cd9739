import * as z from 'zod';
import { time } from './time.js';

export const CHANGED_KINDS = ['Cluster', 'Spec', 'Condition', 'Node', 'VirtualAddress'] as const;

/** The event that set the new value. */
export const ChangeEvent = z
  .strictObject({
    seq: z.int(),
    type: z.string(),
    time,
    actor: z.string(),
    sentence: z.string().describe('What happened, for a person'),
  })
  .meta({ id: 'ChangeEvent' });
export type ChangeEvent = z.infer<typeof ChangeEvent>;

export const FieldChange = z
  .strictObject({
    field: z.string().describe('Its path, e.g. pools[web].replicas'),
    before: z.string().nullable().describe('null: it was not there'),
    after: z.string().nullable().describe('null: it is not there'),
    event: ChangeEvent.nullable().describe(
      'The event after which it had this value; null: time alone changed it, or more fields changed than are traced',
    ),
  })
  .meta({ id: 'FieldChange' });
export type FieldChange = z.infer<typeof FieldChange>;

export const ChangedObject = z
  .strictObject({
    kind: z.enum(CHANGED_KINDS),
    name: z.string(),
    change: z.enum(['added', 'changed', 'removed']),
    fields: z.array(FieldChange),
  })
  .meta({ id: 'ChangedObject' });
export type ChangedObject = z.infer<typeof ChangedObject>;

const LogPoint = z.strictObject({
  seq: z.int().describe('The latest event of the cluster by then; 0: there was none'),
  time: time.nullable().describe('When that event happened; null: there was none'),
});

export const ClusterChanges = z
  .strictObject({
    kind: z.literal('ClusterChanges'),
    namespace: z.string(),
    cluster: z.string(),
    from: LogPoint,
    to: LogPoint,
    items: z.array(ChangedObject),
  })
  .meta({
    id: 'ClusterChanges',
    description: 'How a cluster differs between two moments, and which events changed it',
  });
export type ClusterChanges = z.infer<typeof ClusterChanges>;

import type { Schemas } from '@fairlead/api-client';

type Changes = Schemas['ClusterChanges'];
type Changed = Schemas['ChangedObject'];
type Cause = Schemas['ChangeEvent'];

export interface ChangedField {
  readonly object: string;
  readonly change: Changed['change'];
  readonly field: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** What one event changed; `event` null: time alone, or more than is traced. */
export interface CausedChange {
  readonly event: Cause | null;
  readonly fields: readonly ChangedField[];
}

const NONE = 0;

/** The differences of two moments by the events that made them, the latest first; what no event made comes last. */
export const byCause = ({ items }: Pick<Changes, 'items'>): readonly CausedChange[] => {
  const causes = new Map<number, { event: Cause | null; fields: ChangedField[] }>();
  for (const { kind, name, change, fields } of items)
    for (const { field, before, after, event } of fields) {
      const key = event?.seq ?? NONE;
      const cause = causes.get(key) ?? { event, fields: [] };
      cause.fields.push({ object: `${kind} ${name}`.trim(), change, field, before, after });
      causes.set(key, cause);
    }
  return [...causes.entries()].sort(([one], [other]) => other - one).map(([, cause]) => cause);
};

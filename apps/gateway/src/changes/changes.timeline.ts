import { DeclaredSpec, type ChangedObject, type ChangeEvent, type StoredEvent } from '@fairlead/contracts';
import { sentenceOfEvent } from '@fairlead/domain';
import type { Moment } from '../clusters/around.queries.js';
import { viewFromLog } from '../clusters/past.queries.js';
import { FoldedHistory } from '../common/rows.fold.js';
import { manifestsProjection } from '../lifecycle/manifests.projection.js';
import { changedObjects, differencesOf, factsOf, type ClusterThen } from './changes.js';
import { settledBy, type Point } from './changes.search.js';

/** A history between two of its points. */
export interface Stretch {
  readonly events: readonly StoredEvent[];
  /** So many of the events come before it. */
  readonly from: number;
  /** And so many before its end. */
  readonly to: number;
}

/** What differs between the ends of the stretch. Yields after each look at a point between them; makes at most `looksMax`. */
export function* changesIn(
  { events, from, to }: Stretch,
  moment: Moment,
  looksMax: number,
): Generator<void, ChangedObject[]> {
  const point = (index: number, state: FoldedHistory): Point<FoldedHistory> => {
    const now = events[index - 1]?.meta.time ?? moment.now;
    return { index, state, facts: factsOf(clusterThen(state, { ...moment, now })) };
  };
  const onTo = (before: Point<FoldedHistory>, index: number): Point<FoldedHistory> =>
    point(index, before.state.after(events.slice(before.index, index)));
  const first = point(from, FoldedHistory.of(events.slice(0, from)));
  const last = onTo(first, to);
  const differences = differencesOf(first.facts, last.facts);
  const settled = yield* settledBy({ onTo, looksMax }, [first, last], differences);
  const traced = differences.map((difference) => ({ ...difference, event: eventAt(events, settled.get(difference)) }));
  return changedObjects(traced, [first.facts, last.facts]);
}

const clusterThen = ({ rowsOf }: FoldedHistory, moment: Moment): ClusterThen | undefined => {
  const view = viewFromLog(rowsOf, moment);
  if (view === undefined) return undefined;
  const declared = rowsOf(manifestsProjection)[0]?.doc;
  return { view, spec: declared === undefined ? undefined : DeclaredSpec.parse(declared.spec) };
};

const eventAt = (events: readonly StoredEvent[], index: number | undefined): ChangeEvent | null => {
  const event = index === undefined ? undefined : events[index];
  if (event === undefined) return null;
  const { seq, time, actor } = event.meta;
  return { seq, type: event.type, time, actor, sentence: sentenceOfEvent(event) };
};

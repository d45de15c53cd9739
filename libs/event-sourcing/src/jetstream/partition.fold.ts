import type { StoredEvent } from '@fairlead/contracts';
import { LRUCache } from 'lru-cache';
import { advance, cancelTimer, timer, type JsonObject, type Process, type Wake } from '../process.js';
import { clusterKeyOf, project, type Projection } from '../projection.js';
import { WAKE } from '../reconciler.js';
import { currentWork } from './current.work.js';
import { processConsumer, projectionConsumer, type Consumers } from './consumers.js';
import type { BatchChanges, PartitionStore, RowChange, StateChange, TimerChange } from './partition.store.js';

const DOCUMENTS_CACHED_MAX = 20_000;

/** The changes and requested tasks of a batch of events. */
export type PartitionChanges = Omit<BatchChanges, 'partition' | 'positions' | 'tables'> & {
  readonly tables: readonly {
    readonly consumer: string;
    readonly table: string;
    readonly rows: readonly RowChange[];
  }[];
};

/**
 * A change of a cluster's state that is not caused by an event: a timer that is due, or the end of a task that no event
 * records.
 */
export type Mark = { readonly consumer: string; readonly clusterKey: string } & (
  { readonly kind: 'woken'; readonly wake: Wake } | { readonly kind: 'ended'; readonly task: JsonObject }
);

export const NO_CHANGES: PartitionChanges = {
  tables: [],
  states: [],
  timers: [],
  quarantined: [],
  released: [],
  rejected: [],
};

export const changesAnything = ({ tables, states, timers, quarantined, rejected }: PartitionChanges): boolean =>
  timers.length + quarantined.length + rejected.length > 0 ||
  [...tables, ...states].some(({ rows }) => rows.length > 0);

/** A consumer, its events, and the keys of the documents that they concern. */
interface Concerned {
  readonly consumer: string;
  readonly events: readonly StoredEvent[];
  readonly keys: readonly string[];
}

interface OfProjection extends Concerned {
  readonly projection: Projection<unknown>;
}

interface OfProcess extends Concerned {
  readonly process: Process<unknown>;
}

const projectedOf = ({ projection, consumer, events }: OfProjection, rowOf: (key: string) => unknown) => {
  const { rows, poisons } = project(projection, rowOf, events);
  const changed: readonly RowChange[] = [...rows].map(([key, { seq, doc }]) => ({ key, seq, doc }));
  return { consumer, table: projection.table, rows: changed, poisons };
};

const causeOf = ({ meta }: StoredEvent): TimerChange['cause'] => ({
  correlationId: meta.correlationId,
  causationId: meta.id,
});

/** The state after a mark, or the error of the pure code. */
const markedOf = (process: Process<unknown>, before: unknown, mark: Mark): { readonly state: unknown } | Error => {
  try {
    const state = mark.kind === 'woken' ? process.woken(before, mark.wake) : process.ended(before, mark.task);
    return { state };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
};

const advancedOf = ({ process, consumer, events }: OfProcess, stateOf: (key: string) => unknown) => {
  const { states, poisons, reactions } = advance(process, stateOf, events);
  const rows: readonly StateChange[] = [...states].map(([key, { seq, state }]) => ({
    key,
    seq,
    before: stateOf(key),
    doc: state,
  }));
  return { consumer, rows, poisons, reactions };
};

interface Timed {
  readonly seq: number;
  readonly wakeAt: string | null;
}

/** The fired timer is replaced by the next one. */
const timerAfter = (
  { consumer, clusterKey, wake: { eventId, correlationId } }: Mark & { readonly kind: 'woken' },
  state: Partial<Timed> | undefined,
): TimerChange => {
  const { wakeAt = null } = state ?? {};
  const reaction = wakeAt === null ? cancelTimer(WAKE) : timer(WAKE, wakeAt);
  return { process: consumer, clusterKey, cause: { causationId: eventId, correlationId }, reaction };
};

/** Before its events are known. */
type ConcernedRows<Of extends Concerned> = Omit<Of, 'events' | 'keys'>;

/**
 * The rows that events concern. An event without a place concerns none: `project` meets the same fault and reports it.
 */
const keysIn = (projection: Projection<unknown>, events: readonly StoredEvent[]): readonly string[] => {
  const keys = new Set<string>();
  for (const event of events) {
    try {
      for (const key of projection.keys(event)) keys.add(key);
    } catch {
      continue;
    }
  }
  return [...keys];
};

const clusterKeysIn = (events: readonly StoredEvent[]): readonly string[] => [...new Set(events.map(clusterKeyOf))];

/**
 * Folds events over the documents of all consumers of a service. Caches documents, so that a batch reads only new ones.
 */
export class PartitionFold {
  private readonly documents: LRUCache<string, { readonly doc: unknown }>;
  private readonly projections: readonly ConcernedRows<OfProjection>[];
  private readonly processes: readonly ConcernedRows<OfProcess>[];

  constructor(
    { projections, processes }: Consumers,
    private readonly store: Pick<PartitionStore, 'rowsOf' | 'statesOf'>,
    documentsMax = DOCUMENTS_CACHED_MAX,
  ) {
    // Limited by size: with a limit on entries, the cache allocates all of them in advance.
    this.documents = new LRUCache({ maxSize: documentsMax, sizeCalculation: () => 1 });
    this.projections = projections.map((projection) => ({ projection, consumer: projectionConsumer(projection) }));
    this.processes = processes.map((process) => ({ process, consumer: processConsumer(process) }));
  }

  async changesOf(
    events: readonly StoredEvent[],
    concerns: (consumer: string, event: StoredEvent) => boolean,
  ): Promise<PartitionChanges> {
    const eventsOf = (consumer: string): readonly StoredEvent[] => events.filter((event) => concerns(consumer, event));
    const projections = this.projections.map(({ projection, consumer }) => {
      const own = eventsOf(consumer);
      return { projection, consumer, events: own, keys: keysIn(projection, own) };
    });
    const processes = this.processes.map(({ process, consumer }) => {
      const own = eventsOf(consumer);
      return { process, consumer, events: own, keys: clusterKeysIn(own) };
    });
    const docOf = await this.known(projections, processes);
    const projected = projections.map((part) =>
      currentWork.during(part.consumer, () => projectedOf(part, (key) => docOf(part.consumer, key))),
    );
    const advanced = processes.map((part) =>
      currentWork.during(part.consumer, () => advancedOf(part, (key) => docOf(part.consumer, key))),
    );

    return {
      ...NO_CHANGES,
      tables: projected,
      states: advanced.map(({ consumer, rows }) => ({ process: consumer, rows })),
      quarantined: [...projected, ...advanced].flatMap(({ consumer, poisons }) =>
        poisons.map((poison) => ({ consumer, poison })),
      ),
      timers: advanced.flatMap(({ consumer, reactions }) =>
        reactions.flatMap(({ reaction, event }) =>
          reaction.kind === 'task'
            ? []
            : [{ process: consumer, clusterKey: clusterKeyOf(event), cause: causeOf(event), reaction }],
        ),
      ),
    };
  }

  /** The changes of marks. `refused`: those that the pure code rejected. */
  async changesOfMarks(
    marks: readonly Mark[],
  ): Promise<PartitionChanges & { readonly refused: readonly { readonly mark: Mark; readonly error: Error }[] }> {
    const processes = this.processes.map((part) => {
      const own = marks.filter(({ consumer }) => consumer === part.consumer);
      return { ...part, own, events: [], keys: [...new Set(own.map(({ clusterKey }) => clusterKey))] };
    });
    const docOf = await this.known([], processes);
    const refused: { readonly mark: Mark; readonly error: Error }[] = [];
    const timers: TimerChange[] = [];
    const states = processes.map(({ process, consumer, own, keys }) => {
      const after = new Map(keys.map((key) => [key, docOf(consumer, key)]));
      for (const mark of own) {
        const before = after.get(mark.clusterKey);
        const marked = before === undefined ? { state: undefined } : markedOf(process, before, mark);
        if (marked instanceof Error) refused.push({ mark, error: marked });
        else after.set(mark.clusterKey, marked.state);
        if (mark.kind === 'woken' && !(marked instanceof Error))
          timers.push(timerAfter(mark, marked.state as Partial<Timed> | undefined));
      }
      const rows: readonly StateChange[] = [...after].flatMap(([key, doc]) => {
        const before = docOf(consumer, key);
        return doc === before ? [] : [{ key, seq: ((doc ?? before) as Timed).seq, before, doc }];
      });
      return { process: consumer, rows };
    });
    return { ...NO_CHANGES, states, timers, refused };
  }

  /** The changes are now in the database. */
  remember({ tables, states }: PartitionChanges): void {
    for (const { consumer, rows } of tables) this.keep(consumer, rows);
    for (const { process, rows } of states) this.keep(process, rows);
  }

  /** A replay folds the events of a consumer from the start, regardless of its current rows. */
  startOver(consumer: string, events: readonly StoredEvent[]): void {
    const nothing = (keys: readonly string[]): void =>
      this.keep(
        consumer,
        keys.map((key) => ({ key, doc: undefined })),
      );
    for (const one of this.projections) if (one.consumer === consumer) nothing(keysIn(one.projection, events));
    for (const one of this.processes) if (one.consumer === consumer) nothing(clusterKeysIn(events));
  }

  forgetAll(): void {
    this.documents.clear();
  }

  /** The documents that events concern, before these events. */
  private async known(
    projections: readonly OfProjection[],
    processes: readonly OfProcess[],
  ): Promise<(consumer: string, key: string) => unknown> {
    const known = new Map<string, unknown>();
    const missingOf = ({ consumer, keys }: Concerned): readonly string[] =>
      keys.filter((key) => {
        const entry = this.documents.get(`${consumer}|${key}`);
        if (entry !== undefined) known.set(`${consumer}|${key}`, entry.doc);
        return entry === undefined;
      });
    const take = ({ consumer }: Concerned, missing: readonly string[], found: ReadonlyMap<string, unknown>): void => {
      for (const key of missing) known.set(`${consumer}|${key}`, found.get(key));
      this.keep(
        consumer,
        missing.map((key) => ({ key, doc: found.get(key) })),
      );
    };
    const tables = projections.map((part) => ({ table: part.projection.table, keys: missingOf(part) }));
    const states = processes.map((part) => ({ process: part.consumer, clusterKeys: missingOf(part) }));
    const [rowsFound, statesFound] = [await this.store.rowsOf(tables), await this.store.statesOf(states)];
    projections.forEach((part, at) => take(part, tables[at]?.keys ?? [], rowsFound[at] ?? new Map()));
    processes.forEach((part, at) => take(part, states[at]?.clusterKeys ?? [], statesFound[at] ?? new Map()));
    return (consumer, key) => known.get(`${consumer}|${key}`);
  }

  private keep(consumer: string, rows: readonly { readonly key: string; readonly doc: unknown }[]): void {
    for (const { key, doc } of rows) this.documents.set(`${consumer}|${key}`, { doc });
  }
}

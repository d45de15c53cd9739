import type { StoredEvent } from '@fairlead/contracts';
import { LRUCache } from 'lru-cache';
import { advance, type Caused, type JobReaction, type Process } from '../process.js';
import { clusterKeyOf, project, type Poison, type Projection } from '../projection.js';
import { processConsumer, projectionConsumer, type Consumers } from './consumers.js';
import type { BatchChanges, PartitionStore, RowChange, StateChange } from './partition.store.js';

const DOCUMENTS_CACHED_MAX = 20_000;

/** What a batch of events changes, and what it asks for. */
export type PartitionChanges = Omit<BatchChanges, 'partition' | 'positions' | 'tables'> & {
  readonly tables: readonly {
    readonly consumer: string;
    readonly table: string;
    readonly rows: readonly RowChange[];
  }[];
  readonly jobs: readonly { readonly process: string; readonly caused: Caused<JobReaction> }[];
};

export const NO_CHANGES: PartitionChanges = {
  tables: [],
  states: [],
  timers: [],
  quarantined: [],
  released: [],
  rejected: [],
  jobs: [],
};

export const changesAnything = ({ tables, states, timers, quarantined, rejected, jobs }: PartitionChanges): boolean =>
  timers.length + quarantined.length + rejected.length + jobs.length > 0 ||
  [...tables, ...states].some(({ rows }) => rows.length > 0);

interface Folded<Row extends RowChange = RowChange> {
  readonly consumer: string;
  readonly rows: readonly Row[];
  readonly poisons: readonly Poison[];
}

/** The rows that events concern. An event that cannot be placed concerns none: `project` meets the same fault and reports it. */
const keysIn = (projection: Projection<unknown>, events: readonly StoredEvent[]): readonly string[] => {
  const keysOf = (event: StoredEvent): readonly string[] => {
    try {
      return projection.keys(event);
    } catch {
      return [];
    }
  };
  return [...new Set(events.flatMap(keysOf))];
};

const clusterKeysIn = (events: readonly StoredEvent[]): readonly string[] => [...new Set(events.map(clusterKeyOf))];

/** Folds events over the documents of all consumers of a service. It remembers documents, so that a batch reads only those it has not met. */
export class PartitionFold {
  private readonly documents: LRUCache<string, { readonly doc: unknown }>;

  constructor(
    private readonly consumers: Consumers,
    private readonly store: Pick<PartitionStore, 'rows' | 'states'>,
    documentsMax = DOCUMENTS_CACHED_MAX,
  ) {
    // It sets room aside for all of them.
    this.documents = new LRUCache({ max: documentsMax });
  }

  async changesOf(
    events: readonly StoredEvent[],
    concerns: (consumer: string, event: StoredEvent) => boolean,
  ): Promise<PartitionChanges> {
    const eventsOf = (consumer: string): readonly StoredEvent[] => events.filter((event) => concerns(consumer, event));
    const projected: (Folded & { readonly table: string })[] = [];
    for (const projection of this.consumers.projections)
      projected.push(await this.projected(projection, eventsOf(projectionConsumer(projection))));
    const advanced: (Folded<StateChange> & { readonly reactions: readonly Caused[] })[] = [];
    for (const process of this.consumers.processes)
      advanced.push(await this.advanced(process, eventsOf(processConsumer(process))));

    const desired = advanced.flatMap(({ consumer, reactions }) =>
      reactions.map((caused) => ({ process: consumer, caused })),
    );
    return {
      ...NO_CHANGES,
      tables: projected,
      states: advanced.map(({ consumer, rows }) => ({ process: consumer, rows })),
      quarantined: [...projected, ...advanced].flatMap(({ consumer, poisons }) =>
        poisons.map((poison) => ({ consumer, poison })),
      ),
      jobs: desired.flatMap(({ process, caused: { reaction, event, index } }) =>
        reaction.kind === 'job' && reaction.inState !== true ? [{ process, caused: { reaction, event, index } }] : [],
      ),
      timers: desired.flatMap(({ process, caused: { reaction, event, index } }) =>
        reaction.kind === 'job'
          ? []
          : [{ process, clusterKey: clusterKeyOf(event), caused: { reaction, event, index } }],
      ),
    };
  }

  /** The changes are in the database now. */
  remember({ tables, states }: PartitionChanges): void {
    for (const { consumer, rows } of tables) this.keep(consumer, rows);
    for (const { process, rows } of states) this.keep(process, rows);
  }

  /** A replay folds the events of a consumer from the start, whatever its rows contain now. */
  startOver(consumer: string, events: readonly StoredEvent[]): void {
    const nothing = (keys: readonly string[]): void =>
      this.keep(
        consumer,
        keys.map((key) => ({ key, doc: undefined })),
      );
    for (const projection of this.consumers.projections)
      if (projectionConsumer(projection) === consumer) nothing(keysIn(projection, events));
    for (const process of this.consumers.processes)
      if (processConsumer(process) === consumer) nothing(clusterKeysIn(events));
  }

  forgetAll(): void {
    this.documents.clear();
  }

  private async projected(projection: Projection<unknown>, events: readonly StoredEvent[]) {
    const { table } = projection;
    const consumer = projectionConsumer(projection);
    const rowOf = await this.known(consumer, keysIn(projection, events), (missing) => this.store.rows(table, missing));
    const { rows, poisons } = project(projection, rowOf, events);
    return { consumer, table, rows: [...rows].map(([key, { seq, doc }]) => ({ key, seq, doc })), poisons };
  }

  private async advanced(process: Process<unknown>, events: readonly StoredEvent[]) {
    const consumer = processConsumer(process);
    const stateOf = await this.known(consumer, clusterKeysIn(events), (missing) =>
      this.store.states(consumer, missing),
    );
    const { states, poisons, reactions } = advance(process, stateOf, events);
    const rows = [...states].map(([key, { seq, state }]) => ({ key, seq, before: stateOf(key), doc: state }));
    return { consumer, rows, poisons, reactions };
  }

  private async known(
    consumer: string,
    keys: readonly string[],
    load: (missing: readonly string[]) => Promise<Map<string, unknown>>,
  ): Promise<(key: string) => unknown> {
    const known = new Map<string, unknown>();
    const missing: string[] = [];
    for (const key of keys) {
      const entry = this.documents.get(`${consumer}|${key}`);
      if (entry === undefined) missing.push(key);
      else known.set(key, entry.doc);
    }
    if (missing.length > 0) {
      for (const [key, doc] of await load(missing)) known.set(key, doc);
      this.keep(
        consumer,
        missing.map((key) => ({ key, doc: known.get(key) })),
      );
    }
    return (key) => known.get(key);
  }

  private keep(consumer: string, rows: readonly { readonly key: string; readonly doc: unknown }[]): void {
    for (const { key, doc } of rows) this.documents.set(`${consumer}|${key}`, { doc });
  }
}

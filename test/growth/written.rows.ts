import type { StoredEvent } from '@fairlead/contracts';
import { reconcilerProcess } from '@fairlead/event-sourcing';
import type { ServiceDefinition } from '@fairlead/service-kit';
import { storedState } from '../../libs/event-sourcing/src/jetstream/state.pieces.js';

type Service = Pick<ServiceDefinition, 'projections' | 'reconcilers'> & { readonly name: string };

const bytesOf = (value: unknown): number => (value === undefined ? 0 : JSON.stringify(value).length);

/** The rows that services write for events of one cluster, in PartitionStore's format. */
export class WrittenRows {
  private readonly rows = new Map<string, unknown>();

  constructor(private readonly services: readonly Service[]) {}

  /** Bytes by the name of the projection or process; those that write nothing are omitted. */
  write(event: StoredEvent): ReadonlyMap<string, number> {
    const written = new Map<string, number>();
    const add = (name: string, bytes: number): void => void written.set(name, (written.get(name) ?? 0) + bytes);
    this.services.forEach(({ name: service, projections, reconcilers }) => {
      for (const { name, keys, evolve } of projections)
        for (const key of keys(event)) {
          const [before, after] = this.change(`${service}/${name}/${key}`, (row) => evolve(row, event, key));
          if (after !== before) add(`${service} ${name}`, bytesOf(after));
        }
      for (const { name, initial, evolve } of reconcilers.map(reconcilerProcess)) {
        const [before, after] = this.change(`${service}/${name}`, (state) =>
          evolve((state as typeof initial | undefined) ?? initial, event),
        );
        if (after === before || after === undefined) continue;
        const { doc, changed, gone } = storedState(before, after);
        add(`${service} ${name}`, bytesOf(doc) + bytesOf(changed) + bytesOf(gone));
      }
    });
    return written;
  }

  private change(row: string, evolve: (before: unknown) => unknown): readonly [unknown, unknown] {
    const before = this.rows.get(row);
    const after = evolve(before);
    this.rows.set(row, after);
    return [before, after];
  }
}

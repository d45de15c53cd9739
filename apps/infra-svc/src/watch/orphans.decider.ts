import type { ConnectionName, EventData, Fact, StoredEvent } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import type { Orphan } from './comparison.planner.js';

/** Limits the recorded orphans of a connection, because a longer list is of no use. */
export const ORPHANS_MAX = 1_000;

type Of<Data> = { readonly connection: ConnectionName } & Data;

export type OrphansCommand =
  | Command<'RecordOrphans', Of<{ readonly found: readonly Orphan[]; readonly gone: readonly string[] }>>
  | Command<'RecordOrphanAdopted', EventData<'OrphanVmAdopted'>>
  | Command<'RecordOrphanDeleted', Of<{ readonly id: string }>>
  | Command<'RecordOrphanKept', Of<{ readonly id: string; readonly reason: string }>>;

type OrphansFact = Fact<'OrphanVmFound' | 'OrphanVmGone' | 'OrphanVmAdopted' | 'OrphanVmDeleted' | 'OrphanVmKept'>;

/** IDs of machines with the marks of a connection that no cluster has planned. */
export type Orphans = ReadonlySet<string>;

const decide = (state: Orphans, command: OrphansCommand): readonly OrphansFact[] => {
  const { connection } = command.data;
  switch (command.type) {
    case 'RecordOrphans': {
      const { found, gone } = command.data;
      const fresh = found.filter(({ id }) => !state.has(id)).slice(0, Math.max(0, ORPHANS_MAX - state.size));
      return [
        ...gone
          .filter((id) => state.has(id))
          .map((id): OrphansFact => ({ type: 'OrphanVmGone', data: { connection, id } })),
        ...fresh.map((orphan): OrphansFact => ({ type: 'OrphanVmFound', data: { connection, ...orphan } })),
      ];
    }
    case 'RecordOrphanAdopted':
      return state.has(command.data.id) ? [{ type: 'OrphanVmAdopted', data: command.data }] : nothing;
    case 'RecordOrphanDeleted': {
      const { id } = command.data;
      return state.has(id) ? [{ type: 'OrphanVmDeleted', data: { connection, id } }] : nothing;
    }
    case 'RecordOrphanKept': {
      const { id, reason } = command.data;
      return state.has(id) ? [{ type: 'OrphanVmKept', data: { connection, id, reason } }] : nothing;
    }
  }
};

const evolve = (state: Orphans, event: StoredEvent): Orphans => {
  switch (event.type) {
    case 'OrphanVmFound':
      return new Set(state).add(event.data.id);
    case 'OrphanVmGone':
    case 'OrphanVmAdopted':
    case 'OrphanVmDeleted':
      return new Set([...state].filter((id) => id !== event.data.id));
    default:
      return state;
  }
};

/** The orphaned machines of a connection, each stated once. */
export const orphans: Decider<Orphans, OrphansCommand, OrphansFact> = { initial: new Set(), decide, evolve };

import type { OrphanView, StoredEvent } from '@fairlead/contracts';

/** By the provider's id. */
export type Orphans = Readonly<Record<string, OrphanView>>;

type OrphanEvent = StoredEvent<
  'OrphanVmFound' | 'OrphanVmGone' | 'OrphanVmAdopted' | 'OrphanVmDeleted' | 'OrphanVmKept' | 'OrphanVmRemovalRequested'
>;

const TYPES: ReadonlySet<string> = new Set<OrphanEvent['type']>([
  'OrphanVmFound',
  'OrphanVmGone',
  'OrphanVmAdopted',
  'OrphanVmDeleted',
  'OrphanVmKept',
  'OrphanVmRemovalRequested',
]);

export const isOrphanEvent = (event: StoredEvent): event is OrphanEvent => TYPES.has(event.type);

const change = (orphans: Orphans, id: string, to: Pick<OrphanView, 'deletion' | 'reason'>): Orphans => {
  const orphan = orphans[id];
  return orphan === undefined ? orphans : { ...orphans, [id]: { ...orphan, ...to } };
};

/** The machines of a connection that no cluster has planned. */
export const orphansAfter = (orphans: Orphans, event: OrphanEvent): Orphans => {
  const { id } = event.data;
  switch (event.type) {
    case 'OrphanVmFound': {
      const { name, group, status, spec = '', zone = '' } = event.data;
      const what = { id, name, group, status, spec, zone };
      const found = { ...what, foundTime: event.meta.time, deletion: 'none', reason: '' } as const;
      return { ...orphans, [id]: found };
    }
    case 'OrphanVmRemovalRequested':
      return change(orphans, id, { deletion: 'requested', reason: '' });
    case 'OrphanVmKept':
      return change(orphans, id, { deletion: 'refused', reason: event.data.reason });
    case 'OrphanVmGone':
    case 'OrphanVmAdopted':
    case 'OrphanVmDeleted':
      return Object.fromEntries(Object.entries(orphans).filter(([known]) => known !== id));
  }
};

import type { EventData, NodeName, StoredEvent } from '@fairlead/contracts';
import { stateOnly, type Reconciler } from '@fairlead/event-sourcing';

/** The provider IDs of the machines that a cluster adopts, by node name. */
type Adopted = Readonly<Record<NodeName, string>>;

const withPlanned = (adopted: Adopted, { machines }: EventData<'VmsPlanned'>): Adopted => {
  const more = machines.flatMap(({ name, adopts }) => (adopts === undefined ? [] : [[name, adopts.id] as const]));
  return more.length === 0 ? adopted : { ...adopted, ...Object.fromEntries(more) };
};

const withDeleted = (adopted: Adopted, name: NodeName): Adopted =>
  adopted[name] === undefined
    ? adopted
    : Object.fromEntries(Object.entries(adopted).filter(([known]) => known !== name));

const NONE_ADOPTED: Adopted = {};

const evolve = (adopted: Adopted, event: StoredEvent): Adopted => {
  switch (event.type) {
    case 'VmsPlanned':
      return withPlanned(adopted, event.data);
    case 'VmDeleted':
      return withDeleted(adopted, event.data.name);
    case 'ClusterDeleted':
      return NONE_ADOPTED;
    default:
      return adopted;
  }
};

/**
 * A machine is planned as a node before the provider moves it; once it runs in the group of its cluster, it is no
 * longer an orphan.
 */
export const orphansReconciler: Reconciler<Adopted> = {
  name: 'orphans',
  version: 2,
  context: 'machines',
  decider: stateOnly(NONE_ADOPTED, evolve),
  generation: () => '',
  tasks: () => [],
  followUps: (adopted, { event }) => {
    if (event?.type !== 'VmCreated') return [];
    const { name: node, connection } = event.data.machine;
    const id = adopted[node];
    if (id === undefined) return [];
    const data = { connection, id, uid: event.data.uid, node };
    return [
      { type: 'RecordAdoption', key: `RecordAdoption/${node}`, reason: 'the machine is part of a cluster', data },
    ];
  },
};

import type { EventData, NodeName } from '@fairlead/contracts';
import { job, type Process } from '@fairlead/event-sourcing';

/** The machines that a cluster adopts, by the names of their nodes: their ids at the provider. */
type Adopted = Readonly<Record<NodeName, string>>;

export const RECORD_ADOPTION = 'RecordAdoption';

const withPlanned = (adopted: Adopted, { machines }: EventData<'VmsPlanned'>): Adopted => {
  const more = machines.flatMap(({ name, adopts }) => (adopts === undefined ? [] : [[name, adopts.id] as const]));
  return more.length === 0 ? adopted : { ...adopted, ...Object.fromEntries(more) };
};

const withDeleted = (adopted: Adopted, name: NodeName): Adopted =>
  adopted[name] === undefined
    ? adopted
    : Object.fromEntries(Object.entries(adopted).filter(([known]) => known !== name));

/** A machine is planned as a node before the provider moves it; once it runs in the group of its cluster, it is no orphan any more. */
export const orphansProcess: Process<Adopted> = {
  name: 'orphans',
  version: 1,
  initial: {},
  evolve: (adopted, event) => {
    switch (event.type) {
      case 'VmsPlanned':
        return withPlanned(adopted, event.data);
      case 'VmDeleted':
        return withDeleted(adopted, event.data.name);
      case 'ClusterDeleted':
        return undefined;
      default:
        return adopted;
    }
  },
  react: (adopted, event) => {
    if (event.type !== 'VmCreated') return [];
    const { name: node, connection } = event.data.machine;
    const id = adopted[node];
    return id === undefined ? [] : [job(RECORD_ADOPTION, { connection, id, uid: event.data.uid, node })];
  },
};

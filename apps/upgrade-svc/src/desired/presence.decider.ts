import type { StoredEvent } from '@fairlead/contracts';

/** The machines that exist of one incarnation of a cluster, by what infra-svc said. */
export const presentMachines = (uid: string, events: readonly StoredEvent[]): ReadonlySet<string> => {
  const present = new Set<string>();
  for (const event of events) {
    if (!('uid' in event.data) || event.data.uid !== uid) continue;
    if (event.type === 'VmsCreated') for (const { name } of event.data.machines) present.add(name);
    else if (event.type === 'VmDeleted') present.delete(event.data.name);
    else if (event.type === 'ClusterDeleted') present.clear();
  }
  return present;
};

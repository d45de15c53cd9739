import { machineHoursAfter, type MachineHours } from '@fairlead/domain';
import type { Projection } from '@fairlead/event-sourcing';
import { clusterKey } from '../common/cluster.address.js';

const COUNTING: ReadonlySet<string> = new Set(['ClusterRequested', 'VmCreated', 'VmDeleted', 'ClusterDeleted']);

/** How long the machines of each cluster have run. A table of its own: rows of clusters do not change with each machine. */
export const machineHoursProjection: Projection<MachineHours> = {
  name: 'machine-hours',
  table: 'machine_hours',
  keys: (event) => (COUNTING.has(event.type) ? [clusterKey(event.meta.namespace, event.meta.cluster)] : []),
  evolve: (hours, event) => machineHoursAfter(hours, event),
};

import type { Reconciler } from '@fairlead/event-sourcing';
import {
  advanceRollouts,
  announceRequests,
  endDeletion,
  failSurges,
  failTask,
  machines,
  type MachinesCommand,
  type MachinesFact,
} from './machines.decider.js';
import type { Machines } from './machines.state.js';
import { nextMomentAt, tasksOf } from './tasks.planner.js';

/** Creates machines for requests, and deletes machines that are no longer needed: tasks.planner.ts has the order. */
export const machinesReconciler: Reconciler<Machines, MachinesCommand, MachinesFact> = {
  name: 'machines',
  version: 23,
  context: 'machines',
  decider: machines,
  generation: (state) => (state.status === 'absent' ? '' : `${state.cluster.uid}/${state.cluster.run}`),
  tasks: tasksOf,
  facts: (state, now) => [
    ...announceRequests(state),
    ...failSurges(state),
    ...advanceRollouts(state, now),
    ...endDeletion(state),
  ],
  wakeAt: nextMomentAt,
  failed: failTask,
};

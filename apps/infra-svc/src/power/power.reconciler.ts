import type { Reconciler, Task } from '@fairlead/event-sourcing';
import { connectionGroup } from '../connections/connection.group.js';
import { power, type Power, type PowerFact, type RecordPowerCycle } from './power.decider.js';

export const CYCLE_POWER = 'CyclePower';

export interface CycleData {
  readonly [key: string]: unknown;
  readonly requestId: string;
}

const tasksOf = (state: Power): readonly Task[] => {
  if (state.status === 'absent') return [];
  return Object.entries(state.open).flatMap(([requestId, node]): readonly Task[] => {
    const machine = state.machines[node];
    if (machine === undefined) return [];
    const data: CycleData = { requestId };
    const groups = [connectionGroup(machine.connection)];
    return [{ type: CYCLE_POWER, key: `${CYCLE_POWER}/${requestId}`, reason: `${node} does not answer`, data, groups }];
  });
};

/** Switches hosts of nodes that do not answer off and on. */
export const powerReconciler: Reconciler<Power, RecordPowerCycle, PowerFact> = {
  name: 'power',
  version: 1,
  context: 'power',
  decider: power,
  generation: (state) => (state.status === 'absent' ? '' : state.uid),
  tasks: tasksOf,

  failed: (state, { data }, { cause, nextAttemptAt }) => {
    if (state.status === 'absent' || nextAttemptAt !== null) return [];
    const { requestId } = data as CycleData;
    const node = state.open[requestId];
    return node === undefined ? [] : [{ type: 'VmPowerCycleFailed', data: { uid: state.uid, node, requestId, cause } }];
  },
};

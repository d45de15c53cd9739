import type { ClusterUid, Machine, MachineAddresses, Namespace } from '@fairlead/contracts';
import { providerIdOf } from '../machines/machines.planner.js';
import type { MachineRow } from '../machines/machines.projection.js';
import type { RecordedMachine } from './comparison.planner.js';

const addressesOf = ({ publicIp, privateIp, ssh: { host, port } }: Machine): MachineAddresses => ({
  publicIp,
  privateIp,
  ssh: { host, port },
});

/** A row in the form in which lists are compared. */
export const recordedOf = (row: MachineRow, uid: ClusterUid): RecordedMachine => {
  const { namespace, cluster, name, machine, lost = false, stopped = false, power = false } = row;
  const running = machine === null ? null : { id: providerIdOf(machine), addresses: addressesOf(machine) };
  return { namespace: namespace as Namespace, cluster, uid, name, lost, stopped, power, running };
};

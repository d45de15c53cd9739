import { ANY_HOST, type MachineSpec, type OwnHost } from '@fairlead/contracts';
import type { LookResult } from '@fairlead/node-scripts';

const MIB_PER_GIB = 1024;

/** The smallest resources of the hosts, so that any of them satisfies the size. */
const smallest = (name: string, looks: readonly LookResult[]): MachineSpec => ({
  name,
  cpuCount: Math.min(...looks.map(({ cpus }) => cpus)),
  memoryGiB: Math.floor((Math.min(...looks.map(({ memoryMiB }) => memoryMiB)) / MIB_PER_GIB) * 10) / 10,
  cpuClockGHz: null,
});

/** The machine sizes of responding hosts: one for all of them, and each size in the inventory. */
export const specsOf = (
  hosts: readonly { readonly host: OwnHost; readonly look: LookResult }[],
): readonly MachineSpec[] => {
  const names = [...new Set(hosts.flatMap(({ host }) => host.spec ?? []))].sort();
  return [ANY_HOST, ...names].flatMap((name) => {
    const looks = hosts.filter(({ host }) => name === ANY_HOST || host.spec === name).map(({ look }) => look);
    return looks.length === 0 ? [] : [smallest(name, looks)];
  });
};

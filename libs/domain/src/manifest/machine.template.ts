import type { DeclaredPool } from '@fairlead/contracts';

/** What a machine of a pool, or of the control plane, is made like. */
export type MachineTemplate = Pick<DeclaredPool, 'connection' | 'machineType' | 'rootDisk'>;

const FIELDS: Readonly<Record<string, (template: MachineTemplate) => string>> = {
  connection: ({ connection }) => connection,
  machineType: ({ machineType }) => machineType,
  'rootDisk.type': ({ rootDisk }) => rootDisk.type,
  'rootDisk.size': ({ rootDisk }) => rootDisk.size,
};

/** What a machine has that its pool is not declared with: `machineType lab.medium`; empty: it is as declared. */
export const differences = (machine: MachineTemplate, pool: MachineTemplate): readonly string[] =>
  Object.entries(FIELDS).flatMap(([field, read]) =>
    read(machine) === read(pool) ? [] : [`${field} ${read(machine)}`],
  );

/** `machineType lab.medium → lab.large`. */
export const changesOf = (before: MachineTemplate, after: MachineTemplate): readonly string[] =>
  Object.entries(FIELDS).flatMap(([field, read]) =>
    read(before) === read(after) ? [] : [`${field} ${read(before)} → ${read(after)}`],
  );

/** The template of a machine that is planned. */
export const templateOf = (machine: {
  readonly connection: MachineTemplate['connection'];
  readonly spec: string;
  readonly rootDisk: MachineTemplate['rootDisk'];
}): MachineTemplate => ({
  connection: machine.connection,
  machineType: machine.spec,
  rootDisk: machine.rootDisk,
});

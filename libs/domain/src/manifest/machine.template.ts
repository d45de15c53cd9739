import type { DeclaredPool } from '@fairlead/contracts';

/** The machine settings of a pool, or of the control plane. */
export type MachineTemplate = Pick<DeclaredPool, 'connection' | 'machineType' | 'rootDisk' | 'image'>;

const FIELDS: Readonly<Record<string, (template: MachineTemplate) => string>> = {
  connection: ({ connection }) => connection,
  machineType: ({ machineType }) => machineType,
  'rootDisk.type': ({ rootDisk }) => rootDisk.type,
  'rootDisk.size': ({ rootDisk }) => rootDisk.size,
  image: ({ image }) => image ?? 'of the connection',
};

/** How a machine differs from its pool's declaration: `machineType lab.medium`; empty: it does not. */
export const differences = (machine: MachineTemplate, pool: MachineTemplate): readonly string[] =>
  Object.entries(FIELDS).flatMap(([field, read]) =>
    read(machine) === read(pool) ? [] : [`${field} ${read(machine)}`],
  );

/** `machineType lab.medium → lab.large`. */
export const changesOf = (before: MachineTemplate, after: MachineTemplate): readonly string[] =>
  Object.entries(FIELDS).flatMap(([field, read]) =>
    read(before) === read(after) ? [] : [`${field} ${read(before)} → ${read(after)}`],
  );

/** The template of a planned machine. */
export const templateOf = (machine: {
  readonly connection: MachineTemplate['connection'];
  readonly spec: string;
  readonly rootDisk: MachineTemplate['rootDisk'];
  readonly image?: MachineTemplate['image'];
}): MachineTemplate => ({
  connection: machine.connection,
  machineType: machine.spec,
  rootDisk: machine.rootDisk,
  ...(machine.image === undefined ? {} : { image: machine.image }),
});

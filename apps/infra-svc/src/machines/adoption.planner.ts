import type { NodeSet } from '@fairlead/contracts';
import type { ListedMachine } from '../providers/provider.ports.js';

/** What the machines of a pool are like. */
export interface PoolFit {
  readonly set: NodeSet;
  readonly image: string;
  /** Zones of the connection; none: the provider chooses. */
  readonly zones: readonly string[];
}

type Running = Extract<ListedMachine, { status: 'running' }>;

const differs = (what: string, found: string | undefined, expected: string): readonly string[] =>
  found === expected ? [] : [`its ${what} is ${found === undefined ? 'not known' : found} and not ${expected}`];

/** Why a machine cannot be one of a pool, as it is: all reasons at once. A machine that runs has a zone. */
export const misfits = (machine: ListedMachine, { set, image, zones }: PoolFit): readonly string[] => {
  const own = set.zones ?? [];
  const allowed = own.length > 0 ? own : zones;
  return [
    ...(machine.status === 'running' ? [] : [`it is ${machine.status} and not running`]),
    ...differs('machine type', machine.spec, set.spec),
    ...differs('image', machine.image, image),
    ...(machine.status !== 'running' || allowed.length === 0 || allowed.includes(machine.zone)
      ? []
      : [`its zone is ${machine.zone} and not ${allowed.join(' or ')}`]),
  ];
};

export const isRunning = (machine: ListedMachine): machine is Running => machine.status === 'running';

import type { NodeSet } from '@fairlead/contracts';
import type { ListedMachine } from '../providers/provider.ports.js';

/** The requirements of a pool for its machines. */
export interface PoolFit {
  readonly set: NodeSet;
  readonly image: string;
  /** Zones of the connection; empty: the provider chooses. */
  readonly zones: readonly string[];
}

type Running = Extract<ListedMachine, { status: 'running' }>;

const differs = (what: string, found: string | undefined, expected: string): readonly string[] =>
  found === expected ? [] : [`its ${what} is ${found === undefined ? 'not known' : found} and not ${expected}`];

/** All reasons why a machine does not fit a pool. A running machine has a zone. */
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

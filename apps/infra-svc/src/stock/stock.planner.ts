import { ANY_HOST, type OwnHost } from '@fairlead/contracts';
import type { DesiredHost } from './stock.ports.js';

const fits = (host: OwnHost, { spec }: DesiredHost): boolean => spec === ANY_HOST || spec === host.spec;
const isNear = (host: OwnHost, { zone }: DesiredHost): boolean => zone === undefined || zone === host.zone;

/** The host of each desired machine, both by index. */
type Assignment = ReadonlyMap<number, number>;

/** Assigns a host to one more machine, for which others may have to take an equally suitable one. */
const placed = (
  assignment: Assignment,
  machine: number,
  choices: readonly (readonly number[])[],
  tried: Set<number>,
): Assignment | undefined => {
  const hosts = choices[machine] ?? [];
  const free = hosts.find((host) => !assignment.has(host));
  if (free !== undefined) return new Map(assignment).set(free, machine);
  for (const host of hosts) {
    const holder = assignment.get(host);
    if (holder === undefined || tried.has(host)) continue;
    tried.add(host);
    const moved = placed(assignment, holder, choices, tried);
    if (moved !== undefined) return new Map(moved).set(host, machine);
  }
  return undefined;
};

const extended = (assignment: Assignment, choices: readonly (readonly number[])[]): Assignment =>
  choices.reduce((before, _hosts, machine) => {
    if ([...before.values()].includes(machine)) return before;
    return placed(before, machine, choices, new Set()) ?? before;
  }, assignment);

/**
 * Assigns hosts to as many machines as possible (a maximum matching), machines with a host in their own zone first.
 * Hosts without a size are used first, so that special ones remain for requests of their size. Deterministic.
 */
export const assign = (
  desired: readonly DesiredHost[],
  free: readonly OwnHost[],
): readonly { readonly machine: DesiredHost; readonly host: OwnHost }[] => {
  const hosts = [...free].sort((one, other) => Number(one.spec !== undefined) - Number(other.spec !== undefined));
  const choices = (may: (host: OwnHost, machine: DesiredHost) => boolean): readonly (readonly number[])[] =>
    desired.map((machine) => hosts.flatMap((host, at) => (may(host, machine) ? [at] : [])));
  const near = extended(
    new Map(),
    choices((host, machine) => fits(host, machine) && isNear(host, machine)),
  );
  const all = extended(near, choices(fits));
  return [...all].flatMap(([at, place]) => {
    const [host, machine] = [hosts[at], desired[place]];
    return host === undefined || machine === undefined ? [] : [{ machine, host }];
  });
};

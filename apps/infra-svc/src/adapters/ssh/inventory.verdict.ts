import {
  nodeAddressOf,
  runsOnCgroupV1,
  type HostChecks,
  type HostProfile,
  type NodeName,
  type OwnHost,
} from '@fairlead/contracts';
import { checksOfHost, cloneWarning, sameMachine, type Identified } from '@fairlead/node-scripts';
import type { StockView } from '../../stock/stock.ports.js';
import type { Found } from './own.hosts.js';

/** A host of the inventory and the result of its inspection; undefined: in use, and not inspected. */
export interface Looked {
  readonly host: OwnHost;
  readonly found: Found | undefined;
}

export interface HostVerdict {
  readonly name: NodeName;
  /** Why it is unusable now; empty: it can become a node, or is in use and responds. */
  readonly problem: string;
  /** A recommended change, although it can become a node; empty: none. */
  readonly warning: string;
  /** Empty: it was not inspected. */
  readonly checks: HostChecks;
}

/** Of a host in use, the checks that also apply to a node. */
const checksOf = ({ host, found }: Looked, profile: HostProfile | undefined, isHeld: boolean): HostChecks => {
  if (found === undefined) return {};
  if (found.kind === 'silent') return { [found.check]: found.words };
  const expected = { address: nodeAddressOf(host), lookedAt: found.lookedAt, cgroupV1: runsOnCgroupV1(profile) };
  const { root, system, address, clean, clock, disk } = checksOfHost(found.look.facts, expected);
  const said = (problems: readonly string[]): string => problems.join('; ');
  return {
    ...{ ssh: '', hostKey: '', root: said(root), system: said(system), address: said(address) },
    ...(isHeld ? {} : { clean: said(clean) }),
    ...{ clock: said(clock), disk: said(disk) },
  };
};

const identityOf = ({ host, found }: Looked): readonly Identified[] =>
  found?.kind === 'found' ? [{ name: host.name, hostKey: found.hostKey, facts: found.look.facts }] : [];

/**
 * One verdict per host, in the order of the inventory. Of two names of one machine, the one in use counts, otherwise
 * the first.
 */
export const verdictsOf = (
  looked: readonly Looked[],
  { held, withheld }: StockView,
  profile: HostProfile | undefined,
): readonly HostVerdict[] => {
  const isHeld = ({ name }: OwnHost): boolean => held.some(({ host }) => host.name === name);
  const inOrder = looked.toSorted((one, other) => Number(isHeld(other.host)) - Number(isHeld(one.host)));
  return looked.map(({ host, found }) => {
    const at = inOrder.findIndex((other) => other.host.name === host.name);
    const before = inOrder.slice(0, at).flatMap(identityOf);
    const kept = withheld.find((one) => one.host.name === host.name);
    const checks = checksOf({ host, found }, profile, isHeld(host) || kept !== undefined);
    const verdict = (problem: string, warning = ''): HostVerdict => ({ name: host.name, problem, warning, checks });
    if (kept !== undefined) return verdict(`it could not be reset: ${kept.cause.message}`);
    if (found?.kind === 'silent') return verdict(found.words);
    if (found === undefined || isHeld(host)) return verdict('');
    const [identity] = identityOf({ host, found });
    const same = identity === undefined ? undefined : sameMachine(identity, before);
    if (same !== undefined)
      return verdict(`it is the same machine as ${same.name}: list each machine once, with one address`);
    const warning = identity === undefined ? undefined : cloneWarning(identity, before);
    return verdict(Object.values(checks).filter(Boolean).join('; '), warning);
  });
};

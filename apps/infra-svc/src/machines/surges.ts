import type { Cause, EventData, MachinePlan, NodeName, UpgradeId } from '@fairlead/contracts';

/** Extra machines that an upgrade wants in a pool, beyond its wished size. */
export interface SurgeRef {
  readonly upgradeId: UpgradeId;
  readonly pool: string;
}

/** What of surges a cluster holds. */
export interface Surges {
  /** How many are wanted, by surge; what is not wanted any more is not in here. */
  readonly wanted: Readonly<Record<string, number>>;
  /** Machines of surges that are over: once given up they are never kept, whatever is wanted later. */
  readonly leaving: readonly NodeName[];
}

export const NO_SURGES: Surges = { wanted: {}, leaving: [] };

export const surgeKey = ({ upgradeId, pool }: SurgeRef): string => `${upgradeId}/${pool}`;

/** The surge that a machine is of; null: it is of the pool's wished size. */
export const surgeOf = ({ surge, pool }: Pick<MachinePlan, 'surge' | 'pool'>): string | null =>
  surge === undefined ? null : surgeKey({ upgradeId: surge, pool });

export const isWantedSurge = ({ wanted }: Surges, ref: SurgeRef): boolean => wanted[surgeKey(ref)] !== undefined;

/** Machines of a surge that are to stay: named, and not given up. */
export const stayingOf = (planned: readonly MachinePlan[], { leaving }: Surges, key: string | null) =>
  planned.filter((plan) => surgeOf(plan) === key && !leaving.includes(plan.name));

/** How many machines of a surge still have no name. */
export const surgeLacks = (planned: readonly MachinePlan[], surges: Surges, ref: SurgeRef): number => {
  const key = surgeKey(ref);
  return Math.max(0, (surges.wanted[key] ?? 0) - stayingOf(planned, surges, key).length);
};

export const withSurge = (surges: Surges, { count, ...ref }: EventData<'SurgeRequested'>): Surges => ({
  ...surges,
  wanted: { ...surges.wanted, [surgeKey(ref)]: count },
});

/** It was returned or cannot be had: what has a name of it goes. */
export const withoutSurge = (surges: Surges, planned: readonly MachinePlan[], ref: SurgeRef): Surges => {
  const key = surgeKey(ref);
  const { [key]: _count, ...wanted } = surges.wanted;
  const going = stayingOf(planned, surges, key).map(({ name }) => name);
  return { wanted, leaving: [...surges.leaving, ...going] };
};

/** A machine that got its name when its surge was over already goes, too. */
export const withPlannedSurge = (surges: Surges, machines: readonly MachinePlan[]): Surges => {
  const late = machines.filter((plan) => {
    const key = surgeOf(plan);
    return key !== null && surges.wanted[key] === undefined;
  });
  return late.length === 0 ? surges : { ...surges, leaving: [...surges.leaving, ...late.map(({ name }) => name)] };
};

/** Why a surge cannot be had, when nothing was asked of a provider. */
export const surgeRefused = ({ pool }: SurgeRef, message: string): Cause => ({
  operation: 'make extra machines',
  target: pool,
  message,
});

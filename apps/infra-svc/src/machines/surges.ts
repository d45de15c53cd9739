import type { Cause, EventData, MachinePlan, NodeName, UpgradeId } from '@fairlead/contracts';

/** Extra machines that an upgrade wants in a pool, beyond its requested size. */
export interface SurgeRef {
  readonly upgradeId: UpgradeId;
  readonly pool: string;
}

/** What of surges a cluster holds. */
export interface Surges {
  /** How many are desired, by surge; what is not desired any more is not in here. */
  readonly desired: Readonly<Record<string, number>>;
  /** Machines of surges that are over: once given up they are never kept, whatever is desired later. */
  readonly leaving: readonly NodeName[];
}

export const NO_SURGES: Surges = { desired: {}, leaving: [] };

export const surgeKey = ({ upgradeId, pool }: SurgeRef): string => `${upgradeId}/${pool}`;

/** The surge that a machine is of; null: it is of the pool's requested size. */
export const surgeOf = ({ surge, pool }: Pick<MachinePlan, 'surge' | 'pool'>): string | null =>
  surge === undefined ? null : surgeKey({ upgradeId: surge, pool });

export const isDesiredSurge = ({ desired }: Surges, ref: SurgeRef): boolean => desired[surgeKey(ref)] !== undefined;

/** Machines of a surge that are to stay: named, and not given up. */
export const stayingOf = (planned: readonly MachinePlan[], { leaving }: Surges, key: string | null) =>
  planned.filter((plan) => surgeOf(plan) === key && !leaving.includes(plan.name));

/** How many machines of a surge still have no name. */
export const surgeLacks = (planned: readonly MachinePlan[], surges: Surges, ref: SurgeRef): number => {
  const key = surgeKey(ref);
  return Math.max(0, (surges.desired[key] ?? 0) - stayingOf(planned, surges, key).length);
};

export const withSurge = (surges: Surges, { count, ...ref }: EventData<'SurgeRequested'>): Surges => ({
  ...surges,
  desired: { ...surges.desired, [surgeKey(ref)]: count },
});

/** It was returned or is not available: what has a name of it goes. */
export const withoutSurge = (surges: Surges, planned: readonly MachinePlan[], ref: SurgeRef): Surges => {
  const key = surgeKey(ref);
  const { [key]: _count, ...desired } = surges.desired;
  const going = stayingOf(planned, surges, key).map(({ name }) => name);
  return { desired, leaving: [...surges.leaving, ...going] };
};

/** A machine that got its name when its surge was over already goes, too. */
export const withPlannedSurge = (surges: Surges, machines: readonly MachinePlan[]): Surges => {
  const late = machines.filter((plan) => {
    const key = surgeOf(plan);
    return key !== null && surges.desired[key] === undefined;
  });
  return late.length === 0 ? surges : { ...surges, leaving: [...surges.leaving, ...late.map(({ name }) => name)] };
};

/** Why a surge is not available, when nothing was asked of a provider. */
export const surgeRefused = ({ pool }: SurgeRef, message: string): Cause => ({
  operation: 'make extra machines',
  target: pool,
  message,
});

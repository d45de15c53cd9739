import type { Cause, EventData, MachinePlan, NodeName, UpgradeId } from '@fairlead/contracts';

/** Extra machines of a pool while it is upgraded, beyond its requested size. */
export interface SurgeRef {
  readonly upgradeId: UpgradeId;
  readonly pool: string;
}

export interface DesiredSurge extends SurgeRef {
  readonly count: number;
  /** Machines of it whose nodes have left. They are replaced after a retry only: one that cannot join would be replaced without end. */
  readonly lost: number;
}

/** The surges of a cluster. */
export interface Surges {
  /** By `surgeKey`; a surge that is released or failed is not in here. */
  readonly desired: Readonly<Record<string, DesiredSurge>>;
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
  const { count, lost } = surges.desired[key] ?? { count: 0, lost: 0 };
  return Math.max(0, count - lost - stayingOf(planned, surges, key).length);
};

export const withSurge = (surges: Surges, { upgradeId, pool, count }: EventData<'SurgeRequested'>): Surges => ({
  ...surges,
  desired: { ...surges.desired, [surgeKey({ upgradeId, pool })]: { upgradeId, pool, count, lost: 0 } },
});

/** It was released or has failed: its machines are given up. */
export const withoutSurge = (surges: Surges, planned: readonly MachinePlan[], ref: SurgeRef): Surges => {
  const key = surgeKey(ref);
  const { [key]: _gone, ...desired } = surges.desired;
  const going = stayingOf(planned, surges, key).map(({ name }) => name);
  return { desired, leaving: [...surges.leaving, ...going] };
};

/** Machines that were planned after their surge was released are given up, too. */
export const withPlannedSurge = (surges: Surges, machines: readonly MachinePlan[]): Surges => {
  const late = machines.filter((plan) => {
    const key = surgeOf(plan);
    return key !== null && surges.desired[key] === undefined;
  });
  return late.length === 0 ? surges : { ...surges, leaving: [...surges.leaving, ...late.map(({ name }) => name)] };
};

/** A machine is gone, of a surge or not. */
export const withoutMachineOf = ({ desired, leaving }: Surges, plan: MachinePlan): Surges => {
  const surge = desired[surgeOf(plan) ?? ''];
  const isGivenUp = leaving.includes(plan.name);
  return {
    leaving: leaving.filter((name) => name !== plan.name),
    desired:
      surge === undefined || isGivenUp
        ? desired
        : { ...desired, [surgeKey(surge)]: { ...surge, lost: surge.lost + 1 } },
  };
};

/** A retry replaces the machines that a surge has lost. */
export const withRetriedSurges = ({ desired, leaving }: Surges): Surges => ({
  leaving,
  desired: Object.fromEntries(Object.entries(desired).map(([key, surge]) => [key, { ...surge, lost: 0 }])),
});

/** Why a surge is not available, when nothing was asked of a provider. */
export const surgeRefused = ({ pool }: SurgeRef, message: string): Cause => ({
  operation: 'create surge machines',
  target: pool,
  message,
});

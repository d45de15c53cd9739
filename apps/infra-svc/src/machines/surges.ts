import type { Cause, EventData, MachinePlan, NodeName, UpgradeId } from '@fairlead/contracts';

/** Surge machines of a pool during an upgrade, beyond its requested size. */
export interface SurgeRef {
  readonly upgradeId: UpgradeId;
  readonly pool: string;
}

export interface DesiredSurge extends SurgeRef {
  readonly count: number;
  /**
   * Surge machines whose nodes have left. They are replaced only after a retry: one that cannot join would be replaced
   * forever.
   */
  readonly lost: number;
}

/** The surges of a cluster. */
export interface Surges {
  /** By `surgeKey`; without released and failed surges. */
  readonly desired: Readonly<Record<string, DesiredSurge>>;
  /** Machines of ended surges: once abandoned they are never kept, whatever is desired later. */
  readonly leaving: readonly NodeName[];
}

export const NO_SURGES: Surges = { desired: {}, leaving: [] };

export const surgeKey = ({ upgradeId, pool }: SurgeRef): string => `${upgradeId}/${pool}`;

/** The surge of a machine; null: it belongs to the pool's requested size. */
export const surgeOf = ({ surge, pool }: Pick<MachinePlan, 'surge' | 'pool'>): string | null =>
  surge === undefined ? null : surgeKey({ upgradeId: surge, pool });

export const isDesiredSurge = ({ desired }: Surges, ref: SurgeRef): boolean => desired[surgeKey(ref)] !== undefined;

/** Planned machines of a surge that are not abandoned. */
export const stayingOf = (planned: readonly MachinePlan[], { leaving }: Surges, key: string | null) =>
  planned.filter((plan) => surgeOf(plan) === key && !leaving.includes(plan.name));

/** How many machines of a surge are not planned yet. */
export const surgeLacks = (planned: readonly MachinePlan[], surges: Surges, ref: SurgeRef): number => {
  const key = surgeKey(ref);
  const { count, lost } = surges.desired[key] ?? { count: 0, lost: 0 };
  return Math.max(0, count - lost - stayingOf(planned, surges, key).length);
};

export const withSurge = (surges: Surges, { upgradeId, pool, count }: EventData<'SurgeRequested'>): Surges => ({
  ...surges,
  desired: { ...surges.desired, [surgeKey({ upgradeId, pool })]: { upgradeId, pool, count, lost: 0 } },
});

/** The surge was released or has failed: its machines are abandoned. */
export const withoutSurge = (surges: Surges, planned: readonly MachinePlan[], ref: SurgeRef): Surges => {
  const key = surgeKey(ref);
  const { [key]: _gone, ...desired } = surges.desired;
  const going = stayingOf(planned, surges, key).map(({ name }) => name);
  return { desired, leaving: [...surges.leaving, ...going] };
};

/** Machines that were planned after their surge was released are abandoned too. */
export const withPlannedSurge = (surges: Surges, machines: readonly MachinePlan[]): Surges => {
  const late = machines.filter((plan) => {
    const key = surgeOf(plan);
    return key !== null && surges.desired[key] === undefined;
  });
  return late.length === 0 ? surges : { ...surges, leaving: [...surges.leaving, ...late.map(({ name }) => name)] };
};

/** A machine is gone, whether it belonged to a surge or not. */
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

/** The cause of a failed surge that no provider was asked for. */
export const surgeRefused = ({ pool }: SurgeRef, message: string): Cause => ({
  operation: 'create surge machines',
  target: pool,
  message,
});

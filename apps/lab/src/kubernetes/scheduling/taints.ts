import type { Taint, Toleration } from '../objects/core.types.js';

export const tolerates = (tolerations: readonly Toleration[] | undefined, taint: Taint): boolean =>
  (tolerations ?? []).some((toleration) => matches(toleration, taint));

const matches = ({ key, operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean =>
  (effect === undefined || effect === taint.effect) &&
  (key === undefined || key === '' ? operator === 'Exists' : key === taint.key) &&
  (operator === 'Exists' || value === (taint.value ?? ''));

/** The first taint that a pod does not tolerate, if any. */
export const untolerated = (
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
): Taint | undefined =>
  (taints ?? []).find((taint) => taint.effect !== 'PreferNoSchedule' && !tolerates(tolerations, taint));

/**
 * How long a pod may remain on a node with NoExecute taints: seconds, `for ever`, or 0 if it does not tolerate one of
 * them.
 */
export const toleranceSeconds = (taints: readonly Taint[], tolerations: readonly Toleration[] | undefined): number => {
  const perTaint = taints
    .filter(({ effect }) => effect === 'NoExecute')
    .map((taint) => {
      const fitting = (tolerations ?? []).filter((toleration) => matches(toleration, taint));
      if (fitting.length === 0) return 0;
      return Math.min(...fitting.map(({ tolerationSeconds }) => tolerationSeconds ?? Number.POSITIVE_INFINITY));
    });
  return Math.min(Number.POSITIVE_INFINITY, ...perTaint);
};

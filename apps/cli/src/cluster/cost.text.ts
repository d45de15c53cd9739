import type { ClusterView } from '../api/views.js';

/** What its machines cost; empty: the installation has no price list, or there is no cluster. */
export const costText = (cluster: Pick<ClusterView, 'cost'> | null): readonly string[] => {
  const cost = cluster?.cost;
  if (cost === undefined) return [];
  const { currency, perHour, sinceCreation, unpriced } = cost;
  return [
    '',
    `Cost: ${perHour} ${currency} per hour, ${sinceCreation} ${currency} since its creation`,
    ...unpriced.map(
      ({ connection, machineType, machines }) => `  without a price: ${machineType} of ${connection} (${machines} now)`,
    ),
  ];
};

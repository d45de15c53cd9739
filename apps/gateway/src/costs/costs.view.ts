import type { ClusterView, PriceList } from '@fairlead/contracts';
import { usedHours, type MachineHours, type UsedHours } from '@fairlead/domain';

export type CostView = NonNullable<ClusterView['cost']>;

/** Amounts have at most this many decimals: prices of an hour are small. */
const DECIMALS = 4;

const rounded = (amount: number): number => Number(amount.toFixed(DECIMALS));

const priceOf = ({ perHour }: PriceList, { connection, type }: UsedHours): number | undefined => {
  const prices = Object.hasOwn(perHour, connection) ? perHour[connection] : undefined;
  return prices !== undefined && Object.hasOwn(prices, type) ? prices[type] : undefined;
};

/** What the machines of a cluster cost by a price list, and which of them it does not have. */
export const costOf = (hours: MachineHours, prices: PriceList, now: string): CostView => {
  const used = usedHours(hours, now);
  const priced = used.flatMap((one) => {
    const price = priceOf(prices, one);
    return price === undefined ? [] : [{ ...one, price }];
  });
  return {
    currency: prices.currency,
    perHour: rounded(priced.reduce((sum, { running, price }) => sum + running * price, 0)),
    sinceCreation: rounded(priced.reduce((sum, one) => sum + one.hours * one.price, 0)),
    unpriced: used
      .filter((one) => priceOf(prices, one) === undefined)
      .map(({ connection, type, running }) => ({ connection, machineType: type, machines: running })),
  };
};

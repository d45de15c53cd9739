/** Whether arrays and objects are nested deeper than `levels`. Allocates nothing, and stops at that depth. */
export const isDeeperThan = (value: unknown, levels: number): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const key in value) {
    const inner = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof inner === 'object' && inner !== null && isDeeperThan(inner, levels - 1)) return true;
  }
  return false;
};

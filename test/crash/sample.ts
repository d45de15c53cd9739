import { seededRandom } from '@fairlead/testing';

/** The seed of a day in UTC, e.g. 20260131. Throws on an invalid date. */
export const seedOfDay = (now: Date): number => Number(now.toISOString().slice(0, 10).replaceAll('-', ''));

/**
 * `count` of the boundaries 1 to `length`, in order, one from each of as many equal parts, so that a sample has early
 * and late ones. All of them if there are no more. Deterministic for a seed and name.
 */
export const sampleOf = (
  length: number,
  { seed, name, count }: { readonly seed: number; readonly name: string; readonly count: number },
): readonly number[] => {
  if (count >= length) return Array.from({ length }, (_, index) => index + 1);
  const random = seededRandom([...name].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), seed));
  return Array.from({ length: count }, (_, part) => {
    const [from, to] = [Math.floor((part * length) / count), Math.floor(((part + 1) * length) / count)];
    return 1 + from + Math.floor(random() * (to - from));
  });
};

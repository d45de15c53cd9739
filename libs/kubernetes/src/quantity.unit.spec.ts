import { describe, expect, it } from '@jest/globals';
import { parseQuantity } from './quantity.js';

describe('A quantity of Kubernetes', () => {
  it.each([
    ['250m', 0.25],
    ['2', 2],
    ['1.5Gi', 1.5 * 2 ** 30],
    ['64Ki', 65_536],
    ['1e3', 1000],
    ['4G', 4e9],
    ['1e3', 1_000],
    ['', undefined],
    ['lots', undefined],
  ])('%p is %p', (text, expected) => {
    expect(parseQuantity(text)).toBe(expected);
  });
});

import type { EventView } from '../api/api.ports.js';

export const timeOf = ({ time }: EventView): number => Date.parse(time);

// The gateway promises the shapes of the event catalogue; what is read here is still read with care, because a newer server may say more.
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
export const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
export const listOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.map(recordOf) : [];
export const countOf = (sets: unknown): number => listOf(sets).reduce((sum, { count }) => sum + numberOf(count), 0);

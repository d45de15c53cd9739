import type { OwnerRing } from '@fairlead/embedded/credentials';

/** The steps in which the keys of all owners are replaced. Between two of them, every service learns of the former. */
export type DataStep = 'announce' | 'switch' | 'drop';

/** The keys of an owner after a step; undefined: it does not concern them. `made` is the new key of this owner. */
export const ringAfter = ({ current, other }: OwnerRing, step: DataStep, made: Uint8Array): OwnerRing | undefined => {
  switch (step) {
    case 'announce':
      return other === undefined ? { current, other: { role: 'next', key: made } } : undefined;
    case 'switch':
      return other?.role === 'next' ? { current: other.key, other: { role: 'previous', key: current } } : undefined;
    case 'drop':
      return other?.role === 'previous' ? { current } : undefined;
  }
};

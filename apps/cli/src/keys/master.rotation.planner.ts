import type { MasterKey, MasterKeys } from '@fairlead/embedded/credentials';

/**
 * The next step of a rotation, which depends only on the file of the master keys: a rotation can be interrupted at any
 * time and continued later.
 */
export type RotationStep =
  /** Every service knows the new key before it is used. */
  | { readonly kind: 'announce'; readonly keys: MasterKeys }
  /** Services seal with the new key. */
  | { readonly kind: 'switch'; readonly keys: MasterKeys }
  /** All keys are resealed: the former key is destroyed. */
  | { readonly kind: 'destroy'; readonly keys: MasterKeys };

/** `made` is the new key if a rotation starts. */
export const nextStep = ({ current, other }: MasterKeys, made: MasterKey): RotationStep => {
  switch (other?.role) {
    case undefined:
      return { kind: 'announce', keys: { current, other: { role: 'next', key: made } } };
    case 'next':
      return { kind: 'switch', keys: { current: other.key, other: { role: 'previous', key: current } } };
    case 'previous':
      return { kind: 'destroy', keys: { current } };
  }
};

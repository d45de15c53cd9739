import type { MasterKey, MasterKeys } from '@fairlead/embedded/credentials';

/** What a rotation does next. The file of the master keys says how far it is, so that it can end at any moment and go on later. */
export type RotationStep =
  /** Every service knows the new key before anything is sealed with it. */
  | { readonly kind: 'announce'; readonly keys: MasterKeys }
  /** From here on services seal with the new one. */
  | { readonly kind: 'switch'; readonly keys: MasterKeys }
  /** Once everything is resealed, the former key is destroyed. */
  | { readonly kind: 'destroy'; readonly keys: MasterKeys };

/** `made` is the new key, where a rotation begins. */
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

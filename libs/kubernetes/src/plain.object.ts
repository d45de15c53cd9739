import { Time } from '@fairlead/contracts';
import * as z from 'zod';

/** An object as in JSON: the models of @kubernetes/client-node with times as text. */
export type Plain<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Plain<Item>[]
    : T extends object
      ? { readonly [Field in keyof T]: Plain<T[Field]> }
      : T;

const Name = z.string().max(253);
/** Larger metadata are not plausible in an accepted object. */
const LABELS_MAX = 2_000;
const ANNOTATION_LENGTH_MAX = 256 * 1024;

const Texts = (lengthMax: number) =>
  z.record(z.string().max(512), z.string().max(lengthMax)).refine((texts) => Object.keys(texts).length <= LABELS_MAX);

/** The metadata of any object that are used. Unknown fields are dropped. */
export const ObjectMetadata = z.object({
  name: Name.min(1),
  namespace: Name.optional(),
  uid: z.string().max(128).optional(),
  resourceVersion: z.string().max(128).optional(),
  generation: z.number().optional(),
  creationTimestamp: Time.nullish(),
  deletionTimestamp: Time.nullish(),
  labels: Texts(256).nullish(),
  annotations: Texts(ANNOTATION_LENGTH_MAX).nullish(),
  finalizers: z.array(z.string().max(512)).max(256).nullish(),
  ownerReferences: z
    .array(z.object({ kind: Name, name: Name, controller: z.boolean().optional() }))
    .max(64)
    .nullish(),
});
export type ObjectMetadata = z.infer<typeof ObjectMetadata>;

/** An object with validated metadata only. */
export type Listed<T> = Omit<Plain<T>, 'metadata'> & { readonly metadata: ObjectMetadata };

/** A text of an untrusted object; empty if it is not a text, or too long. */
export const textOf = (value: unknown, lengthMax = 1_024): string =>
  typeof value === 'string' && value.length <= lengthMax ? value : '';

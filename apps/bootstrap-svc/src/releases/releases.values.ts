import type { AddonSecretValues } from '@fairlead/contracts';

type Json = AddonSecretValues[string];

const isObject = (value: Json | undefined): value is AddonSecretValues =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Objects are merged as Helm merges values files; other values are replaced. */
const merged = (below: AddonSecretValues, above: AddonSecretValues): AddonSecretValues => {
  const all = Object.entries(above).map(([key, value]): readonly [string, Json] => {
    const former = Object.hasOwn(below, key) ? below[key] : undefined;
    return [key, isObject(former) && isObject(value) ? merged(former, value) : value];
  });
  return Object.fromEntries([...Object.entries(below), ...all]);
};

/** Later values override earlier ones. */
export const mergedValues = (values: readonly AddonSecretValues[]): AddonSecretValues =>
  values.reduce((below, above) => merged(below, above), {});

/** Shorter texts occur in any message by chance. */
const SEALED_LENGTH_MIN = 3;

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Every text and number of sealed values, in the forms in which charts may print it. */
export const sealedTexts = (value: Json): readonly string[] => {
  if (typeof value === 'string' || typeof value === 'number') {
    const text = String(value);
    const lines = text.split('\n').map((line) => line.trim());
    return [text, base64(text), ...lines].filter(({ length }) => length >= SEALED_LENGTH_MIN);
  }
  if (Array.isArray(value)) return value.flatMap(sealedTexts);
  return isObject(value) ? Object.values(value).flatMap(sealedTexts) : [];
};

/** Removes sealed texts from a message, the longest first: one may be part of another. */
export const withoutSealed = (words: string, sealed: readonly string[]): string =>
  sealed
    .toSorted((one, other) => other.length - one.length)
    .reduce((text, secret) => text.replaceAll(secret, '[sealed]'), words);

import { parseYaml, type YamlLimits } from './yaml.js';

const FIELDS_MAX = 100;
const NAME_LENGTH_MAX = 100;
const DIGEST_LENGTH = 8;

/** The document's own metadata, and feature gates, which are compared individually. */
const NOT_COMPARED: readonly string[] = ['apiVersion', 'kind', 'metadata', 'featureGates'];

/** kubeadm's representation of an unset field; releases differ in the fields that they write this way. */
const isUnset = (value: unknown): boolean =>
  value === null || value === '' || value === 0 || value === '0' || value === '0s';

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const leavesOf = (value: unknown, path: string): readonly (readonly [string, unknown])[] => {
  if (isObject(value))
    return Object.entries(value).flatMap(([key, below]) => leavesOf(below, path === '' ? key : `${path}.${key}`));
  return isUnset(value) ? [] : [[path, value]];
};

const FNV_OFFSET = 0x81_1c_9d_c5;
const FNV_PRIME = 0x01_00_01_93;

/** FNV-1a, 32 bits: detects differences; not a protection of the value. */
const digestOf = (value: unknown): string => {
  let hash = FNV_OFFSET;
  for (const character of JSON.stringify(value)) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), FNV_PRIME);
  return (hash >>> 0).toString(16).padStart(DIGEST_LENGTH, '0');
};

const isGates = (value: unknown): value is Readonly<Record<string, boolean>> =>
  isObject(value) && Object.values(value).every((one) => typeof one === 'boolean');

/** The settings of a KubeletConfiguration. */
export interface KubeletConfiguration {
  /** Empty if they are invalid. */
  readonly featureGates: Readonly<Record<string, boolean>>;
  /**
   * A digest per field for everything else, by path such as `evictionHard.memory.available`, so that two configurations
   * can be compared without their values. At most 100.
   */
  readonly fields: Readonly<Record<string, string>>;
}

/** @throws ParseFailure */
export const parseKubeletConfiguration = (
  text: string,
  limits: Pick<YamlLimits, 'lengthMax' | 'aliases'>,
): KubeletConfiguration => {
  const document = parseYaml(text, limits);
  if (!isObject(document)) return { featureGates: {}, fields: {} };
  const { featureGates } = document;
  const compared = Object.entries(document).filter(([name]) => !NOT_COMPARED.includes(name));
  const fields = Object.fromEntries(
    leavesOf(Object.fromEntries(compared), '')
      .filter(([path]) => path.length <= NAME_LENGTH_MAX)
      .slice(0, FIELDS_MAX)
      .map(([path, value]) => [path, digestOf(value)]),
  );
  return { featureGates: isGates(featureGates) ? featureGates : {}, fields };
};
